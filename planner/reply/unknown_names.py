"""Find the names in a reply that nothing it was written from has: a reason to let a critic look, and no more.

In: the input of a reply, and its text.  Out: the names. A name is a word with a capital letter inside a sentence. None
is found in scripts without capital letters, nor in languages that begin every noun with one.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from babel import Locale

from turnloom.planner.reply.grounding.element_names import strings
from turnloom.planner.reply.grounding.lexicon import months, weekdays
from turnloom.planner.reply.grounding.proper_names import stem_of_name
from turnloom.planner.reply.reply_input import ReplyInput

_WORD_INSIDE = re.compile(r"(?<=[\w,;)] )[^\W\d_]{3,40}")
"""A word that does not begin a sentence or a line."""
_NO_WORD = re.compile(r"[\W_]+")
_NOUNS_ARE_CAPITAL = frozenset({"de", "lb"})
_MOST = 10


def unknown_names(given: ReplyInput, text: str) -> list[str]:
    """Return the names in a text, each once, that neither the results nor anybody's words have."""
    return names_beyond(_known(given), text, given.prompts.language.locale)


def names_beyond(texts: Iterable[str], text: str, locale: Locale) -> list[str]:
    """Return the names in a text, each once, that none of the other texts has. At most ten are returned."""
    if locale.language in _NOUNS_ARE_CAPITAL:
        return []
    found = dict.fromkeys(word for word in _WORD_INSIDE.findall(text) if word[0].isupper() and not word.isupper())
    if not found:
        return []
    known = f" {_NO_WORD.sub(' ', _plain(' '.join(texts)))}"
    strange = (name for name in found if f" {_stem(name)}" not in known)
    return [name for name in strange if not _is_common(_plain(name), str(locale))][:_MOST]


def _known(given: ReplyInput) -> Iterator[str]:
    """Yield what the reply was written from."""
    material, agent = given.material, given.agent
    yield agent.persona
    yield material.message
    yield from strings(agent.manner.model_dump() if agent.manner else None)
    yield from strings([dict(given.slots), material.person])
    for exchange in material.history:
        yield exchange.message
        yield exchange.reply
    for step in material.steps:
        yield from strings([step.args, step.result, step.error, dict(step.asks or {})])
    for entry in material.memory:
        yield from strings([entry.args, entry.result])


def _is_common(name: str, locale: str) -> bool:
    return name in months() or name in weekdays() or name in _places_and_tongues(locale)


@lru_cache(maxsize=32)
def _places_and_tongues(locale: str) -> frozenset[str]:
    """Return the words of the names of countries, languages and currencies in a language."""
    of = Locale.parse(locale)
    names: list[Any] = [*of.territories.values(), *of.languages.values(), *of.currencies.values()]
    return frozenset(word for name in names for word in _NO_WORD.split(_plain(name)))


def _stem(name: str) -> str:
    return stem_of_name(_plain(name))


def _plain(text: str) -> str:
    """Return a text in lower case, without accents."""
    return "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))

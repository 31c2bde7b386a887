"""Flags: fields that are true or false, which a clause may affirm or deny in the words of their names.

In "dental care is not covered" the words of a field `dental.covered` stand beside a negation. If all such fields of the
thing that is named say the opposite, the clause contradicts them.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from turnloom.planner.reply.grounding.assertions import is_conditional, is_denied
from turnloom.planner.reply.grounding.labels import stem, text_words
from turnloom.planner.reply.grounding.lexicon import answer, words
from turnloom.planner.reply.grounding.places import EvidencePlace

_SHORTEST = 4
_SHARED = 6
"""Letters that two long words share at their beginnings if they are forms of one word, such as "refund"."""


class Flag(NamedTuple):
    """A field that is true or false."""

    names: tuple[str, ...]
    """The stems of the words in its name."""
    outer: tuple[str, ...]
    """Those of the fields around it."""
    value: bool
    place: EvidencePlace
    is_word: bool = False
    """Whether it is a text, "yes" or "no". Only "insurance: no" is compared with it."""


def claimed(clause: str, flags: list[Flag]) -> Iterator[tuple[int, int, list[Flag], bool]]:
    """Yield the place of each word of a clause that names flags, these flags, and whether the clause affirms them."""
    if is_conditional(clause):
        return
    is_answer = _answers().search(clause) is not None
    said = [(start, end, stem(word)) for start, end, word in text_words(clause)]
    spoken_of = [(place, flag) for flag in flags if is_answer or not flag.is_word if (place := _place(flag, said))]
    for start, end in dict.fromkeys(place for place, _ in spoken_of):
        yield start, end, [flag for place, flag in spoken_of if place == (start, end)], not is_denied(clause)


def _place(flag: Flag, said: list[tuple[int, int, str]]) -> tuple[int, int] | None:
    """Return the place of the word that speaks of a flag. A usual one, such as "allowed", needs another beside it."""
    names = [name for name in flag.names if len(name) >= _SHORTEST]
    places = [next(((start, end) for start, end, word in said if _is_form(name, word)), None) for name in names]
    is_alone = _usual().issuperset(names)
    around = not is_alone or any(_is_form(name, word) for name in flag.outer for _, _, word in said)
    return places[0] if names and around and None not in places else None


@lru_cache
def _answers() -> re.Pattern[str]:
    return re.compile(answer(), re.IGNORECASE)


@lru_cache
def _usual() -> frozenset[str]:
    return frozenset(stem(word) for word in words()["usual_flags"])


def _is_form(name: str, word: str) -> bool:
    if min(len(name), len(word)) < _SHORTEST:
        return False
    return name == word or (len(name) >= _SHARED <= len(word) and name[:_SHARED] == word[:_SHARED])

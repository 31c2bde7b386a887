"""Deeds that a text says are done: "I have booked it", "your meeting is confirmed". `assertions.yaml` has the words."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from turnloom.planner.reply.grounding.figures import Key
from turnloom.planner.reply.grounding.labels import without_accents, without_umlauts
from turnloom.planner.reply.grounding.lexicon import assertion_words, search, spoken

OTHER = "other"
"""The deed of a first person who says to have done something that no other word names."""
ANY_OF_THEM = "any of them"
"""The same, in words that may name any deed: "I've put it on hold", "I've made the link", "it's done"."""
ANY = "*"
"""The deed of a tool that may have done anything."""


def deeds_in(text: str) -> Iterator[tuple[int, int, tuple[Key, ...]]]:
    """Yield the deeds that a clause says are done. Of an old record, a deed may be told in the simple past."""
    words = assertion_words()
    if any(search(words[kind], text) for kind in ("negations", "conditions", "not_deeds")):
        return
    for deed, said in words["deeds_alone"].items():
        if alone := search(said, text):
            kind = _kind(deed, text, alone.end())
            yield alone.start(), alone.end(), (("deed", kind), ("stated", kind))
    is_named = False
    for deed, participles in words["deeds"].items() if search(_any_deed(), text) else ():
        done = search(participles, text)
        if done is None:
            continue
        before = text[: done.start()]
        began = _doers(("by_us", "was_done"), before)
        told = _doers(("was_once", *(("is_done",) if deed in words["states"] else ())), before)
        if began or told:
            alike = (("deed", other) for other in words["alike"].get(deed, ()))
            records: list[Key] = [] if began else [("record", deed), *alike]
            meeting = _meeting(deed, text[done.end() :])
            kind = _kind(deed, text, done.end())
            yield min((*began, *told)), done.end(), (("deed", kind), ("stated", kind), *records, *meeting)
            is_named = True
    if not is_named:
        yield from _acts(text)


def _kind(deed: str, text: str, end: int) -> str:
    """Return the deed, or another one that words beside it make of it.

    What is booked for the time being is held. If papers follow, these were sent, and no invitation, nor a link.
    """
    words = assertion_words()
    if deed == "booked" and search(words["provisional"], text):
        return "held"
    return "papers" if deed == "sent" and search(words["papers"], text[end:]) else deed


def undone_in(text: str) -> Iterator[tuple[int, int, tuple[Key, ...]]]:
    """Yield the deeds that a clause says are not done, such as "isn't confirmed yet"."""
    for deed, said in assertion_words()["undone"].items():
        if denied := search(said, text):
            yield denied.start(), denied.end(), (("undone", deed),)


def _meeting(deed: str, after: str) -> tuple[Key, ...]:
    """Return the deeds that a booking is one of, if a meeting or its time is what was booked."""
    words = assertion_words()["meetings"]
    is_meeting = deed in words and spoken(words[deed]).match(after) is not None
    return tuple(("deed", other) for other in words["is"]) if is_meeting else ()


@lru_cache
def _any_deed() -> str:
    return "|".join(assertion_words()["deeds"].values())


def _doers(kinds: Iterable[str], before: str) -> list[int]:
    return [match.start() for kind in kinds if (match := search(assertion_words()[kind], before))]


def _acts(text: str) -> Iterator[tuple[int, int, tuple[Key, ...]]]:
    """Yield what a first person says to have done, unless it is done for the reply alone."""
    for pattern in assertion_words()["acted"]:
        said = spoken(pattern).search(text)
        if said and not search(assertion_words()["harmless"], said[0]):
            kind = ANY_OF_THEM if search(assertion_words()["names_of_any_deed"], text) else OTHER
            yield said.start(), said.end(), (("deed", kind),)


@lru_cache(maxsize=2048)
def stated_deeds(name: str, status: str, *, is_number: bool) -> tuple[Key, ...]:
    words = assertion_words()
    deeds = (deed for deed, participles in words["deeds"].items() if written(participles).search(f"{status} {name}"))
    records = (deed for deed, names in words["records"].items() if spoken(names).search(name))
    kind = "record" if is_number else "deed"  # "14 are booked" tells of places, and nothing was done
    return (*((kind, deed) for deed in deeds), *(("record", deed) for deed in records))


@lru_cache
def written(words: str) -> re.Pattern[str]:
    """Return a pattern of words as results write them, also without accents or umlauts."""
    return spoken("|".join(dict.fromkeys((words, without_accents(words), without_umlauts(words)))))

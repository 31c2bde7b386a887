"""Flags: fields that are true or false, which a clause may affirm or deny in the words of their names.

In "dental care is not covered" the words of a field `dental.covered` stand beside a negation. If all such fields of the
thing that is named say the opposite, the clause contradicts them.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from turnloom.planner.reply.grounding.assertions import is_conditional, is_denied, is_of_price, statements, up_to_joint
from turnloom.planner.reply.grounding.fields import parts_of
from turnloom.planner.reply.grounding.labels import labels_of, stem, text_words
from turnloom.planner.reply.grounding.lexicon import answer, spoken, words
from turnloom.planner.reply.grounding.places import EvidencePlace

_SHORTEST, _SHORT = 4, 3
_FREE = re.compile(r"[ -](?:free|frei|libre)(?![^\W\d_])", re.IGNORECASE)
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


def flag_of(key: str, labels: tuple[str, ...], place: EvidencePlace, *, is_so: bool, is_word: bool) -> Flag:
    """Return the flag that a field says is so, or not. `labels`: the stems of its name, and of those around it."""
    names, is_there = _named(key)
    return Flag(names, labels[len(labels_of(key)) :], is_so is is_there, place, is_word)


def claimed(clause: str, flags: list[Flag]) -> Iterator[tuple[int, int, list[Flag], bool]]:
    """Yield the place of each word of a clause that names flags, these flags, and whether the clause affirms them."""
    if is_conditional(clause):
        return
    is_answer = _answers().search(clause) is not None
    said = [(start, end, stem(word)) for start, end, word in text_words(clause)]
    spoken_of = [(place, flag) for flag in flags if is_answer or not flag.is_word if (place := _place(flag, said))]
    parts = list(statements(clause)) if spoken_of else []
    for start, end in dict.fromkeys(place for place, _ in spoken_of):
        begin, part = next((begin, part) for begin, part in reversed(parts) if begin <= start)
        named = [flag for place, flag in spoken_of if place == (start, end)]
        yield start, end, named, _is_affirmed(_without_own(part, named[0]), start - begin, end - begin)


def _named(key: str) -> tuple[tuple[str, ...], bool]:
    """Return the stems of the words in the name of a flag, and whether it says that the thing is there.

    A field such as `gluten_free` or `sin_gluten` says that it is not.
    """
    lacks, free = (set(words()[kind]) for kind in ("lacking_fields", "free_fields"))
    parts = [part for part in parts_of(key) if part]
    if len(parts) > 1 and parts[0] in lacks:
        return labels_of("_".join(parts[1:])), False
    if len(parts) > 1 and parts[-1] == "free" and parts[-2] in free:
        return labels_of("_".join(parts[:-1])), False
    return labels_of(key), True


def _without_own(clause: str, flag: Flag) -> str:
    """Return a clause with blanks for what only the flag's own name denies: "photos without flash" may be allowed."""
    for start, end, word in text_words(clause):
        if stem(word) in flag.names and spoken(words()["without"]).fullmatch(word):
            clause = clause[:start] + " " * (end - start) + clause[end:]
    return clause


def _is_affirmed(clause: str, start: int, end: int) -> bool:
    """Return whether a clause says that there is what the word at a place names. "Gluten-free" denies gluten."""
    head, tail = _without().search(clause, 0, start), _FREE.match(clause, end)
    is_free = tail is not None and (tail[0].startswith("-") or clause[start:end].lower() in words()["free_fields"])
    if is_of_price(clause, start) or not (head or is_free):
        return not is_denied(clause)
    if is_free and tail is not None:
        return is_denied(f"{clause[:start]} {clause[tail.end() :]}")
    return is_denied(f"{clause[: head.start() if head else start]} {up_to_joint(clause, end)[end:]}")


@lru_cache
def _without() -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W\d_])(?:{words()['without']})[ -]$", re.IGNORECASE)


def _place(flag: Flag, said: list[tuple[int, int, str]]) -> tuple[int, int] | None:
    """Return the place of the word that speaks of a flag. A usual one, such as "allowed", needs another beside it."""
    names = [name for name in flag.names if len(name) >= _SHORTEST or (len(name) == _SHORT and name not in _little())]
    places = [next(((start, end) for start, end, word in said if _is_form(name, word)), None) for name in names]
    is_alone = _usual().issuperset(names)
    around = not is_alone or any(_is_form(name, word) for name in flag.outer for _, _, word in said)
    if not (names and around) or None in places:
        return None
    return next((place for name, place in zip(names, places, strict=True) if len(name) >= _SHORTEST), places[0])


@lru_cache
def _answers() -> re.Pattern[str]:
    return re.compile(answer(), re.IGNORECASE)


@lru_cache
def _little() -> frozenset[str]:
    return frozenset(stem(word) for word in words()["little_words"])


@lru_cache
def _usual() -> frozenset[str]:
    return frozenset(stem(word) for word in words()["usual_flags"])


def _is_form(name: str, word: str) -> bool:
    if min(len(name), len(word)) < _SHORTEST:
        return name == word
    return name == word or (len(name) >= _SHARED <= len(word) and name[:_SHARED] == word[:_SHARED])

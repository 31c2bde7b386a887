"""Find every figure in a text that a reply needs a source for: money, dates, links, personal data, numbers.

In: a text, in any of some languages.  Out: where each figure stands, and the keys by which a source may know it.
Replies and sources are read by the same rules, so that one way of writing a value finds another.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["money", "number", "percent", "date", "time", "link", "email", "phone", "document", "identifier"]

_UNSEEN = re.compile(r"[*`\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+|(?<!\w)_+|_+(?!\w)")

PERSONAL: frozenset[Kind] = frozenset({"email", "phone", "document"})
"""What may be said to nobody but the person it belongs to."""

Key = tuple[object, ...]
"""A normalised value, its form first: `("money", Decimal("900"), "ILS")`, `("date", date(2026, 12, 5))`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure in a text."""

    kind: Kind
    start: int
    end: int
    keys: tuple[Key, ...]
    """What it may mean, the likeliest first. A source of any of them supports it; none: nothing does."""
    shown: tuple[int, int] | None = None
    """The whole that it is a part of, such as both ends of a range."""

    def text(self, whole: str) -> str:
        """Return how it is written in the text that it was found in."""
        start, end = self.shown or (self.start, self.end)
        return whole[start:end]


Scanner = Callable[[str], Iterator[Figure]]
"""Finds figures of some kinds in a text whose digits are ASCII."""


def find(text: str, scanners: tuple[Scanner, ...]) -> list[Figure]:
    """Return the figures of a text, in its order. What has been found once is not found again."""
    plain = _plain_digits(text)
    taken = bytearray(len(text))
    found: list[Figure] = []
    for scan in scanners:
        for figure in scan(_left(plain, found)):
            if not any(taken[figure.start : figure.end]):
                taken[figure.start : figure.end] = b"\1" * (figure.end - figure.start)
                found.append(figure)
    return sorted(found, key=lambda figure: figure.start)


def _left(text: str, found: list[Figure]) -> str:
    """Return the text with what has been found struck out; every other character keeps its place."""
    pieces, end = [], 0
    for figure in sorted(found, key=lambda figure: figure.start):
        pieces += [text[end : figure.start], "\0" * (figure.end - figure.start)]
        end = figure.end
    return "".join([*pieces, text[end:]])


def visible(text: str) -> tuple[str, list[int]]:
    """Return a text without what no reader sees: Markdown's emphasis, marks of direction, characters without width.

    With it the place of each of its characters in the text, and of its end.
    """
    if not _UNSEEN.search(text):
        return text, list(range(len(text) + 1))
    kept: list[int] = []
    end = 0
    for match in _UNSEEN.finditer(text):
        kept += range(end, match.start())
        end = match.end()
    kept += range(end, len(text) + 1)
    return "".join(text[place] for place in kept[:-1]), kept


def folded(text: str) -> tuple[str, list[int]]:
    """Return a text in small letters with single blanks, and for each of its characters the place in the text."""
    pieces: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if not char.isspace():
            pieces.append(char.lower())
        elif pieces and pieces[-1] != " ":
            pieces.append(" ")
        else:
            continue
        places += [place] * len(pieces[-1])
    return "".join(pieces), places


def _plain_digits(text: str) -> str:
    """Write the digits of other scripts as ASCII; every character keeps its place."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else _plain(char) for char in text)


def _plain(char: str) -> str:
    value = unicodedata.decimal(char, None)
    return char if value is None else str(value)

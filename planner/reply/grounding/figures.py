"""Find every figure of a text that needs a source in a reply: money, dates, links, personal data, numbers.

In: a text, in any of some languages.  Out: the place of each figure, and the keys by which a source may have it.
Replies and sources are read by the same rules, so a value is found however it is written.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "money",
    "number",
    "percent",
    "date",
    "time",
    "link",
    "email",
    "phone",
    "document",
    "identifier",
    "weekday",
    "count",
    "found",
    "label",
    "duration",
    "flag",
    "small",
    "deed",
    "discount",
    "comparison",
    "name",
]

_ENTITY = re.compile(r"&(?:#[0-9]{1,32};?|#[xX][0-9a-fA-F]{1,32};?|[A-Za-z][A-Za-z0-9]{1,31};)")
_DOT = re.compile(r"(?<=[^\W\u2e80-\ud7ff])[\u3002\uff61](?=[^\W\u2e80-\ud7ff])")
"""A full stop of East Asia without a letter of its scripts beside it. In a host name it is a dot."""
_CLOTHED = re.compile(r"[^\0-\u024f\u0370-\u1fff\u2e80-\u323f\u3400-\ud7ff]|[\u00b2\u00b3\u00b9]")
"""Characters beyond the alphabets, some of which are other forms of ASCII characters."""
_ARABIC_MARKS = re.compile(r"(?<=\d)[\u066b\u066c](?=\d)")
"""What Arabic writes before decimals, and between thousands."""
_UNSEEN = re.compile(r"[*`\u00ad\u064b-\u0652\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+|(?<!\w)_+|_+(?!\w)")

PERSONAL: frozenset[Kind] = frozenset({"email", "phone", "document"})
"""Kinds that may be said only to the person they belong to."""

Key = tuple[object, ...]
"""A normalised value, with its form first: `("money", Decimal("900"), "ILS")`, `("date", date(2026, 12, 5))`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure in a text."""

    kind: Kind
    start: int
    end: int
    keys: tuple[Key, ...]
    """The values that it may mean, the likeliest first. A source of any of them supports it. If empty, nothing does."""
    shown: tuple[int, int] | None = None
    """The span of the whole that it is a part of, such as both ends of a range."""

    def text(self, whole: str) -> str:
        """Return the figure as it is written in the text that it was found in."""
        start, end = self.shown or (self.start, self.end)
        return whole[start:end]


Scanner = Callable[[str], Iterator[Figure]]
"""A function that finds figures of some kinds in a text whose digits are ASCII."""


def bare(figure: Figure) -> tuple[Key, ...]:
    """Return the keys of an amount of money as it is said without its currency."""
    values = dict.fromkeys(key[1] for key in figure.keys if key[0] == "money" and key[2] is not None)
    return tuple(key for value in values for key in (("money", value, None), ("number", value)))


def find(text: str, scanners: tuple[Scanner, ...]) -> list[Figure]:
    """Return the figures of a text in order. A place that one scanner has taken is hidden from the next ones."""
    plain = _plain_digits(text)
    taken = bytearray(len(text))
    found: list[Figure] = []
    for scan in scanners:
        for figure in scan(without(plain, found)):
            if not any(taken[figure.start : figure.end]):
                taken[figure.start : figure.end] = b"\1" * (figure.end - figure.start)
                found.append(figure)
    return sorted(found, key=lambda figure: figure.start)


def without(text: str, found: Iterable[Figure]) -> str:
    """Return the text with the found figures struck out. Every other character keeps its place."""
    pieces, end = [], 0
    for figure in sorted(found, key=lambda figure: figure.start):
        pieces += [text[end : figure.start], "\0" * (figure.end - figure.start)]
        end = figure.end
    return "".join([*pieces, text[end:]])


def visible(text: str) -> tuple[str, list[int]]:
    """Return a text as its reader sees it, and the place in the original of each character and of the end.

    HTML entities are decoded, and other forms of ASCII characters become ASCII. Characters that no reader sees are
    removed: Markdown's emphasis, marks of direction, characters without width, and the vowels of Arabic.
    """
    plain, places = text, list(range(len(text) + 1))
    for pattern, seen in _SEEN:
        if pattern.search(plain):
            plain, places = _replaced(plain, places, pattern, seen)
    return plain, places


def _replaced(
    text: str, places: list[int], pattern: re.Pattern[str], seen: Callable[[str], str]
) -> tuple[str, list[int]]:
    pieces: list[str] = []
    kept: list[int] = []
    end = 0
    for match in pattern.finditer(text):
        put = seen(match[0])
        pieces += (text[end : match.start()], put)
        kept += places[end : match.start()] + [places[match.start()]] * len(put)
        end = match.end()
    pieces.append(text[end:])
    return "".join(pieces), kept + places[end:]


def _undressed(char: str) -> str:
    """Return the ASCII characters that a character is another form of. Any other one, and a blank, is returned."""
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return str(digit)
    plain = unicodedata.normalize("NFKC", char)
    is_letters = plain.isascii() and plain.isalnum() and unicodedata.category(char) != "So"
    is_form = "\u24b6" <= char <= "\u24e9" or "\uff01" <= char <= "\uff5e"
    return plain if is_letters or (is_form and plain.isascii()) else char


_SEEN: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (_ENTITY, html.unescape),
    (_CLOTHED, _undressed),
    (_DOT, lambda _: "."),
    (_ARABIC_MARKS, lambda mark: "." if mark == "\u066b" else ","),
    (_UNSEEN, lambda _: ""),
)
"""The order matters: an entity may stand for any of the others."""


def folded(text: str) -> tuple[str, list[int]]:
    """Return a text in lower case with single blanks, and the place in the original of each character."""
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
    """Write the digits of other scripts as ASCII. Every character keeps its place."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else _plain(char) for char in text)


def _plain(char: str) -> str:
    value = unicodedata.digit(char, None)
    return char if value is None else str(value)

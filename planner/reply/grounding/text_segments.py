"""Segments of a text: which of its words belong to which of its amounts.

In "Adults pay 12 EUR, children 6" and in "12 EUR for adults and 6 for children" the words between two amounts are cut
at the comma or the "and" between them.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Literal, get_args

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.labels import stems
from turnloom.planner.reply.grounding.lexicon import either, months, spoken, words

Segment = tuple[Decimal, frozenset[str]]
"""An amount of a text, and the stems of the words that belong to it."""
Payer = Literal["adult", "child"]
PAYERS: tuple[Payer, ...] = get_args(Payer)
_KINDS = ("money", "percent")
_SHORTEST, _LONGEST = 4, 5
"""Fewest letters of a word that tells something, and as many as tell it from others whatever its ending."""
_CHANGE = re.compile(r"\s[^\W\d_]{1,4}\s(?:[^\W\d_]{1,2}\s)?")
"""What is between two amounts of which the second follows the first: "from 312 to 358"."""
_THING = re.compile(r"\s?(?:d[eio']\s?)?(?P<name>[^\W\d_]{4,})")
"""What a number counts."""
_YEARS = (1900, 2100)
_COMMA = re.compile(r"[,;.:](?=\s|$)|[\u060c\u061b\u3001\u3002\uff0c]")
_END = re.compile(r"[.;:!?](?=\s|$)|[\n\u3002\uff1b\u061b\u061f]")


def segments_in(text: str, figures: Sequence[Figure]) -> Iterator[tuple[str, list[Segment]]]:
    """Yield each kind of which a text has several amounts, with these."""
    for kind in _KINDS:
        amounts = [one for one in figures if one.kind == kind and one.keys]
        if len(amounts) > 1:
            yield kind, list(zip((_value(one) for one in amounts), segments(text, amounts), strict=True))


def pairs_in(text: str, figures: Sequence[Figure]) -> set[frozenset[Decimal]]:
    """Return the pairs of numbers of one kind that follow each other in a text, such as those of two years.

    Or of numbers of the same things: "1.27 million passengers and 412,000 cars, after 1.19 million passengers".
    """
    things: dict[str, list[Decimal]] = {}
    for one in figures:
        if one.kind == "number" and one.keys and not _is_year(_value(one)) and (thing := _THING.match(text, one.end)):
            things.setdefault(thing["name"].lower(), []).append(_value(one))
    found = {frozenset(pair) for values in things.values() for pair in pairwise(values)}
    for kind in (*_KINDS, "number"):
        values = [_value(one) for one in figures if one.kind == kind and one.keys]
        found |= {frozenset(pair) for pair in pairwise(value for value in values if not _is_year(value))}
    return found


def payers_in(text: str, figures: Sequence[Figure]) -> dict[Decimal, Payer]:
    """Return the amounts of a text that an adult pays, and those of a child. What is for both of them is left out."""
    amounts = [one for one in figures if one.kind in ("money", "number") and one.keys]
    found: dict[Decimal, Payer] = {}
    for one, beside in zip(amounts, around(text, amounts), strict=True):
        said = " ".join(beside)
        payers = [payer for payer in PAYERS if spoken(_words_of_payer(payer)).search(said)]
        if len(payers) == 1:
            found.setdefault(_value(one), payers[0])
    return found


@lru_cache
def _words_of_payer(payer: Payer) -> str:
    return f"{words()['units'][payer]['words']}|{words()['payers'][payer]}"


def segments(text: str, amounts: Sequence[Figure]) -> list[frozenset[str]]:
    """Return the stems of the words that belong to each of the amounts of a text, which are in order."""
    found: list[frozenset[str]] = []
    for place, (before, behind) in enumerate(around(text, amounts)):
        is_change = place > 0 and _CHANGE.fullmatch(text, amounts[place - 1].end, amounts[place].start) is not None
        found.append(_words(before) | _words(behind) | (found[-1] if is_change else frozenset()))
    return found


def around(text: str, amounts: Sequence[Figure]) -> Iterator[tuple[str, str]]:
    """Yield the words before and behind each of the amounts of a text, which are in order, that belong to it."""
    cuts = [_cut(text, first.end, second.start) for first, second in pairwise(amounts)]
    for one, start, end in zip(amounts, [0, *cuts], [*cuts, len(text)], strict=False):  # no amount has no cuts
        yield _END.split(text[start : one.start])[-1], _END.split(text[one.end : end], maxsplit=1)[0]


def _value(figure: Figure) -> Decimal:
    value = figure.keys[0][1]
    assert isinstance(value, Decimal)
    return value


def _is_year(value: Decimal) -> bool:
    return value == value.to_integral_value() and _YEARS[0] <= value <= _YEARS[1]


def _words(text: str) -> frozenset[str]:
    found = {word[:_LONGEST] for word in stems(text) if len(word) >= _SHORTEST or not word.isascii()}
    return frozenset(found - {word[:_LONGEST] for word in words_of_any_price()})


@lru_cache
def words_of_any_price() -> frozenset[str]:
    """Return the stems of the words that stand beside any amount, and the names of months."""
    return frozenset((*stems(words()["of_any_price"]), *months()))


def _cut(text: str, start: int, end: int) -> int:
    """Return where the words between two amounts begin to belong to the second: at the first comma, or last "and"."""
    comma = _COMMA.search(text, start, end)
    joints = [comma] if comma else list(_joint().finditer(text, start, end))
    return joints[-1].end() if joints else start


def joint_in(text: str, start: int, end: int) -> bool:
    """Return whether an "and" stands in a part of a text."""
    return _joint().search(text, start, end) is not None


@lru_cache
def _joint() -> re.Pattern[str]:
    joints = either(map(re.escape, words()["list_joints"]))
    return re.compile(
        rf"\s(?:(?:{joints})(?=\s)|\u05d5(?=-?(?:[\u05d0-\u05ea]|$))|\u0648(?=[\u0621-\u064a]|$))", re.IGNORECASE
    )

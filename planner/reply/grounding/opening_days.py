"""The weekdays on which something is closed, and the first and the last of those on which it is open.

"Closed on Mondays" is refused if texts of results close nothing on Mondays, but something on other days; "from
Wednesday to Friday" if they have a row of days that begins or ends so, and none that does both.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import either, search, spoken, words
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.weekdays import find_weekdays

_BREAK = re.compile(r"[.;!?\n]\s|[;。]")
_NEAR = 40
"""Most characters between a weekday and the word that something is closed, or that all other days are meant."""


class OpeningDays(NamedTuple):
    """Weekdays of a text; Monday is 0."""

    closed: frozenset[int]
    rows: frozenset[tuple[int, int]]


def misopened(sentence: Sentence, days: Sequence[Figure], known: Sequence[OpeningDays]) -> Iterator[Figure]:
    """Yield the weekdays of a sentence on which nothing is closed, and ends of rows of days that no result has.

    `known`: those of the texts of results.
    """
    if sentence.is_question:
        return
    closed = frozenset[int]().union(*(one.closed for one in known))
    rows = frozenset[tuple[int, int]]().union(*(one.rows for one in known))
    if closed:
        text = sentence.whole[: sentence.end]
        yield from (day for day in _closed(text, days, sentence.start) if closed.isdisjoint(_numbers(day)))
    for first, last in _rows(sentence.whole, days):
        said = _row(first, last)
        if said not in rows and any(said[0] == row[0] or said[1] == row[1] for row in rows):
            yield last


@lru_cache(maxsize=1024)
def opening_days(text: str) -> OpeningDays:
    """Return the weekdays on which a text closes something, and its rows of days."""
    days = sorted(find_weekdays(text), key=lambda day: day.start)
    closed = {number for day in _closed(text, days, 0) for number in _numbers(day)}
    return OpeningDays(frozenset(closed), frozenset(_row(*ends) for ends in _rows(text, days)))


def _closed(text: str, days: Iterable[Figure], start: int) -> Iterator[Figure]:
    """Yield the weekdays behind, or before, a word such as "closed" or "except"."""
    said = [match.span() for match in _words().finditer(text, start)]
    for day in days:
        gaps = ((end, day.start) if end <= day.start else (day.end, begin) for begin, end in said)
        if any(last - first <= _NEAR and not _is_broken(text[first:last]) for first, last in gaps):
            yield day


def _is_broken(between: str) -> bool:
    return _BREAK.search(between) is not None or search(words()["day_contrasts"], between) is not None


def _rows(text: str, days: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    for first, last in pairwise(days):
        if len(first.keys) == len(last.keys) == 1 and _joint().fullmatch(text, first.end, last.start):
            yield first, last


def _row(first: Figure, last: Figure) -> tuple[int, int]:
    return min(_numbers(first)), min(_numbers(last))


def _numbers(day: Figure) -> frozenset[int]:
    return frozenset(key[1] for key in day.keys if isinstance(key[1], int))


@lru_cache
def _words() -> re.Pattern[str]:
    return spoken(f"{words()['closed_words']}|{words()['exceptions']}")


@lru_cache
def _joint() -> re.Pattern[str]:
    joints = either(map(re.escape, (*words()["range_joints"], *words()["roles"]["joints"])))
    return re.compile(rf"s?(?:-feira)?\s?(?:{joints})\s?(?:(?:a|la|o|le|el|il|ال)\s?)?", re.IGNORECASE)

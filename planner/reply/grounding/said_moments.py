"""Moments that a user names in words: tomorrow, next Monday, the 12th, five in the evening.

In: what was said, in digits.  Out: the dates and times that it may mean, as a reply would write them.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from turnloom.planner.reply.grounding.days import coming
from turnloom.planner.reply.grounding.figures import Key
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.weekdays import find_weekdays

_WEEK = 7
_NOON = 12
_DAY_OF_MONTH = re.compile(
    r"(?<![\w.,:/-])(?:(?P<ordinal>\d{1,2})(?:st|nd|rd|th)\b|"
    r"(?:am|den|zum|el|el día|día|le|du|il|dia|op|[בלה]-)\s?(?P<number>\d{1,2})(?:\.|e\b|º)?(?![\d:.,/]?\d|\s?[%€$£]))",
    re.IGNORECASE,
)
_HOUR = r"(?<![\d:.,/])(?P<hour>1[0-2]|[1-9])(?![\d:.,/]?\d)"


def moments_said(text: str, today: date, written: Iterable[date]) -> Iterator[Key]:
    """Yield the dates and times that a user may mean. `text`: without the dates that are written out, `written`."""
    yield from (("date", day) for day in _days(text, today))
    numbers = [int(match["ordinal"] or match["number"]) for match in _DAY_OF_MONTH.finditer(text)]
    following = (_next_with(number, day) for day in (today, *written) for number in numbers)
    yield from (("date", day) for day in filter(None, following))
    for pattern, is_late in _hours():
        for match in pattern.finditer(text):
            yield "time", int(match["hour"]) % _NOON + (_NOON if is_late else 0), 0


def _days(text: str, today: date) -> Iterator[date]:
    for days, pattern in words()["days_from_today"].items():
        if spoken(pattern).search(text):
            yield today + timedelta(days=days)
    is_next = spoken(words()["next"]).search(text) is not None
    for _, number in (key for figure in find_weekdays(text) for key in figure.keys):
        assert isinstance(number, int)
        first = today + timedelta(days=(number - today.weekday()) % _WEEK)
        # Said on a Monday, "next Friday" may mean either; said on a Friday, "next Monday" means the coming one.
        is_either = first == today or (is_next and number > today.weekday())
        yield from (first + timedelta(weeks=week) for week in range(1 + is_either))


def _next_with(number: int, today: date) -> date | None:
    """Return the next day from today on that has this number in its month."""
    months = ((today.month - 1 + later) % 12 + 1 for later in range(3))
    return min(filter(None, (coming(month, number, today) for month in months)), default=None)


@lru_cache
def _hours() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Return patterns of an hour beside a part of the day, and whether that part is after noon."""
    parts = ((words()["parts_of_day"][part], part == "late") for part in ("early", "late"))
    return tuple(
        (re.compile(pattern, re.IGNORECASE), is_late)
        for named, is_late in parts
        for pattern in (
            rf"{_HOUR}(?:,? [^\s,\d]{{1,12}}){{0,3}}?,? (?:{named})(?![^\W\d_])",
            rf"(?<![^\W\d_])(?:{named})(?:,? [^\s,\d]{{1,12}}){{0,2}},? {_HOUR}",
        )
    )

"""Which times suit everybody: within the working hours of each, in their own zone, and while nobody is busy.

Pure. Times are absolute throughout; only working hours and days are read in somebody's zone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from models.ledger.calendars import Interval

MOST = 4
"""Proposals at once: what a person can still compare in a message."""
NOTICE = timedelta(minutes=30)
"""From now to the start of a meeting, at least."""
GRID = timedelta(minutes=15)
"""Meetings begin at quarters of an hour. They are the same in every zone, since offsets are multiples of it."""
APART = timedelta(hours=2)
"""From one proposal of a day to the next, at least."""

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A participant's working hours and busy times."""

    zone: ZoneInfo
    working_hours: Mapping[str, Sequence[str]]
    """Weekday (`mon` …) -> [start, end] as HH:MM, in their zone."""
    busy: Sequence[Interval]


def propose(window: Interval, duration: timedelta, people: Iterable[Person], zone: ZoneInfo) -> list[Interval]:
    """Return up to `MOST` times within a window that suit everybody, in order.

    They are spread: of each day the earliest, then further ones of the first days. A day is one in `zone`.
    """
    free = [window]
    for person in people:
        free = _without(_common(free, working(person, window)), person.busy)
    days: defaultdict[date, list[Interval]] = defaultdict(list)
    for slot in _slots(free, duration):
        day = days[slot.starts.astimezone(zone).date()]
        if not day or slot.starts >= max(day[-1].ends, day[-1].starts + APART):
            day.append(slot)
    ranked = sorted((rank, slot) for day in days.values() for rank, slot in enumerate(day))
    return sorted(slot for _, slot in ranked[:MOST])


def working(person: Person, window: Interval) -> list[Interval]:
    """Return when a person works within a window."""
    first, last = (at.astimezone(person.zone).date() for at in window)
    days = (first + _DAY * number for number in range((last - first).days + 1))
    hours = [hours for day in days if (hours := _hours(person, day)) is not None]
    return _common([window], hours)


def _hours(person: Person, day: date) -> Interval | None:
    """Return a day's working hours; None where there are none.

    In the night when clocks change, a time of day may come twice or never. Then the later moment counts as the start
    and the earlier as the end, so that all between them is within the hours by any reading.
    """
    hours = person.working_hours.get(_WEEKDAYS[day.weekday()])
    if hours is None:
        return None
    starts, ends = (_moments(day, time.fromisoformat(each), person.zone) for each in hours)
    return Interval(max(starts), min(ends)) if max(starts) < min(ends) else None


def _moments(day: date, at: time, zone: ZoneInfo) -> list[datetime]:
    return [datetime.combine(day, at.replace(fold=fold), zone).astimezone(UTC) for fold in (0, 1)]


def _slots(free: Iterable[Interval], duration: timedelta) -> Iterator[Interval]:
    for span in free:
        starts = _on_grid(span.starts)
        while starts + duration <= span.ends:
            yield Interval(starts, starts + duration)
            starts += GRID


def _on_grid(at: datetime) -> datetime:
    """Return the next quarter of an hour."""
    past = (at - datetime.min.replace(tzinfo=UTC)) % GRID
    return at + (GRID - past) % GRID


def _common(some: Sequence[Interval], others: Sequence[Interval]) -> list[Interval]:
    """Return what two sorted lists have in common."""
    both = (Interval(max(a.starts, b.starts), min(a.ends, b.ends)) for a in some for b in others if a.overlaps(b))
    return sorted(both)


def _without(spans: Sequence[Interval], taken: Iterable[Interval]) -> list[Interval]:
    """Return what is left of spans."""
    left = list(spans)
    for gone in taken:
        left = [rest for span in left for rest in _rests(span, gone)]
    return left


def _rests(span: Interval, gone: Interval) -> Iterator[Interval]:
    if not span.overlaps(gone):
        yield span
        return
    if span.starts < gone.starts:
        yield Interval(span.starts, gone.starts)
    if gone.ends < span.ends:
        yield Interval(gone.ends, span.ends)

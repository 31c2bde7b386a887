"""Find times that suit everybody: within everybody's working hours, in their own time zone, while nobody is busy.

Pure. All times are absolute. Only working hours and days are read in a person's time zone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from turnloom.tools.packs.meetings.store.calendars import Interval

MOST = 4
"""Most proposals at once, so that a person can compare them in a message."""
NOTICE = timedelta(minutes=30)
"""Shortest time from now to the start of a meeting."""
GRID = timedelta(minutes=15)
"""Meetings begin at a quarter of an hour. Every zone has the same quarters, since all offsets are multiples of one."""
APART = timedelta(hours=2)
"""Shortest time between the starts of two proposals on the same day."""

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A participant's working hours and busy times."""

    zone: ZoneInfo
    working_hours: Mapping[str, Sequence[str]]
    """Weekday (`mon` …) -> [start, end] as HH:MM, in the person's time zone."""
    busy: Sequence[Interval]


def propose(window: Interval, duration: timedelta, people: Iterable[Person], zone: ZoneInfo) -> list[Interval]:
    """Return up to `MOST` times within a window that suit everybody, in order.

    The times are spread out: first the earliest of each day, then the second of each day, and so on. Days are those
    of `zone`.
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
    """Return a person's working hours within a window."""
    first, last = (at.astimezone(person.zone).date() for at in window)
    days = (first + _DAY * number for number in range((last - first).days + 1))
    hours = [hours for day in days if (hours := _hours(person, day)) is not None]
    return _common([window], hours)


def _hours(person: Person, day: date) -> Interval | None:
    """Return the working hours of a day; None if there are none.

    When clocks change, a time of day may occur twice or never. The start is then the later of the two possible moments
    and the end the earlier one, so that the interval lies within the working hours in either reading.
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
    """Return the moment, rounded up to a quarter of an hour."""
    past = (at - datetime.min.replace(tzinfo=UTC)) % GRID
    return at + (GRID - past) % GRID


def _common(some: Sequence[Interval], others: Sequence[Interval]) -> list[Interval]:
    """Return the intersection of two sorted lists of intervals."""
    both = (Interval(max(a.starts, b.starts), min(a.ends, b.ends)) for a in some for b in others if a.overlaps(b))
    return sorted(both)


def _without(spans: Sequence[Interval], taken: Iterable[Interval]) -> list[Interval]:
    """Return what remains of the spans after the taken ones are cut out."""
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

"""Times in arguments and results."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from turnloom.tools.packs.meetings.store.calendars import Interval

_YEARS = range(2000, 2200)
_CLOCK = re.compile("([0-9]{1,2})(?::([0-9]{2}))? ?(am|pm)?")


def _readable(text: str) -> str:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.year not in _YEARS:
        raise ValueError("not a time; write one such as 2026-11-24T09:00:00+02:00, 2026-11-24T09:00 or 2026-11-24")
    return text


_WRITTEN = (
    "^20[0-9]{2}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    "(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])?)?$"
)
"""How a language model writes a time. `_readable` takes other forms of ISO 8601 too, and 29 February."""

When = Annotated[str, AfterValidator(_readable), Field(json_schema_extra={"pattern": _WRITTEN})]
"""An RFC 3339 time, a time without an offset, or a day."""


def clock(text: str) -> str:
    """Return a time of day, such as `15:00`, `3pm` or `3:30 pm`, as HH:MM.

    Raises:
        ValueError: it is none.
    """
    found = _CLOCK.fullmatch(text.strip().casefold())
    hours, minutes, half = found.groups() if found else ("", None, None)
    if not (minutes or half) or (half and not 1 <= int(hours) <= 12):
        raise ValueError("not a time of day; write one such as 15:00")
    hour = int(hours) % 12 + 12 * (half == "pm") if half else int(hours)
    return f"{time(hour, int(minutes or 0)):%H:%M}"


def read_time(when: When, zone: ZoneInfo, *, is_end: bool = False) -> datetime:
    """Return the time in UTC. A time without an offset is in `zone`. A day means its start, or its end if `is_end`."""
    try:
        day = date.fromisoformat(when)
    except ValueError:
        moment = datetime.fromisoformat(when)
    else:
        moment = datetime.combine(day + timedelta(days=is_end), time.min)
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def told(at: Interval, tz: str) -> tuple[str, str]:
    """Return start and end as RFC 3339, with the offset that the zone has at that time."""
    starts, ends = (each.astimezone(ZoneInfo(tz)).isoformat(timespec="seconds") for each in at)
    return starts, ends


def in_words(at: Interval, tz: str) -> str:
    """Write a time for people, such as `Tue 24 Nov 2026, 10:00-10:30 (Asia/Jerusalem)`."""
    starts, ends = (each.astimezone(ZoneInfo(tz)) for each in at)
    return f"{starts:%a} {starts.day} {starts:%b %Y, %H:%M}-{ends:%H:%M} ({tz})"

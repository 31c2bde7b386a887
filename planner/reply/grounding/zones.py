"""Time zones that results name: a moment may be said in each of them, and how far they are apart.

In: a result.  Out: its time zones, and a moment's day and time in them.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache
from itertools import combinations
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from turnloom.planner.reply.grounding.figures import Key
from turnloom.planner.reply.grounding.places import strings

_MOST = 4
_MINUTE = timedelta(minutes=1)


def zones_in(result: Any) -> list[ZoneInfo]:
    """Return the time zones that a result names, such as America/Toronto."""
    names = (text for text in strings(result) if "/" in text and text in known_zones())
    return [ZoneInfo(name) for name in list(dict.fromkeys(names))[:_MOST]]


def keys_in(moment: datetime, zones: Iterable[tzinfo | None]) -> Iterator[Key]:
    """Yield the day and the time of a moment in some time zones."""
    for zone in zones:
        local = moment.astimezone(zone)
        yield "date", local.date()
        yield "time", local.hour, local.minute


def apart(now: datetime, zones: list[ZoneInfo]) -> Iterator[Key]:
    """Yield the lengths of time by which some time zones are apart, and each from that of `now`."""
    offsets = {now.astimezone(zone).utcoffset() for zone in zones} | {now.utcoffset()}
    for one, other in combinations(sorted(offset for offset in offsets if offset is not None), 2):
        yield "duration", Decimal((other - one) // _MINUTE)


@lru_cache
def known_zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(available_timezones())

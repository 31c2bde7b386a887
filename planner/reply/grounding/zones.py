"""Time zones that results name: a moment may be said in each of them, and how far they are apart.

In: a result.  Out: its time zones, and a moment's day and time in them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache
from itertools import combinations
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from babel import Locale

from turnloom.planner.reply.grounding.element_names import strings
from turnloom.planner.reply.grounding.fields import is_of_field
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.lexicon import either, in_lower_case, spoken, words

_MOST = 4
_CONTINENTS = frozenset({"Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Pacific"})
"""The areas of zones that have the names of cities."""
_MINUTE = timedelta(minutes=1)


def zones_in(result: Any) -> list[ZoneInfo]:
    """Return the time zones that a result names, such as America/Toronto."""
    names = (text for text in strings(result) if "/" in text and text in known_zones())
    return [ZoneInfo(name) for name in list(dict.fromkeys(names))[:_MOST]]


def zones_named(text: str) -> list[ZoneInfo]:
    """Return the time zones of the cities that a text names."""
    names = dict.fromkeys(_cities()[in_lower_case(match[0])] for match in _city().finditer(text))
    return [ZoneInfo(name) for name in list(names)[:_MOST]]


def keys_in(moment: datetime, zones: Iterable[tzinfo | None]) -> Iterator[Key]:
    """Yield the day and the time of a moment in some time zones, and its time in Greenwich."""
    for zone in zones:
        local = moment.astimezone(zone)
        yield "date", local.date()
        yield "time", local.hour, local.minute
    if moment.utcoffset() is not None:
        there = moment.astimezone(UTC)
        yield "utc", there.hour, there.minute


def clocks_of(figure: Figure, text: str, days: Iterable[date]) -> tuple[Key, ...]:
    """Return the keys of a time, told by the clocks of a city that a text names, as those of the time in Greenwich."""
    zones, noons = zones_named(text), [(day.year, day.month, day.day, 12) for day in days]
    offsets = {datetime(*noon, tzinfo=zone).utcoffset() for zone in zones for noon in noons}
    keys = (key for key in figure.keys if key[0] == "time")
    return tuple(
        ("utc", there.hour, there.minute)
        for _, hour, minute in keys
        for offset in offsets
        if offset is not None and isinstance(hour, int) and isinstance(minute, int)
        for there in [datetime(2000, 1, 2, hour, minute, tzinfo=UTC) - offset]
    )


@lru_cache
def _city() -> re.Pattern[str]:
    return spoken(either(_cities()))


@lru_cache
def _cities() -> dict[str, str]:
    """Return the time zones of cities, by their names in lower case, in the languages of replies."""
    zones = sorted(name for name in known_zones() if name.partition("/")[0] in _CONTINENTS)
    spelt = {name.rpartition("/")[2].replace("_", " "): name for name in zones}
    for language in (*words()["languages"], "ja"):
        known = Locale(language).time_zones
        spelt |= {known[name]["city"]: name for name in zones if name in known and "city" in known[name]}
    return {in_lower_case(city): name for city, name in spelt.items()}


def on_clocks(found: Sequence[Figure], moment: str, path: str) -> Sequence[Figure]:
    """Return the figures of a moment as it is written.

    When an offer expires is told by the user's clock: if it ends in Z, it is on no clock but that of Greenwich.
    Elsewhere Z may be the zone of a place, such as Lisbon.
    """
    if not (moment.endswith("Z") and is_of_field(path, words()["expiry_fields"])):
        return found
    return [replace(one, keys=in_greenwich(one.keys)) if one.kind == "time" else one for one in found]


def in_greenwich(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Return the keys of times as those of times in Greenwich."""
    return tuple(("utc", *key[1:]) for key in keys)


def apart(now: datetime, zones: list[ZoneInfo]) -> Iterator[Key]:
    """Yield the lengths of time by which some time zones are apart, and each from that of `now`."""
    offsets = {now.astimezone(zone).utcoffset() for zone in zones} | {now.utcoffset()}
    for one, other in combinations(sorted(offset for offset in offsets if offset is not None), 2):
        yield "duration", Decimal((other - one) // _MINUTE)


@lru_cache
def known_zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(available_timezones())

"""`travel.lookup_weather`: look up the weather of a city on some days."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.knowledge import EntityLink, Finding
from turnloom.models.errors import ToolFailed
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.travel.cities import City, find_city, look_up_city
from turnloom.tools.packs.travel.contracts import LAST_DAY, OWN_DATA, CityName, WeatherDay
from turnloom.tools.packs.travel.open_meteo import DAYS_AHEAD, SOURCE, Place, find_place, forecast
from turnloom.tools.packs.travel.providers import OUTSIDE_ERRORS, is_live, outside, said_by
from turnloom.tools.registry import tool

_MONTH_DAYS = 365.25 / 12
_SKIES = ((15, "mostly dry"), (30, "some rain possible"), (45, "rain fairly likely"), (101, "rain likely"))
_WARMTH = ((3, "Cold"), (12, "Cool"), (20, "Mild"), (27, "Warm"), (100, "Hot"))


class WeatherLookup(Contract):
    """A place and a date."""

    city: CityName
    """Name of the city, such as Kyoto."""
    start: date | None = Field(None, lt=LAST_DAY)
    """First day, ISO 8601. Default: tomorrow in the city."""
    days: int = Field(3, ge=1, le=16)
    """Number of days."""


class Weather(Contract):
    """The weather of some days."""

    city: str
    """Name of the city as the source spells it."""
    tz: str
    """The city's time zone."""
    days: list[WeatherDay]
    """One entry for each day, in order. There are fewer if the source knows no more days."""
    source: str | None = None
    """The source of the data."""


def _facts(weather: Weather) -> Iterator[Finding]:
    days = [f"{weather.city} {day.date}" for day in weather.days]
    links = [EntityLink(kind="has_weather", type="weather", name=day) for day in days]
    said = said_by(weather.source or OWN_DATA)
    yield Finding(type="city", name=weather.city, attributes={"time_zone": weather.tz}, links=links, **said)
    for index, (name, day) in enumerate(zip(days, weather.days, strict=True)):
        given = day.model_dump(exclude={"date"}, exclude_none=True)
        yield Finding(type="weather", name=name, path=f"days[{index}]", attributes=given, **said)


@tool(
    "travel.lookup_weather",
    effect="read",
    remember_s=1_800,
    facts=_facts,
    errors=OUTSIDE_ERRORS,
    asks=("city",),
    **outside("open-meteo", cache_s=1_800, per_tenant="60/minute"),
)
def lookup_weather(query: WeatherLookup, context: ToolContext) -> Weather:
    """Look up the weather of a city on some days: a forecast, or else climate normals. The summary says which."""
    if is_live():
        return _forecast(query, context)
    city = look_up_city(query.city, context)
    start = query.start or datetime.now(ZoneInfo(city.timezone)).date() + timedelta(days=1)
    days = [_usual(city, start + timedelta(days=offset)) for offset in range(query.days)]
    return Weather(city=city.name, tz=city.timezone, days=days, source=OWN_DATA)


def _forecast(query: WeatherLookup, context: ToolContext) -> Weather:
    """Ask for a forecast. For days beyond it, use climate normals if the shipped data contain the city."""
    place = find_place(query.city, context)
    start = query.start or place.today() + timedelta(days=1)
    wanted = [start + timedelta(days=offset) for offset in range(query.days)]
    timezone, found = forecast(place, wanted[0], wanted[-1], context)
    known = {day.date: day for day in found}
    if city := _shipped(query.city, place):
        known = {day: _usual(city, day) for day in wanted} | known
    if not known:
        message = f"there is no forecast for {place.name} on {start}; forecasts reach {DAYS_AHEAD} days ahead"
        raise ToolFailed(message, code="NOT_FOUND")
    days = [known[day] for day in wanted if day in known]
    source = f"{SOURCE}, and {OWN_DATA} beyond its forecast" if len(found) < len(days) else SOURCE
    return Weather(city=place.name, tz=timezone.key, days=days, source=source)


def _shipped(name: str, place: Place) -> City | None:
    """Return the shipped city that is this place. Compare time zones, because there is also a Paris in Texas."""
    with suppress(ToolFailed):
        city = find_city(name)
        return city if city.timezone == place.timezone.key else None
    return None


def _usual(city: City, day: date) -> WeatherDay:
    climate = city.climate
    low = round(_normal(climate.t_min_c, day), 1)
    high = round(_normal(climate.t_max_c, day), 1)
    rain = round(_normal(climate.precipitation_pct, day))
    summary = f"{_word(_WARMTH, (low + high) / 2)}, {_word(_SKIES, rain)} (climate normals, not a forecast)"
    return WeatherDay(date=day, summary=summary, t_min_c=low, t_max_c=high, precipitation_pct=rain)


def _normal(months: list[float], day: date) -> float:
    """Interpolate linearly. The normal of a month applies to its middle."""
    place = (day.timetuple().tm_yday - 0.5) / _MONTH_DAYS - 0.5
    before = int(place // 1)
    share = place - before
    return months[before % 12] * (1 - share) + months[(before + 1) % 12] * share


def _word(scale: tuple[tuple[float, str], ...], value: float) -> str:
    return next(word for limit, word in scale if value < limit)

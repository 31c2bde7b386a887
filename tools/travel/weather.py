"""`travel.lookup_weather`: what weather is usual in a city on some days."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from pydantic import Field

from models.contracts.base import Contract
from models.contracts.knowledge import Finding, Link
from tools.context import ToolContext
from tools.registry import tool
from tools.travel.cities import CityName, look_up_city

_LAST_START = date(9000, 1, 1)
_MONTH_DAYS = 365.25 / 12
_SKIES = ((15, "mostly dry"), (30, "some rain possible"), (45, "rain fairly likely"), (101, "rain likely"))
_WARMTH = ((3, "Cold"), (12, "Cool"), (20, "Mild"), (27, "Warm"), (100, "Hot"))


class WeatherLookup(Contract):
    """Where and when."""

    city: CityName
    """Name of the city, such as Kyoto."""
    start: date | None = Field(None, lt=_LAST_START)
    """First day, ISO 8601; tomorrow in the city where absent."""
    days: int = Field(3, ge=1, le=16)
    """Number of days."""


class WeatherDay(Contract):
    """The weather of one day."""

    date: date
    """The day, ISO 8601."""
    summary: str
    """The weather in words, and what they rest on."""
    t_min_c: float
    """Lowest temperature, in degrees Celsius."""
    t_max_c: float
    """Highest temperature, in degrees Celsius."""
    precipitation_pct: float = Field(ge=0, le=100)
    """Chance of rain or snow, in per cent."""


class Weather(Contract):
    """The weather of some days."""

    city: str
    """The city as the data set spells it."""
    tz: str
    """The city's time zone."""
    days: list[WeatherDay]
    """One entry for each day, in order."""


def _facts(weather: Weather) -> Iterator[Finding]:
    days = [f"{weather.city} {day.date}" for day in weather.days]
    links = [Link(kind="has_weather", type="weather", name=day) for day in days]
    yield Finding(type="city", name=weather.city, attributes={"time_zone": weather.tz}, links=links)
    for index, (name, day) in enumerate(zip(days, weather.days, strict=True)):
        yield Finding(
            type="weather",
            name=name,
            path=f"days[{index}]",
            attributes={
                "summary": day.summary,
                "t_min_c": day.t_min_c,
                "t_max_c": day.t_max_c,
                "precipitation_pct": day.precipitation_pct,
            },
        )


@tool("travel.lookup_weather", effect="read", remember_s=3_600, facts=_facts, errors=("NOT_FOUND",))
def lookup_weather(query: WeatherLookup, context: ToolContext) -> Weather:
    """Look up the weather that is usual in a city on some days: climate normals, not a forecast."""
    city = look_up_city(query.city, context)
    start = query.start or datetime.now(ZoneInfo(city.timezone)).date() + timedelta(days=1)
    climate = city.climate
    days = []
    for day in (start + timedelta(days=offset) for offset in range(query.days)):
        low = round(_normal(climate.t_min_c, day), 1)
        high = round(_normal(climate.t_max_c, day), 1)
        rain = round(_normal(climate.precipitation_pct, day))
        summary = f"{_word(_WARMTH, (low + high) / 2)}, {_word(_SKIES, rain)} (climate normals, not a forecast)"
        days.append(WeatherDay(date=day, summary=summary, t_min_c=low, t_max_c=high, precipitation_pct=rain))
    return Weather(city=city.name, tz=city.timezone, days=days)


def _normal(months: list[float], day: date) -> float:
    """Interpolate between the middles of two months, where each month's normal stands."""
    place = (day.timetuple().tm_yday - 0.5) / _MONTH_DAYS - 0.5
    before = int(place // 1)
    share = place - before
    return months[before % 12] * (1 - share) + months[(before + 1) % 12] * share


def _word(scale: tuple[tuple[float, str], ...], value: float) -> str:
    return next(word for limit, word in scale if value < limit)

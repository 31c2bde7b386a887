"""Open-Meteo's search for places and its forecast, which need no key: https://open-meteo.com/en/docs.

Figures are in degrees Celsius and per cent. The licence of the data, CC BY 4.0, requires naming the source.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pydantic import Field

from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.http.upstream import AnyShape, Params, Refused, Shape, get_shape
from turnloom.tools.packs.travel.contracts import WeatherDay
from turnloom.tools.packs.travel.settings import TravelSettings

SOURCE = "Open-Meteo.com"
DAYS_AHEAD = 16
"""Number of days that a forecast covers, today included."""

_DAYS_BACK = 90
_CANDIDATES = 10
_FIGURES = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max"
_SKIES = {
    0: "Clear",
    1: "Mostly clear",
    2: "Partly cloudy",
    3: "Overcast",
    45: "Fog",
    48: "Freezing fog",
    51: "Light drizzle",
    53: "Drizzle",
    55: "Heavy drizzle",
    56: "Freezing drizzle",
    57: "Heavy freezing drizzle",
    61: "Light rain",
    63: "Rain",
    65: "Heavy rain",
    66: "Freezing rain",
    67: "Heavy freezing rain",
    71: "Light snow",
    73: "Snow",
    75: "Heavy snow",
    77: "Snow grains",
    80: "Light showers",
    81: "Showers",
    82: "Violent showers",
    85: "Snow showers",
    86: "Heavy snow showers",
    95: "Thunderstorm",
    96: "Thunderstorm with hail",
    99: "Thunderstorm with heavy hail",
}
"""WMO weather codes -> words."""


class Place(Shape):
    """A place on the map."""

    name: str = Field(max_length=200)
    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    country: str = ""
    country_code: str = ""
    admin1: str = ""
    """The state or region."""
    timezone: ZoneInfo = ZoneInfo("UTC")

    def today(self) -> date:
        """Return the present day at this place."""
        return datetime.now(self.timezone).date()


class _Places(Shape):
    results: list[Place] = Field(default_factory=list)
    """The places, the best match first. If nothing matches, the service leaves out this key."""


class _Daily(Shape):
    time: list[date]
    weather_code: list[int | None]
    temperature_2m_min: list[float | None]
    temperature_2m_max: list[float | None]
    precipitation_probability_max: list[float | None]


class _Answer(Shape):
    timezone: ZoneInfo
    daily: _Daily


class _Refusal(Shape):
    reason: str


class Forecast(NamedTuple):
    """The forecast days of a place, with its time zone."""

    timezone: ZoneInfo
    days: list[WeatherDay]


def find_place(name: str, context: ToolContext) -> Place:
    """Return the place with this name. Text after a comma names its country or region.

    Raises:
        ToolFailed: NOT_FOUND, there is no such place.
    """
    wanted, _, where = (part.strip() for part in name.partition(","))
    params: Params = {"name": wanted or name, "count": _CANDIDATES, "language": "en", "format": "json"}
    found = _get(_Places, f"{settings().of(TravelSettings).geocoding_url}/v1/search", params, context).results
    if not found:
        raise ToolFailed(f"Open-Meteo knows no place called {name!r}", code="NOT_FOUND")
    return next((place for place in found if where and _is_in(place, where)), found[0])


def forecast(place: Place, first: date, last: date, context: ToolContext) -> Forecast:
    """Return the weather from the first to the last day, as far as the forecast reaches."""
    first = max(first, place.today() - timedelta(days=_DAYS_BACK))
    last = min(last, place.today() + timedelta(days=DAYS_AHEAD - 1))
    if first > last:
        return Forecast(place.timezone, [])
    params: Params = {
        "latitude": place.latitude,
        "longitude": place.longitude,
        "daily": _FIGURES,
        "timezone": "auto",
        "start_date": first.isoformat(),
        "end_date": last.isoformat(),
    }
    answer = _get(_Answer, f"{settings().of(TravelSettings).forecast_url}/v1/forecast", params, context)
    return Forecast(answer.timezone, list(_days(answer.daily)))


def _days(daily: _Daily) -> Iterator[WeatherDay]:
    columns = (daily.weather_code, daily.temperature_2m_min, daily.temperature_2m_max)
    for day, code, low, high, rain in zip(daily.time, *columns, daily.precipitation_probability_max, strict=False):
        if low is not None and high is not None:
            summary = f"{_sky(code)} (forecast)"
            yield WeatherDay(date=day, summary=summary, t_min_c=low, t_max_c=high, precipitation_pct=rain)


def _get(shape: type[AnyShape], url: str, params: Params, context: ToolContext) -> AnyShape:
    """Get JSON. If the service refuses, put the reason from its answer, `{error: true, reason}`, into the message."""
    try:
        return get_shape(shape, url, params, context)
    except Refused as refusal:
        raise ToolFailed(f"Open-Meteo refuses: {_reason(refusal)}"[:300], code=refusal.code) from None


def _reason(refusal: Refused) -> str:
    with suppress(Unavailable, ToolFailed):
        return refusal.answer.shaped(_Refusal).reason
    return str(refusal)


def _is_in(place: Place, where: str) -> bool:
    return where.casefold() in (name.casefold() for name in (place.country, place.country_code, place.admin1))


def _sky(code: int | None) -> str:
    return _SKIES.get(-1 if code is None else code, "Unknown sky")

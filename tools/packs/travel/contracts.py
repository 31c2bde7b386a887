"""Inputs and results that the travel tools share, whatever the source."""

import datetime
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from turnloom.models.contracts.base import Contract

OWN_DATA = "Turnloom's own data set"
DEMO_DATA = "demo data"
"""The `source` of invented data begins with this."""
LAST_DAY = datetime.date(9000, 1, 1)
"""Days must be before this one, so that later days can be computed from them."""

CityName = Annotated[str, Field(min_length=1, max_length=100)]
"""Name of a city, as a person writes it."""


class Attraction(Contract):
    """A place to see."""

    name: str
    """Name of the place."""
    kind: str
    """Kind of place: museum, temple, market, district and the like."""
    lat: float = Field(ge=-90, le=90)
    """Latitude in degrees, approximate."""
    lon: float = Field(ge=-180, le=180)
    """Longitude in degrees, approximate."""
    summary: str
    """One sentence about the place; empty if the source has none."""
    source: str
    """The source of the data."""


class WeatherDay(Contract):
    """The weather of one day."""

    date: datetime.date
    """The day, ISO 8601."""
    summary: str
    """The weather in words, and whether they come from a forecast or from climate normals."""
    t_min_c: float
    """Lowest temperature, in degrees Celsius."""
    t_max_c: float
    """Highest temperature, in degrees Celsius."""
    precipitation_pct: float | None = Field(None, ge=0, le=100)
    """Chance of rain or snow, in per cent; null if the source gives none."""


class Hotel(Contract):
    """A place to sleep."""

    name: str
    """Name of the hotel."""
    area: str | None = None
    """The part of the city, if the source names it."""
    stars: int | None = Field(None, ge=1, le=5)
    """Number of stars, 1-5, if known."""
    price_per_night: float | None = None
    """Price of one night, if known."""
    currency: str | None = None
    """ISO 4217 code of the price."""
    source: str
    """The source of the data."""


class Flight(Contract):
    """A flight, direct or with stops."""

    direction: Literal["outbound", "return"]
    """Whether it is the way out or the way back."""
    carrier: str
    """The airline."""
    flight_number: str
    """The flight number."""
    origin: str
    """IATA code of the airport of departure."""
    destination: str
    """IATA code of the airport of arrival."""
    departs: datetime.datetime
    """Time of departure, in the time zone of the origin."""
    arrives: datetime.datetime
    """Time of arrival, in the time zone of the destination."""
    duration_min: int = Field(ge=1)
    """Minutes from the first departure to the last arrival."""
    stops: list[str] = Field(default_factory=list)
    """IATA codes of the stops on the way; empty for a direct flight."""
    price: float | None = None
    """Price for one person in this direction, if known."""
    currency: str | None = None
    """ISO 4217 code of the price."""
    source: str
    """The source of the data."""


class FlightSearch(Contract):
    """Origin, destination and days of a trip by air."""

    origin: CityName
    """City of departure, or the IATA code of its airport."""
    destination: CityName
    """City of arrival, or the IATA code of its airport."""
    depart: datetime.date = Field(lt=LAST_DAY)
    """Day of departure at the origin, ISO 8601."""
    return_: datetime.date | None = Field(None, alias="return", lt=LAST_DAY)
    """Day of the flight back from the destination, ISO 8601. Leave it out for one way only."""

    @field_validator("return_")
    @classmethod
    def returns_after_it_departs(cls, value: datetime.date | None, info: ValidationInfo) -> datetime.date | None:
        """Refuse a return before the departure."""
        depart = info.data.get("depart")
        if value is not None and depart is not None and value < depart:
            raise ValueError("is before the day of departure")
        return value


class Flights(Contract):
    """Flights: first those out, then those back, each cheapest first."""

    origin: str
    """City of departure, as the source spells it."""
    destination: str
    """City of arrival, as the source spells it."""
    results: list[Flight]
    """The flights. Empty if the source knows none."""

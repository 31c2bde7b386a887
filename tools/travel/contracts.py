"""What the travel tools find, whoever found it."""

import datetime
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from models.contracts.base import Contract

OWN_DATA = "Turnloom's own data set"
DEMO_DATA = "demo data"
"""So begins the source of what is invented."""
LAST_DAY = datetime.date(9000, 1, 1)
"""Later days leave no room to count on from them."""

CityName = Annotated[str, Field(min_length=1, max_length=100)]
"""What a person calls a city."""


class Attraction(Contract):
    """A place to see."""

    name: str
    """Name of the place."""
    kind: str
    """What it is: museum, temple, market, district and the like."""
    lat: float = Field(ge=-90, le=90)
    """Latitude in degrees, approximate."""
    lon: float = Field(ge=-180, le=180)
    """Longitude in degrees, approximate."""
    summary: str
    """One sentence about it; empty where the source has none."""
    source: str
    """Where this comes from."""


class WeatherDay(Contract):
    """The weather of one day."""

    date: datetime.date
    """The day, ISO 8601."""
    summary: str
    """The weather in words, and what they rest on."""
    t_min_c: float
    """Lowest temperature, in degrees Celsius."""
    t_max_c: float
    """Highest temperature, in degrees Celsius."""
    precipitation_pct: float | None = Field(None, ge=0, le=100)
    """Chance of rain or snow, in per cent; None where the source gives none."""


class Hotel(Contract):
    """A place to sleep."""

    name: str
    """Name of the hotel."""
    area: str | None = None
    """Its part of the city, where the source names it."""
    stars: int | None = Field(None, ge=1, le=5)
    """One to five, where it is known."""
    price_per_night: float | None = None
    """Price of one night, where it is known."""
    currency: str | None = None
    """ISO 4217 code of the price."""
    source: str
    """Where this comes from."""


class Flight(Contract):
    """A way through the air, without or with stops."""

    direction: Literal["outbound", "return"]
    """Which way."""
    carrier: str
    """The airline."""
    flight_number: str
    """The number it goes by."""
    origin: str
    """IATA code of the airport it leaves from."""
    destination: str
    """IATA code of the airport it goes to."""
    departs: datetime.datetime
    """When it leaves, in the time zone of its origin."""
    arrives: datetime.datetime
    """When it arrives, in the time zone of its destination."""
    duration_min: int = Field(ge=1)
    """From the first departure to the last arrival, in minutes."""
    stops: list[str] = Field(default_factory=list)
    """IATA codes of the stops on the way; none for a direct flight."""
    price: float | None = None
    """For one person, this way only, where it is known."""
    currency: str | None = None
    """ISO 4217 code of the price."""
    source: str
    """Where this comes from."""


class FlightSearch(Contract):
    """From where to where, and when."""

    origin: CityName
    """City to leave from, or the IATA code of its airport."""
    destination: CityName
    """City to go to, or the IATA code of its airport."""
    depart: datetime.date = Field(lt=LAST_DAY)
    """Day of departure at the origin, ISO 8601."""
    return_: datetime.date | None = Field(None, alias="return", lt=LAST_DAY)
    """Day of departure back from the destination, ISO 8601; one way only where absent."""

    @field_validator("return_")
    @classmethod
    def returns_after_it_departs(cls, value: datetime.date | None, info: ValidationInfo) -> datetime.date | None:
        """Refuse a way back before the way there."""
        depart = info.data.get("depart")
        if value is not None and depart is not None and value < depart:
            raise ValueError("is before the day of departure")
        return value


class Flights(Contract):
    """Ways through the air: those out first, then those back, the cheaper ones first."""

    origin: str
    """The city to leave from, as the source spells it."""
    destination: str
    """The city to go to, as the source spells it."""
    results: list[Flight]
    """The flights; none where the source knows of none."""

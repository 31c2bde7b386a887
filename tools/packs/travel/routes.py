"""Invented flights between the cities of the data set, at the same times every day (`data/flights/routes.json`)."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import ConfigDict, Field

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import ToolFailed
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.travel.cities import find_city, pause
from turnloom.tools.packs.travel.contracts import DEMO_DATA, Flight, Flights, FlightSearch

_FILE = Path(__file__).parent / "data" / "flights" / "routes.json"
_INVENTED = f"{DEMO_DATA}, an invented flight at an invented price"


class _Part(Contract):
    """A part of the file. It is built at its first use, because most processes never read it."""

    model_config = ConfigDict(defer_build=True)


class Airport(_Part):
    """An airport."""

    code: str
    cities: list[str]
    """Names of its cities in the data set. The first one determines the time zone."""

    @property
    def timezone(self) -> ZoneInfo:
        """The airport's time zone."""
        return ZoneInfo(find_city(self.cities[0]).timezone)


class Departure(_Part):
    """A daily flight."""

    carrier: str
    number: str
    departs: time
    """Time of departure, in the time zone of the origin."""
    minutes: int
    stops: list[str] = Field(default_factory=list)
    price: float


class Route(_Part):
    """All flights from one airport to another."""

    origin: str
    destination: str
    flights: list[Departure]


class Network(_Part):
    """The whole file."""

    about: str
    currency: str
    airports: list[Airport]
    routes: list[Route]


class ShippedRoutes:
    """The flights of the shipped data set."""

    def search(self, query: FlightSearch, context: ToolContext) -> Flights:
        """Return the flights of these days, after a pause of TURNLOOM_TRAVEL_LATENCY_MS.

        Raises:
            ToolFailed: NOT_FOUND, a place is unknown, or both places have the same airport.
        """
        pause(context)
        (origin, start), (destination, end) = (_located(name) for name in (query.origin, query.destination))
        if start == end:
            raise ToolFailed(f"{origin} and {destination} have the same airport, {start.code}", code="NOT_FOUND")
        results = list(_flights(start, end, query.depart, "outbound"))
        if query.return_:
            results += _flights(end, start, query.return_, "return")
        return Flights(origin=origin, destination=destination, results=results)


@lru_cache
def network() -> Network:
    """Return the file's content."""
    return Network.model_validate_json(_FILE.read_bytes())


def _located(name: str) -> tuple[str, Airport]:
    """Return the city and the airport for the name of a city or the code of an airport."""
    airports = network().airports
    for airport in airports:
        if airport.code == name.strip().upper():
            return airport.cities[0], airport
    city = find_city(name).name
    return city, next(airport for airport in airports if city in airport.cities)


def _flights(start: Airport, end: Airport, day: date, direction: Literal["outbound", "return"]) -> Iterator[Flight]:
    for route in network().routes:
        for flight in route.flights if (route.origin, route.destination) == (start.code, end.code) else ():
            # Add the minutes in UTC: a sum of local times is wrong on days when clocks change.
            departs = datetime.combine(day, flight.departs, start.timezone).astimezone(UTC)
            yield Flight(
                direction=direction,
                carrier=flight.carrier,
                flight_number=flight.number,
                origin=start.code,
                destination=end.code,
                departs=departs.astimezone(start.timezone),
                arrives=(departs + timedelta(minutes=flight.minutes)).astimezone(end.timezone),
                duration_min=flight.minutes,
                stops=flight.stops,
                price=flight.price,
                currency=network().currency,
                source=_INVENTED,
            )

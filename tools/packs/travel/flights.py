"""`travel.search_flights`: find flights from one city to another."""

from collections.abc import Iterator
from typing import Protocol

from turnloom.models.contracts.artifact import Table, TableArtifact
from turnloom.models.contracts.knowledge import Finding
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.travel.contracts import DEMO_DATA, Flights, FlightSearch
from turnloom.tools.packs.travel.providers import said_by
from turnloom.tools.packs.travel.routes import ShippedRoutes
from turnloom.tools.registry import tool


class FlightSource(Protocol):
    """A provider of flights.

    No service offers flight data for free. To use a provider, write a client with this interface and assign it to
    `_source`.
    """

    def search(self, query: FlightSearch, context: ToolContext) -> Flights:
        """Return the flights of these days, in any order.

        Raises:
            ToolFailed: NOT_FOUND, a place is unknown, or both places have the same airport.
        """


_source: FlightSource = ShippedRoutes()


def _table(found: Flights) -> TableArtifact:
    columns = [
        "Direction",
        "Carrier",
        "Flight",
        "From",
        "Departs",
        "To",
        "Arrives",
        "Minutes",
        "Stops",
        "Price",
        "Currency",
    ]
    rows: list[list[str | int | float | bool | None]] = [
        [
            flight.direction,
            flight.carrier,
            flight.flight_number,
            flight.origin,
            flight.departs.isoformat(),
            flight.destination,
            flight.arrives.isoformat(),
            flight.duration_min,
            ", ".join(flight.stops) or "none",
            flight.price,
            flight.currency,
        ]
        for flight in found.results
    ]
    invented = any(flight.source.startswith(DEMO_DATA) for flight in found.results)
    title = "Flights from {origin} to {destination}" + (f" ({DEMO_DATA})" if invented else "")
    return TableArtifact(title=title, data=Table(columns=columns, rows=rows))


def _facts(found: Flights) -> Iterator[Finding]:
    for index, flight in enumerate(found.results):
        name = f"{flight.flight_number} {flight.departs.date()}"
        given = flight.model_dump(mode="json", exclude={"stops", "source"}, exclude_none=True)
        given["stops"] = len(flight.stops)
        yield Finding(type="flight", name=name, path=f"results[{index}]", attributes=given, **said_by(flight.source))


@tool("travel.search_flights", effect="read", remember_s=600, artifact=_table, facts=_facts, errors=("NOT_FOUND",))
def search_flights(query: FlightSearch, context: ToolContext) -> Flights:
    """Find flights from one city to another, and back if a day of return is given. Flights and prices are demo data."""
    found = _source.search(query, context)
    ordered = sorted(found.results, key=lambda flight: (flight.direction, flight.price is None, flight.price or 0))
    return found.model_copy(update={"results": ordered})

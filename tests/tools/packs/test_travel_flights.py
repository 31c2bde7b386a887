"""Test `travel.search_flights` over the invented flights that are shipped."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from turnloom.models.contracts.artifact import TableArtifact
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.travel import flights
from turnloom.tools.packs.travel.contracts import Flight, Flights, FlightSearch
from turnloom.tools.packs.travel.routes import network
from turnloom.tools.registry import load_registry

Call = Callable[..., Envelope]

KYOTO = {"origin": "Tel Aviv", "destination": "Kyoto", "depart": "2030-05-01", "return": "2030-05-08"}


def search(call: Call, **changes: Any) -> list[dict[str, Any]]:
    """Search flights, and return them."""
    envelope = call("travel.search_flights", {"origin": "London", "destination": "New York", **changes})
    assert envelope.ok, envelope
    results: list[dict[str, Any]] = envelope.data["results"]
    return results


def test_every_city_has_a_way_to_every_other() -> None:
    """Each city has one airport, and each pair of airports has flights with a unique number."""
    known = network()
    codes = [airport.code for airport in known.airports]
    cities = [city for airport in known.airports for city in airport.cities]
    numbers = [flight.number for route in known.routes for flight in route.flights]

    assert len(set(cities)) == len(cities) == 14
    assert {(route.origin, route.destination) for route in known.routes} == {
        (a, b) for a in codes for b in codes if a != b
    }
    assert all(route.flights for route in known.routes)
    assert all(stop in codes for route in known.routes for flight in route.flights for stop in flight.stops)
    assert len(set(numbers)) == len(numbers)
    assert "invented" in known.about


def test_flights_are_ordered_and_invented(call: Call) -> None:
    """Outward flights come first, and cheaper ones before others. Every price says that it is invented."""
    results = search(call, **KYOTO)

    assert [flight["direction"] for flight in results] == ["outbound", "outbound", "return", "return"]
    for way in ("outbound", "return"):
        prices = [flight["price"] for flight in results if flight["direction"] == way]
        assert prices == sorted(prices)
    assert all("invented flight at an invented price" in flight["source"] for flight in results)


@pytest.mark.parametrize("day", ["2030-03-31", "2030-10-27", "2030-11-03", "2030-12-31"])
def test_clocks_agree_with_the_duration(call: Call, day: str) -> None:
    """Arrival less departure is the duration, even if clocks or the year change on the way."""
    for flight in search(call, depart=day):
        departs, arrives = (datetime.fromisoformat(flight[name]) for name in ("departs", "arrives"))

        assert (arrives - departs).total_seconds() == flight["duration_min"] * 60
        assert departs.utcoffset() == departs.astimezone(ZoneInfo("Europe/London")).utcoffset()
        assert arrives.utcoffset() == arrives.astimezone(ZoneInfo("America/New_York")).utcoffset()
        assert departs.date().isoformat() == day


def test_one_way_unless_a_way_back_is_asked_for(call: Call) -> None:
    """Without `return` there are no flights back."""
    assert {flight["direction"] for flight in search(call, depart="2030-05-01")} == {"outbound"}


def test_flights_become_a_table(call: Call) -> None:
    """The artifact has a row for each flight and calls itself demo data."""
    tool = load_registry(["travel"]).get("travel.search_flights")
    assert tool.artifact
    assert tool.facts
    found = tool.output.model_validate(call("travel.search_flights", KYOTO).data)

    table = tool.artifact(found)

    assert isinstance(table, TableArtifact)
    assert table.title == "Flights from {origin} to {destination} (demo data)"
    assert all(len(row) == len(table.data.columns) for row in table.data.rows)
    assert [finding.name for finding in tool.facts(found)][1] == "DMO 230 2030-05-01"


def test_another_source_may_take_the_place(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its flights are ordered. One without a price comes last, and a real flight is not called demo data."""
    known = Flight.model_validate(search(call, **KYOTO)[0] | {"source": "GDS"})
    unpriced = known.model_copy(update={"price": None, "flight_number": "XY 1"})

    class Real:
        def search(self, query: FlightSearch, context: Any) -> Flights:
            return Flights(origin=query.origin, destination=query.destination, results=[unpriced, known])

    monkeypatch.setattr(flights, "_source", Real())

    assert [flight["flight_number"] for flight in search(call, **KYOTO)] == [known.flight_number, "XY 1"]


def test_the_shipped_flights_come_as_late_as_the_rest(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """TURNLOOM_TRAVEL_LATENCY_MS counts once, and not beyond the deadline."""
    monkeypatch.setenv("TURNLOOM_TRAVEL_LATENCY_MS", "10000")
    settings.cache_clear()
    try:
        began = datetime.now().astimezone()
        envelope = call("travel.search_flights", KYOTO, time_s=0.3)
    finally:
        monkeypatch.undo()
        settings.cache_clear()

    assert envelope.ok
    assert 0.25 < (datetime.now().astimezone() - began).total_seconds() < 3

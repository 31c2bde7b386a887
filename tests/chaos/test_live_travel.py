"""Trips use travel providers over HTTP: a local server speaks like Open-Meteo, Wikipedia and Overpass."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.journeys.following import finished, post
from tests.journeys.stacks import client_of_stack
from tests.tools.packs.providers import FORECAST, OVERPASS, WIKIPEDIA, Providers, environment, says
from tests.tools.serving import LocalServer

TRIPS = 6

pytestmark = [pytest.mark.drill, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    """A server that speaks like the providers."""
    with LocalServer() as server:
        yield Providers(server)


@pytest.fixture(scope="module")
def api(providers: Providers) -> Iterator[httpx2.Client]:
    """A client of a stack whose travel tools ask the providers."""
    with client_of_stack(tool_workers=2, **environment(providers.url)) as client:
        yield client


def trip(api: httpx2.Client, days: int) -> dict[str, Any]:
    """Plan a trip in its own conversation, and return the turn."""
    return finished(api, post(api, f"Plan a {days}-day trip to Kyoto", agent="travel")["turn_id"])


def test_a_trip_uses_the_providers_answers(api: httpx2.Client, providers: Providers) -> None:
    """Sights, forecast and hotels come from the providers. The same trip in another conversation asks them nothing."""
    first = trip(api, 2)
    asked = len(providers.asked)
    second = trip(api, 2)

    assert first["output"]["days"][0]["morning"] == "Nijō Castle (Flatland castle)"
    assert all("(forecast)" in day["weather"] for day in first["output"]["days"])
    assert first["output"]["stay"] == "Grand, Gion, 4 stars"
    assert {FORECAST, WIKIPEDIA, OVERPASS} < set(providers.paths())
    assert (second["output"], len(providers.asked)) == (first["output"], asked)


def test_a_dead_provider_is_left_alone(api: httpx2.Client, providers: Providers) -> None:
    """Trips continue without their weather and say so. After five failures the provider is no longer asked."""
    providers.answers[FORECAST] = says(503)
    providers.asked.clear()

    turns = [trip(api, 3 + number) for number in range(TRIPS)]

    weather = [step for turn in turns for step in turn["steps"] if step["tool"] == "travel.lookup_weather"]
    assert {turn["status"] for turn in turns} == {"succeeded"}
    assert all("weather" in turn["reply"]["text"].lower() for turn in turns)
    assert weather[0]["error"]["code"] == "UPSTREAM_5XX"
    assert {step["error"]["code"] for step in weather} <= {"UPSTREAM_5XX", "CIRCUIT_OPEN"}
    assert providers.paths().count(FORECAST) <= 5

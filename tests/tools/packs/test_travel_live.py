"""The travel tools over real providers: a local server that speaks as they do."""

import re
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from werkzeug import Request, Response

from tests.tools.packs.providers import (
    FORECAST,
    OVERPASS,
    PARIS,
    PARIS_IN_TEXAS,
    PLACES,
    WIKIPEDIA,
    Providers,
    live_providers,
    says,
)
from turnloom.models.contracts.envelope import Envelope

Call = Callable[..., Envelope]

CALLS: dict[str, dict[str, Any]] = {
    "travel.search_attractions": {"city": "Kyoto"},
    "travel.lookup_weather": {"city": "Kyoto"},
    "travel.search_hotels": {"city": "Kyoto", "nights": 2},
}


@pytest.fixture
def providers() -> Iterator[Providers]:
    """Run the services, in a Kyoto where it is noon on 20 April 2030."""
    noon = datetime(2030, 4, 20, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
    with live_providers() as started, time_machine.travel(noon, tick=True):
        yield started


def test_sights_come_from_wikipedia(providers: Providers, call: Call) -> None:
    """The city itself and its wards are no sights. The description gives the kind; the article is the source."""
    found = call("travel.search_attractions", {"city": "kyoto", "limit": 5}).data

    assert found["city"] == "Kyoto"
    assert found["results"] == [
        {
            "name": "Nijō Castle",
            "kind": "Flatland castle",
            "lat": 35.0142,
            "lon": 135.7475,
            "summary": "Nijō Castle is a flatland castle in Kyoto, Japan.",
            "source": f"Wikipedia, {providers.url}/?curid=2",
        },
        {
            "name": "Nishiki Market",
            "kind": "place",
            "lat": 35.005,
            "lon": 135.765,
            "summary": "",
            "source": f"Wikipedia, {providers.url}/?curid=4",
        },
    ]
    assert providers.paths() == [PLACES, WIKIPEDIA, WIKIPEDIA]
    assert providers.asked[1][1]["gscoord"] == "35.02107|135.75385"
    assert providers.asked[2][1]["pageids"] == "2|4"


@pytest.mark.parametrize(
    "answer",
    [
        says(503),
        says(429, Retry_After="3600"),
        says(200, "<html>busy</html>"),
        says(200, {"error": {"code": "maxlag", "info": "Waiting for a database server"}}),
        says(200, {"error": {"code": "badvalue", "info": "Unrecognized value"}}),
        says(200, {"batchcomplete": "", "query": {"geosearch": []}}),
        says(200, {"query": {"geosearch": [{"title": "Castle"}]}}),
    ],
    ids=["out", "busy", "no JSON", "lagging", "refusing", "empty", "another shape"],
)
def test_openstreetmap_stands_in_for_wikipedia(
    providers: Providers, call: Call, answer: Callable[[Request], Response]
) -> None:
    """Places with an article come first, each once. A place without a name or position is left out."""
    providers.answers[WIKIPEDIA] = answer

    results = call("travel.search_attractions", {"city": "Kyoto"}).data["results"]

    assert [(place["name"], place["kind"], place["lat"]) for place in results] == [
        ("Nijo Castle", "attraction", 35.01),
        ("小さな博物館", "museum", 35.0),
    ]
    assert {place["source"] for place in results} == {"© OpenStreetMap contributors"}
    assert providers.asked[-1][1]["data"].endswith(
        '];nwr(around:3000,35.02107,135.75385)[tourism~"^(attraction|museum)$"][name];out center 200;'
    )


def test_a_slow_wikipedia_leaves_time_for_openstreetmap(providers: Providers, call: Call) -> None:
    """It is given up when half of the time is left."""
    ended = threading.Event()

    def wait(_: Request) -> Response:
        ended.wait(10)
        return Response("{}")

    providers.answers[WIKIPEDIA] = wait
    envelope = call("travel.search_attractions", {"city": "Kyoto"}, time_s=1.0)
    ended.set()

    assert envelope.ok, envelope
    assert providers.paths() == [PLACES, WIKIPEDIA, OVERPASS]


def test_hotels_have_no_prices_and_say_so(providers: Providers, call: Call) -> None:
    """More stars come first, unknown fields are absent, and a budget has no influence."""
    found = call("travel.search_hotels", {"city": "Kyoto", "nights": 2, "budget": 1}).data

    assert [(hotel["name"], hotel["stars"], hotel["area"]) for hotel in found["results"]] == [
        ("Grand", 4, "Gion"),
        ("Inn", None, None),
    ]
    assert all(hotel["price_per_night"] is hotel["currency"] is None for hotel in found["results"])
    assert "who know no prices" in found["results"][0]["source"]
    assert "unknown" in found["note"]


def test_the_weather_is_a_forecast(providers: Providers, call: Call) -> None:
    """It begins tomorrow in the city. The sky is in words, and time zone and source are given."""
    weather = call("travel.lookup_weather", {"city": "Kyoto", "days": 2}).data

    assert (weather["city"], weather["tz"], weather["source"]) == ("Kyoto", "Asia/Tokyo", "Open-Meteo.com")
    assert weather["days"] == [
        {"date": day, "summary": "Light rain (forecast)", "t_min_c": 9.1, "t_max_c": 18.4, "precipitation_pct": 55}
        for day in ("2030-04-21", "2030-04-22")
    ]
    assert providers.asked[-1][1]["timezone"] == "auto"


def test_beyond_the_forecast_the_normals_go_on(providers: Providers, call: Call) -> None:
    """The sixteenth day is the last of the forecast. Each later day says that it is not a forecast."""
    weather = call("travel.lookup_weather", {"city": "Kyoto", "start": "2030-05-04", "days": 3}).data

    assert [("(forecast)" in day["summary"], day["date"]) for day in weather["days"]] == [
        (True, "2030-05-04"),
        (True, "2030-05-05"),
        (False, "2030-05-06"),
    ]
    assert "climate normals, not a forecast" in weather["days"][2]["summary"]
    assert weather["source"].startswith("Open-Meteo.com, and Turnloom's own data set")
    assert (providers.asked[-1][1]["start_date"], providers.asked[-1][1]["end_date"]) == ("2030-05-04", "2030-05-05")


def test_no_weather_is_invented_beyond_the_data(providers: Providers, call: Call) -> None:
    """Paris in Texas is in no data set, so it has no weather next year. No service is asked for it."""
    providers.places = [PARIS, PARIS_IN_TEXAS]

    france = call("travel.lookup_weather", {"city": "Paris", "start": "2031-05-01", "days": 1})
    texas = call("travel.lookup_weather", {"city": "Paris, Texas", "start": "2031-05-01", "days": 1})

    assert france.ok, france
    assert texas.error
    assert (texas.error.code, "16 days" in texas.error.message) == ("NOT_FOUND", True)
    assert FORECAST not in providers.paths()


def test_figures_that_are_missing_are_missing(providers: Providers, call: Call) -> None:
    """A day without temperatures is taken from the normals. An absent chance of rain stays absent."""
    daily = {
        "time": ["2030-04-21", "2030-04-22"],
        "weather_code": [None, 3],
        "temperature_2m_max": [None, 20],
        "temperature_2m_min": [8, 10.5],
        "precipitation_probability_max": [None, None],
    }
    providers.answers[FORECAST] = says(200, {"timezone": "Asia/Tokyo", "daily": daily})

    days = call("travel.lookup_weather", {"city": "Kyoto", "days": 2}).data["days"]
    trip = call("travel.format_itinerary", {"city": "Kyoto", "days": 2, "weather": days}).data

    assert "not a forecast" in days[0]["summary"]
    assert (days[1]["t_min_c"], days[1]["t_max_c"], days[1]["precipitation_pct"]) == (10.5, 20, None)
    assert trip["days"][1]["weather"] == "Overcast (forecast), 10.5 to 20 °C"


def test_a_trip_is_made_of_live_parts(providers: Providers, call: Call) -> None:
    """Facts that the providers lack are left out of the stay, and the source is noted."""
    parts = {name.rsplit("_", 1)[1]: call(name, args).data for name, args in CALLS.items()}

    trip = call("travel.format_itinerary", {"city": "Kyoto", "days": 2, **parts}).data

    assert trip["stay"] == "Grand, Gion, 4 stars"
    assert trip["days"][0]["morning"] == "Nijō Castle (Flatland castle)"
    assert any("OpenStreetMap" in note for note in trip["notes"])


@pytest.mark.parametrize("tool", CALLS)
def test_a_place_that_nobody_knows_is_not_found(providers: Providers, call: Call, tool: str) -> None:
    """The answer then has no key `results`."""
    envelope = call(tool, CALLS[tool] | {"city": "Atlantis"})

    assert envelope.error
    assert (envelope.error.code, "Atlantis" in envelope.error.message) == ("NOT_FOUND", True)
    assert providers.paths() == [PLACES]


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize(
    ("answer", "code", "tries"),
    [
        (says(400, {"error": True, "reason": "Parameter 'count' must be between 1 and 100"}), "UPSTREAM_4XX", 1),
        (says(429, Retry_After="120"), "RATE_LIMITED", 1),
        (says(502, "<html/>"), "UPSTREAM_5XX", 3),
        (says(200, "<html/>"), "UPSTREAM_5XX", 3),
        (says(200, {"results": [{"name": "Kyoto"}]}), "UPSTREAM_5XX", 1),
    ],
    ids=["refused", "limited", "out", "no JSON", "another shape"],
)
def test_a_failing_map_is_a_failing_call(
    providers: Providers, call: Call, tool: str, answer: Callable[[Request], Response], code: str, tries: int
) -> None:
    """Only failures that may pass within the time are tried again."""
    providers.answers[PLACES] = answer

    envelope = call(tool, CALLS[tool])

    assert envelope.error
    assert envelope.error.code == code
    assert len(providers.asked) == tries
    assert (envelope.error.retry_at is not None) == (code == "RATE_LIMITED")


def test_the_first_match_is_the_place(providers: Providers, call: Call) -> None:
    """This holds if no country is named. Places in a country or region without a name are not considered."""
    providers.places = [PARIS, {"name": "Paris", "latitude": 1, "longitude": 1}]

    call("travel.lookup_weather", {"city": "Paris"})

    assert providers.asked[-1][1]["latitude"] == "48.85341"


def test_a_refusal_without_a_reason_is_a_refusal(providers: Providers, call: Call) -> None:
    """It may be the page of a proxy. The call is not repeated."""
    providers.answers[PLACES] = says(403, "<html>no</html>")

    envelope = call("travel.lookup_weather", {"city": "Kyoto"})

    assert envelope.error
    assert envelope.error.code == "UPSTREAM_4XX"
    assert "HTTP 403" in envelope.error.message
    assert len(providers.asked) == 1


def test_a_refusal_has_its_reason(providers: Providers, call: Call) -> None:
    """Operators can read Open-Meteo's own text."""
    providers.answers[FORECAST] = says(400, {"error": True, "reason": "Latitude must be in range of -90 to 90°."})

    envelope = call("travel.lookup_weather", {"city": "Kyoto"})

    assert envelope.error
    assert envelope.error.message == "Open-Meteo refuses: Latitude must be in range of -90 to 90°."


def test_a_search_that_ran_out_of_time_is_a_failure(providers: Providers, call: Call) -> None:
    """Overpass reports it with HTTP 200 and partial results. Each further try asks for a smaller circle."""
    remark = 'runtime error: Query timed out in "query" at line 1 after 25 seconds.'
    providers.answers[OVERPASS] = says(200, {"elements": [], "remark": remark})

    envelope = call("travel.search_hotels", CALLS["travel.search_hotels"])

    assert envelope.error
    assert envelope.error.code == "UPSTREAM_5XX"
    searches = (asked["data"] for path, asked in providers.asked if path == OVERPASS)
    assert [re.findall("around:([0-9]+)", search) for search in searches] == [["3000"], ["1500"], ["750"]]


def test_a_slow_forecast_ends_with_the_time(providers: Providers, call: Call) -> None:
    """The call fails at its deadline."""
    ended = threading.Event()

    def wait(_: Request) -> Response:
        ended.wait(10)
        return Response("{}")

    providers.answers[FORECAST] = wait
    envelope = call("travel.lookup_weather", CALLS["travel.lookup_weather"], time_s=0.5)
    ended.set()

    assert envelope.error
    assert envelope.error.code == "TOOL_TIMEOUT"

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine

from turnloom.models.contracts.artifact import ItineraryArtifact, TableArtifact
from turnloom.models.contracts.envelope import Envelope
from turnloom.tools.packs import travel
from turnloom.tools.packs.travel.cities import City, find_city
from turnloom.tools.registry import load_registry

Call = Callable[..., Envelope]

A_TO_L = ["Bangkok", "Barcelona", "Berlin", "Istanbul", "Jerusalem", "Kyoto", "Lisbon", "London"]
CITIES = [*A_TO_L, "New York", "Osaka", "Paris", "Rome", "Tel Aviv", "Tokyo"]


@pytest.mark.parametrize("name", CITIES)
def test_the_data_of_each_city_is_whole(name: str) -> None:
    """A city has enough sights, twelve plausible months, hotels marked as invented, and places inside it."""
    city = find_city(name)

    sights = city.attractions
    assert len(sights) >= 8
    assert len({place["name"] for place in sights}) == len(sights)
    assert max(place["lat"] for place in sights) - min(place["lat"] for place in sights) < 0.25
    assert max(place["lon"] for place in sights) - min(place["lon"] for place in sights) < 0.3
    assert all(low < high for low, high in zip(city.climate.t_min_c, city.climate.t_max_c, strict=True))
    assert all(0 <= share <= 100 for share in city.climate.precipitation_pct)
    assert len(city.hotels) >= 4
    assert "Demo data" in city.hotels_about
    assert ZoneInfo(city.timezone)


def test_every_data_file_is_a_city() -> None:
    """The files fit the model, and no name leads to two cities."""
    files = sorted((Path(travel.__file__).parent / "data").glob("*.json"))
    cities = [City.model_validate(json.loads(file.read_text(encoding="utf-8"))) for file in files]
    names = [name.casefold() for city in cities for name in (city.name, *city.aliases)]

    assert sorted(city.name for city in cities) == CITIES
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("city", "names"),
    [
        ("Kyoto", ["kyoto", "  KYOTO ", "Kyoto, Japan", "京都", "Kyōto"]),
        ("New York", ["NYC", "new york city", "New York, NY"]),
        *[("Tel Aviv", ["Tel-Aviv", "תל אביב"]), ("Jerusalem", ["ירושלים"]), ("Istanbul", ["İstanbul"])],
        *[("Rome", ["Roma"]), ("Lisbon", ["Lisboa"]), ("Bangkok", ["กรุงเทพ"])],
    ],
)
def test_a_city_is_found_by_what_people_call_it(city: str, names: list[str], call: Call) -> None:
    """Case, accents, a country behind a comma and other names do not matter."""
    found = [call("travel.search_attractions", {"city": name}).data["city"] for name in names]

    assert set(found) == {city}


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("travel.search_attractions", {"city": "Atlantis"}),
        ("travel.lookup_weather", {"city": "Atlantis"}),
        ("travel.search_hotels", {"city": "Atlantis", "nights": 1}),
        ("travel.search_attractions", {"city": ", Japan"}),
    ],
)
def test_an_unknown_city_is_not_found(tool: str, args: dict[str, Any], call: Call) -> None:
    """The failure names the cities that exist."""
    envelope = call(tool, args)

    assert envelope.error
    assert envelope.error.code == "NOT_FOUND"
    assert all(city in envelope.error.message for city in CITIES)


@pytest.mark.parametrize(
    ("tool", "args", "fault"),
    [
        ("travel.search_attractions", {}, "city"),
        ("travel.search_attractions", {"city": ""}, "city"),
        ("travel.search_attractions", {"city": "Rome", "limit": 0}, "limit"),
        ("travel.search_attractions", {"city": "Rome", "limit": 21}, "limit"),
        ("travel.search_attractions", {"city": "Rome", "days": 2}, "days"),
        ("travel.lookup_weather", {"city": "Rome", "start": "someday"}, "start"),
        ("travel.lookup_weather", {"city": "Rome", "start": "9999-12-30"}, "start"),
        ("travel.lookup_weather", {"city": "Rome", "days": 0}, "days"),
        ("travel.lookup_weather", {"city": "Rome", "days": 17}, "days"),
        ("travel.search_hotels", {"city": "Rome"}, "nights"),
        ("travel.search_hotels", {"city": "Rome", "nights": 0}, "nights"),
        ("travel.search_hotels", {"city": "Rome", "nights": 1, "check_in": "soon"}, "check_in"),
        ("travel.search_hotels", {"city": "Rome", "nights": 1, "budget": 0}, "budget"),
        ("travel.search_hotels", {"city": "Rome", "nights": 1, "budget": "cheap"}, "budget"),
        ("travel.format_itinerary", {"city": "Rome", "days": 0, "attractions": []}, "days"),
        ("travel.format_itinerary", {"city": "Rome", "days": 1, "attractions": "all"}, "attractions"),
        ("travel.format_itinerary", {"city": "Rome", "days": 1, "attractions": [], "weather": [{}]}, "weather"),
        ("travel.format_itinerary", {"city": "Rome", "days": 1, "attractions": [], "hotels": 5}, "hotels"),
    ],
)
def test_bad_arguments_are_named(tool: str, args: dict[str, Any], fault: str, call: Call) -> None:
    """Every invalid field is BAD_ARGS and named."""
    envelope = call(tool, args)

    assert envelope.error
    assert envelope.error.code == "BAD_ARGS"
    assert fault in envelope.error.message


def test_attractions_have_everything_an_itinerary_needs(call: Call) -> None:
    """Each has a name, kind, place, sentence and source. There are as many as requested."""
    results = call("travel.search_attractions", {"city": "Kyoto", "limit": 3}).data["results"]

    assert [place["name"] for place in results] == ["Fushimi Inari Taisha", "Kinkaku-ji", "Kiyomizu-dera"]
    assert set(results[0]) == {"name", "kind", "lat", "lon", "summary", "source"}


def test_five_attractions_unless_said_otherwise(call: Call) -> None:
    """The default limit is five."""
    assert len(call("travel.search_attractions", {"city": "Paris"}).data["results"]) == 5


def test_the_weather_says_that_it_is_no_forecast(call: Call) -> None:
    """Days follow each other, and each summary names its basis."""
    weather = call("travel.lookup_weather", {"city": "kyoto", "start": "2027-07-20", "days": 2}).data

    assert (weather["city"], weather["tz"]) == ("Kyoto", "Asia/Tokyo")
    assert [day["date"] for day in weather["days"]] == ["2027-07-20", "2027-07-21"]
    assert all("climate normals, not a forecast" in day["summary"] for day in weather["days"])
    assert weather["days"][0]["summary"].startswith("Hot")
    assert 20 < weather["days"][0]["t_min_c"] < weather["days"][0]["t_max_c"] < 35
    assert 0 <= weather["days"][0]["precipitation_pct"] <= 100


@pytest.mark.parametrize(("day", "low"), [("2027-01-16", -3), ("2027-07-16", 21)])
def test_the_middle_of_a_month_has_its_normal(day: str, low: float, call: Call) -> None:
    """Between the middles of two months the normals are interpolated. In the middle they are unchanged."""
    weather = call("travel.lookup_weather", {"city": "New York", "start": day, "days": 1}).data

    assert weather["days"][0]["t_min_c"] == pytest.approx(low, abs=0.2)


def test_weather_begins_tomorrow_in_the_city(call: Call) -> None:
    """Late in the evening of the 18th in New York it is the 19th in Tokyo."""
    with time_machine.travel(datetime(2026, 11, 19, 3, 0, tzinfo=ZoneInfo("UTC")), tick=False):
        tokyo = call("travel.lookup_weather", {"city": "Tokyo"}).data
        new_york = call("travel.lookup_weather", {"city": "New York"}).data

    assert tokyo["days"][0]["date"] == "2026-11-20"
    assert new_york["days"][0]["date"] == "2026-11-19"
    assert len(tokyo["days"]) == 3


@pytest.mark.parametrize("day", ["2027-01-01", "2027-12-31", "2028-02-29", "2028-12-31", "0001-01-01"])
def test_every_day_of_the_year_has_weather(day: str, call: Call) -> None:
    """The turn of the year and leap days are ordinary days."""
    assert call("travel.lookup_weather", {"city": "Berlin", "start": day, "days": 1}).ok


def test_hotels_are_marked_as_demo_data(call: Call) -> None:
    """The source of each says so. More stars come first."""
    results = call("travel.search_hotels", {"city": "Kyoto", "nights": 2, "check_in": "2027-04-01"}).data["results"]

    assert [hotel["stars"] for hotel in results] == sorted((hotel["stars"] for hotel in results), reverse=True)
    assert all("demo data" in hotel["source"] for hotel in results)
    assert {hotel["currency"] for hotel in results} == {"JPY"}


def test_a_budget_leaves_out_what_costs_more(call: Call) -> None:
    """The budget is for one night, in the city's currency. The result may be empty."""
    some = call("travel.search_hotels", {"city": "Berlin", "nights": 2, "budget": 100}).data["results"]
    none = call("travel.search_hotels", {"city": "Berlin", "nights": 2, "budget": 1}).data["results"]

    assert [hotel["price_per_night"] for hotel in some] == [98, 54]
    assert none == []


def test_hotels_become_a_table(call: Call) -> None:
    """The artifact has a row for each hotel and calls itself demo data."""
    tool = load_registry(["travel"]).get("travel.search_hotels")
    found = tool.output.model_validate(call("travel.search_hotels", {"city": "Rome", "nights": 1}).data)
    assert tool.artifact

    table = tool.artifact(found)

    assert isinstance(table, TableArtifact)
    assert "demo" in table.title
    assert len(table.data.rows) == 4
    assert all(len(row) == len(table.data.columns) for row in table.data.rows)


def gather(call: Call, city: str, days: int, limit: int) -> dict[str, Any]:
    return {
        "attractions": call("travel.search_attractions", {"city": city, "limit": limit}).data,
        "weather": call("travel.lookup_weather", {"city": city, "start": "2027-04-01", "days": days}).data,
        "hotels": call("travel.search_hotels", {"city": city, "nights": days}).data,
    }


def test_a_trip_has_everything(call: Call) -> None:
    """Two days in Kyoto have six sights in six slots, dates and weather of each day, a stay, and its source."""
    found = gather(call, "Kyoto", 2, 6)

    trip = call("travel.format_itinerary", {"city": "Kyoto", "days": 2, **found}).data

    slots = [day[part] for day in trip["days"] for part in ("morning", "afternoon", "evening")]
    assert [day["date"] for day in trip["days"]] == ["2027-04-01", "2027-04-02"]
    assert sorted(slots) == sorted(f"{place['name']} ({place['kind']})" for place in found["attractions"]["results"])
    assert all("climate normals" in day["weather"] for day in trip["days"])
    assert trip["stay"] == "Arashi Garden Ryokan, Arashiyama, 5 stars, 46000 JPY per night"
    assert trip["notes"] == ["Arashi Garden Ryokan: demo data, an invented hotel at an invented price."]


def test_lists_and_whole_results_mean_the_same(call: Call) -> None:
    """A plan may refer to a tool's result or to the list inside it."""
    found = gather(call, "Rome", 2, 5)
    lists = {
        "attractions": found["attractions"]["results"],
        "weather": found["weather"]["days"],
        "hotels": found["hotels"]["results"],
    }

    whole = call("travel.format_itinerary", {"city": "Rome", "days": 2, **found})
    parts = call("travel.format_itinerary", {"city": "Rome", "days": 2, **lists})

    assert whole.ok
    assert whole == parts


def test_neighbours_are_visited_together(call: Call) -> None:
    """If three places are in the east and one is in the west, that one comes last."""
    places = [
        {"name": name, "kind": "place", "lat": 10.0, "lon": lon, "summary": "", "source": "test"}
        for name, lon in (("east", 10.3), ("west", 10.0), ("east too", 10.31), ("further east", 10.35))
    ]

    trip = call("travel.format_itinerary", {"city": "Somewhere", "days": 2, "attractions": places}).data

    first, second = trip["days"]
    assert (first["morning"], first["afternoon"]) == ("east (place)", "east too (place)")
    assert (second["morning"], second["afternoon"]) == ("further east (place)", "west (place)")


@pytest.mark.parametrize("empty", [None, []])
def test_what_is_missing_is_noted(empty: Any, call: Call) -> None:
    """A trip without sights still has its days, and says what is missing."""
    args = {"city": "Nowhere", "days": 2, "attractions": empty, "weather": empty, "hotels": empty}

    trip = call("travel.format_itinerary", args).data

    nothing = {"date": None, "morning": None, "afternoon": None, "evening": None, "weather": None}
    assert trip["days"] == [nothing, nothing]
    assert trip["stay"] is None
    assert [word for word in ("attractions", "weather", "hotel") for note in trip["notes"] if word in note] == [
        "attractions",
        "weather",
        "hotel",
    ]


def test_a_trip_may_be_longer_than_its_weather(call: Call) -> None:
    """Dates go on after the last known day. The notes say where weather and sights end."""
    found = gather(call, "Lisbon", 1, 2)

    trip = call("travel.format_itinerary", {"city": "Lisbon", "days": 3, **found}).data

    assert [day["date"] for day in trip["days"]] == ["2027-04-01", "2027-04-02", "2027-04-03"]
    assert [day["weather"] is None for day in trip["days"]] == [False, True, True]
    assert any("first 1 of 3 days" in note for note in trip["notes"])
    assert any("more days than attractions" in note for note in trip["notes"])


def test_many_sights_share_a_slot(call: Call) -> None:
    """No requested sight is dropped."""
    found = gather(call, "Tokyo", 1, 10)

    trip = call("travel.format_itinerary", {"city": "Tokyo", "days": 1, **found}).data

    text = " ".join(str(part) for part in trip["days"][0].values())
    assert all(place["name"] in text for place in found["attractions"]["results"])
    assert trip["days"][0]["morning"].count(", then ") == 3


def test_a_trip_becomes_an_artifact(call: Call) -> None:
    """The formatter's result is the plan's output, and an itinerary in the reply."""
    tool = load_registry(["travel"]).get("travel.format_itinerary")
    trip = call("travel.format_itinerary", {"city": "Rome", "days": 1, "attractions": []}).data
    assert tool.artifact

    artifact = tool.artifact(tool.output.model_validate(trip))

    assert tool.formatter
    assert isinstance(artifact, ItineraryArtifact)
    assert artifact.title == "Itinerary"

"""Test what the hotel pack's tools take and return."""

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.tools.conftest import TENANT
from tests.tools.packs.hotel.conftest import CHOICES, FAMILY, STAY, SUITE, data, demo_catalogue, take_the_suite
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.languages.catalogues import load_languages
from turnloom.tools.registry import load_registry

pytestmark = pytest.mark.usefixtures("demo_hotel")

Call = Callable[..., Envelope]


def test_room_types_tell_beds_boards_and_amenities(call: Call) -> None:
    """The hotel's name may be left out if there is only one."""
    rooms = data(call("pms.get_room_types", {"hotel_id": "demo"}))["room_types"]

    sea = next(room for room in rooms if room["code"] == "SEA")
    assert rooms == data(call("pms.get_room_types", {}))["room_types"]
    assert [room["code"] for room in rooms] == ["ACC", "FAM", "SEA", "STD", "SUI", "TWN"]
    assert (sea["name"], sea["beds"], sea["sleeps"]) == ("Sea View Double", [{"kind": "double", "count": 1}], 3)
    assert {"sea_view", "balcony"} <= set(sea["amenities"])
    assert sea["board_options"] == ["RO", "BB", "HB"]


def test_availability_is_sorted_and_says_what_it_is_about(call: Call) -> None:
    """The lowest price comes first, then refundable options. Money is a number, and the stay is repeated."""
    found = data(call("pms.get_availability", {"hotel_id": "demo", **FAMILY, "babies": 1}))

    options = found["options"]
    assert {key: found[key] for key in ("check_in", "check_out", "nights", "adults", "children", "babies")} == {
        **FAMILY,
        "nights": 2,
        "babies": 1,
    }
    assert options == sorted(options, key=lambda option: (option["price_total"], not option["cancellable"]))
    assert options[0] == {
        "room_type_code": "STD",
        "room_name": "Classic Double",
        "board_code": "RO",
        "rate_code": "ILS-NR",
        "price_total": 900,
        "currency": "ILS",
        "cancellable": False,
        "quota": 12,
    }
    assert {option["room_type_code"] for option in options} == {"STD", "SEA", "FAM", "SUI"}
    assert {option["currency"] for option in options} == {"ILS"}
    assert (found["sold_out"], found["longer_stays"], found["over_budget"], found["budget"]) == ([], [], 0, None)


@pytest.mark.parametrize(
    ("args", "rooms", "boards", "rates"),
    [
        ({"room_type_filter": "SEA"}, {"SEA"}, {"RO", "BB", "HB"}, {"ILS", "ILS-NR"}),
        ({"room_type_filter": "sea view double"}, {"SEA"}, None, None),
        ({"room_type_filter": "double bed with a sea view"}, {"SEA", "SUI"}, None, None),
        ({"room_type_filter": "wheelchair access"}, {"ACC"}, {"RO", "BB"}, None),
        ({"room_type_filter": "two beds"}, {"TWN"}, None, None),
        ({"room_type_filter": "נוף לים"}, {"SEA", "SUI"}, None, None),
        ({"board_filter": "HB"}, None, {"HB"}, None),
        ({"board_filter": "breakfast"}, None, {"BB"}, None),
        ({"board_filter": "Breakfast and dinner"}, None, {"HB"}, None),
        ({"rate_code": "USD"}, None, None, {"USD"}),
        ({"rate_code": "ILS-NR"}, None, None, {"ILS-NR"}),
        ({"adults": 3}, {"STD", "SEA", "FAM", "SUI"}, None, None),
        ({"adults": 3, "children": 1}, {"FAM", "SUI"}, None, None),
        ({"adults": 3, "children": 1, "babies": 2}, {"FAM", "SUI"}, None, None),
        ({"adults": 6}, set(), set(), set()),
        ({"budget": {"amount": 900, "currency": "ILS"}}, {"STD", "TWN", "ACC"}, {"RO"}, {"ILS", "ILS-NR"}),
        ({"budget": {"amount": 240, "currency": "USD"}}, None, None, {"USD"}),
    ],
)
def test_filters_choose(
    call: Call, args: dict[str, Any], rooms: set[str] | None, boards: set[str] | None, rates: set[str] | None
) -> None:
    """Filters work by code, by name or by common words, by guests, and by budget in its own currency."""
    options = data(call("pms.get_availability", {**STAY, **args}))["options"]

    seen = {key: {option[f"{key}_code"] for option in options} for key in ("room_type", "board", "rate")}
    for key, expected in (("room_type", rooms), ("board", boards), ("rate", rates)):
        assert expected is None or seen[key] == expected


@pytest.mark.parametrize(("operator", "most"), [("<=", 860), ("~", 946)])
def test_a_budget_leaves_out_what_costs_more_and_counts_it(call: Call, operator: str, most: int) -> None:
    """The operator `~` lets through up to a tenth more."""
    budget = {"amount": 860, "currency": "ILS", "operator": operator}

    everything = data(call("pms.get_availability", STAY))["options"]
    found = data(call("pms.get_availability", {**STAY, "budget": budget}))

    assert found["options"] == [option for option in everything if option["price_total"] <= most]
    assert 0 < found["over_budget"] == len(everything) - len(found["options"])
    assert found["budget"] == budget


def test_a_room_that_is_taken_is_not_offered_but_named(call: Call) -> None:
    """One night without a room is enough."""
    take_the_suite()

    found = data(call("pms.get_availability", {**STAY, "room_type_filter": "suite"}))

    assert (found["options"], found["sold_out"]) == ([], ["Sea Suite"])


def test_a_link_is_signed_and_ends(call: Call) -> None:
    """The secret verifies every word of it. The price is today's."""
    made = data(call("pms.generate_booking_link", {**SUITE, "children": 1, "babies": 1}))

    base, _, query = made["url"].partition("?")
    signed, _, signature = query.rpartition("&signature=")
    values = {name: value for name, (value,) in parse_qs(signed).items()}
    assert base == "https://book.demo-hotel.example/stay"
    assert signature == hmac.new(b"s3cret", signed.encode(), hashlib.sha256).hexdigest()
    assert values["price"] == f"{made['option']['price_total']:.2f}" == "2270.00"
    assert values["expires"] == made["expires_at"]
    assert made["held"] is True
    assert str(TENANT) not in made["url"]
    assert values["tenant"] == hmac.new(b"s3cret", f"tenant {TENANT}".encode(), hashlib.sha256).hexdigest()[:32]
    assert {name: values[name] for name in ("hotel", "check_in", "children", "room_type", "board", "rate")} == {
        "hotel": "demo",
        "check_in": "2027-05-03",
        "children": "1",
        "room_type": "SUI",
        "board": "BB",
        "rate": "ILS",
    }


def test_a_link_is_for_breakfast_in_dollars_unless_told_otherwise(call: Call) -> None:
    """These are the defaults of board and rate."""
    option = data(call("pms.generate_booking_link", {**STAY, "room_type_code": "STD"}))["option"]

    assert (option["board_code"], option["rate_code"], option["currency"]) == ("BB", "USD", "USD")


def test_a_comparison_shows_options_in_the_order_asked_for(call: Call) -> None:
    """Options have the rooms' beds and amenities, at a new price. Availability's own options are accepted."""
    options = data(call("pms.get_availability", STAY))["options"]

    found = data(call("pms.compare_options", {**STAY, "choices": CHOICES, "criteria": ["price", "beds"]}))
    again = data(call("pms.compare_options", {**STAY, "choices": options[:3]}))

    first, second = found["options"]
    assert (first["price_total"], second["price_total"]) == (880, 1170)
    assert (first["cancellable"], second["cancellable"]) == (True, False)
    assert "sea_view" in set(second["amenities"]) - set(first["amenities"])
    assert found["criteria"] == ["price", "beds"]
    assert [option["price_total"] for option in again["options"]] == [option["price_total"] for option in options[:3]]
    assert len(again["criteria"]) == 6


@pytest.mark.parametrize(
    ("topic", "topics", "answered", "rooms"),
    [
        ("sea view", ["sea view"], ["sea_view"], ["Sea View Double", "Sea Suite"]),
        (
            "a double bed",
            ["double bed"],
            [],
            ["Accessible Double", "Family Room", "Sea View Double", "Classic Double", "Sea Suite"],
        ),
        ("sea view and a bathtub", ["sea view", "bathtub"], ["sea_view"], ["Sea Suite"]),
        ("dogs", ["pet"], ["pets"], []),
        ("cancellation", ["cancellation"], ["cancellation"], []),
        ("the meaning of life", [], [], []),
    ],
)
def test_a_topic_is_answered_by_the_hotel_and_its_rooms(
    call: Call, topic: str, topics: list[str], answered: list[str], rooms: list[str]
) -> None:
    """The answer has the hotel's text about the topic, and the rooms that have it."""
    found = data(call("faq.get_rooms_and_pricing", {"topic": topic}))

    assert found["topics"] == topics
    assert [answer["topic"] for answer in found["answers"]] == answered
    assert found["rooms"] == rooms


def test_without_a_topic_everything_is_answered(call: Call) -> None:
    """The answer is the whole list of the hotel's file."""
    assert len(data(call("faq.get_rooms_and_pricing", {}))["answers"]) == 15


def test_answers_are_in_the_language_of_the_locale(call: Call) -> None:
    """A language that the hotel has not written gets the hotel's own words."""
    said = {
        locale: data(call("faq.get_rooms_and_pricing", {"topic": "parking"}, user={"locale": locale}))["answers"][0]
        for locale in ("en", "de-AT", "HE_il", "nl")
    }

    assert {locale: answer["answer"] for locale, answer in said.items()} == {
        "en": "Guests park free of charge behind the house.",
        "de-AT": "Gäste parken kostenlos hinter dem Haus.",
        "HE_il": "האורחים חונים בחינם מאחורי הבית.",
        "nl": "Guests park free of charge behind the house.",
    }
    assert [answer["translations"] for answer in said.values()] == [{}] * 4


def test_without_a_locale_answers_come_in_all_languages(call: Call) -> None:
    """The reply chooses, because it knows the language of the message."""
    answer = data(call("faq.get_rooms_and_pricing", {"topic": "pets"}))["answers"][0]

    assert answer["answer"].startswith("Pets cannot stay with us")
    assert answer["translations"]["fr"].startswith("Nous ne pouvons pas accueillir")


def test_the_demo_hotel_speaks_every_language_of_replies() -> None:
    """Each answer has a translation into each. The figures are the same, unless English writes one as a word."""
    languages = load_languages(ROOT / "prompts" / "languages").catalogues
    answers = demo_catalogue().hotel["faq"]
    figured = [answer for answer in answers if not re.search(r"\b(three|April)\b", answer["answer"])]
    written = {tag for tag, catalogue in languages.items() if catalogue.messages} - {"en"}

    assert [answer["topic"] for answer in answers if answer["translations"].keys() != written] == []
    assert [
        (answer["topic"], tag)
        for answer in figured
        for tag, text in answer["translations"].items()
        if sorted(re.findall(r"\d+", text)) != sorted(re.findall(r"\d+", answer["answer"]))
    ] == []


def test_artifacts_show_the_best_two_first(call: Call) -> None:
    """The table says how many rows to show at once. Without rows there is no table."""
    tools = load_registry(["hotel"])

    def artifact(tool: str, args: dict[str, Any]) -> Any:
        declared = tools.get(tool)
        assert declared.artifact
        return declared.artifact(declared.output.model_validate(data(call(tool, args))))

    table = artifact("pms.get_availability", FAMILY)
    nothing = artifact("pms.get_availability", {**STAY, "adults": 6})
    link = artifact("pms.generate_booking_link", SUITE)
    comparison = artifact("pms.compare_options", {**STAY, "choices": CHOICES})
    rooms = artifact("pms.get_room_types", {})

    assert (table.data.preview, table.data.rows[0][:4]) == (2, ["Classic Double", "room only", 900, "ILS"])
    assert nothing is None
    assert link.data.expires_at.endswith("Z")
    assert comparison.data.options[1]["name"] == "Sea View Double"
    assert comparison.data.options[1]["price"] == "1170 ILS"
    assert len(rooms.data.rows) == 6

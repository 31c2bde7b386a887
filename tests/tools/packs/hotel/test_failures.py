"""Test how the hotel pack's tools fail, and what they ask."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tools.conftest import TENANT
from tests.tools.packs.hotel.conftest import CHOICES, STAY, SUITE, data, take_the_suite
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.planner.prompts import shipped
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.samples import DEMO
from turnloom.tools.packs.hotel.store import inventory

pytestmark = pytest.mark.usefixtures("demo_hotel")

Call = Callable[..., Envelope]


@pytest.mark.parametrize(
    ("tool", "args", "code", "words"),
    [
        ("pms.get_room_types", {"hotel_id": "ritz"}, "NOT_FOUND", "'ritz'; there are: demo"),
        ("faq.get_rooms_and_pricing", {"hotel_id": "ritz"}, "NOT_FOUND", "ritz"),
        ("pms.get_availability", {**STAY, "hotel_id": "ritz"}, "NOT_FOUND", "ritz"),
        ("pms.get_availability", {**STAY, "rate_code": "GBP"}, "NOT_FOUND", "ILS, ILS-NR, USD"),
        ("pms.get_availability", {"check_in": "2026-11-19", "check_out": "2026-11-21"}, "VALIDATION_ERROR", "past"),
        ("pms.get_availability", {"check_in": "2027-05-05", "check_out": "2027-05-05"}, "VALIDATION_ERROR", "after"),
        ("pms.get_availability", {"check_in": "2027-05-05", "check_out": "2027-05-01"}, "VALIDATION_ERROR", "after"),
        ("pms.get_availability", {"check_in": "2027-05-01", "check_out": "2027-06-01"}, "VALIDATION_ERROR", "30"),
        ("pms.get_availability", {**STAY, "room_type_filter": "dungeon"}, "VALIDATION_ERROR", "sea_view"),
        ("pms.get_availability", {**STAY, "board_filter": "beer"}, "VALIDATION_ERROR", "RO, BB, HB, FB"),
        (
            "pms.compare_options",
            {**STAY, "choices": [CHOICES[0], {**CHOICES[1], "board_code": "FB"}]},
            "NOT_FOUND",
            "FB",
        ),
        (
            "pms.compare_options",
            {"check_in": "2026-11-19", "check_out": "2026-11-21", "choices": CHOICES},
            "VALIDATION_ERROR",
            "past",
        ),
        ("pms.generate_booking_link", {**SUITE, "room_type_code": "XXL"}, "NOT_FOUND", "XXL"),
        ("pms.generate_booking_link", {**SUITE, "rate_code": "GBP"}, "NOT_FOUND", "GBP"),
        ("pms.generate_booking_link", {**SUITE, "adults": 5}, "VALIDATION_ERROR", "sleeps 4"),
        (
            "pms.generate_booking_link",
            {**SUITE, "check_in": "2027-08-01", "check_out": "2027-08-02"},
            "CONFLICT",
            "sold out",
        ),
    ],
)
def test_each_failure_has_its_code(call: Call, tool: str, args: dict[str, Any], code: str, words: str) -> None:
    """The message names the missing or wrong thing. Data that is refused has a cause that replies have words for."""
    envelope = call(tool, args)

    assert envelope.error
    assert (envelope.error.code, words in envelope.error.message) == (code, True), envelope.error
    cause = envelope.error.cause
    assert (cause is not None) == (code == "VALIDATION_ERROR")
    assert cause is None or f'"{cause["kind"]}":' in shipped().get("fragments/problems").text


def test_a_room_taken_meanwhile_is_a_conflict(call: Call) -> None:
    """The link prices the stay again, whatever an earlier availability said."""
    take_the_suite()

    envelope = call("pms.generate_booking_link", SUITE)

    assert envelope.error
    assert envelope.error.code == "CONFLICT"


def test_without_a_secret_no_link_is_made(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure names the setting."""
    monkeypatch.delenv("TURNLOOM_LINK_SECRET")
    settings.cache_clear()

    envelope = call("pms.generate_booking_link", SUITE)

    assert envelope.error
    assert envelope.error.code == "CONNECTION_INACTIVE"
    assert "TURNLOOM_LINK_SECRET" in envelope.error.message


@pytest.mark.parametrize("tool", ["pms.get_availability", "pms.compare_options", "pms.generate_booking_link"])
def test_missing_dates_are_asked_for(call: Call, tool: str) -> None:
    """The question has two answers in words that `dates.resolve_hint` understands. A departure has two as well."""
    more = {"pms.compare_options": {"choices": CHOICES}, "pms.generate_booking_link": {"room_type_code": "SEA"}}

    dates = call(tool, more.get(tool, {})).needs
    departure = call(tool, {"check_in": "2027-05-03", **more.get(tool, {})}).needs

    assert dates == {"dates": ["Fri 20 Nov 2026 to Sat 21 Nov 2026", "Sat 21 Nov 2026 to Sun 22 Nov 2026"]}
    assert departure == {"check_out": ["2027-05-04", "2027-05-05"]}
    for words in dates["dates"]:
        assert data(call("dates.resolve_hint", {"hint": words}))["alternatives"] == []


def test_a_currency_without_rates_is_asked_back(call: Call) -> None:
    """Nothing is converted at an invented rate."""
    needs = call("pms.get_availability", {**STAY, "budget": {"amount": 100, "currency": "EUR"}}).needs

    assert needs == {"currency": ["ILS", "USD"]}


def test_of_several_hotels_one_must_be_named(call: Call, tmp_path: Path) -> None:
    """A tenant with two hotels is asked which one."""
    for name in ("north", "south"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(DEMO.read_text("utf-8").replace("id: demo", f"id: {name}"))
        with transaction() as db:
            inventory.load(db, TENANT, read_catalogue(file))

    assert call("pms.get_room_types", {}).needs == {"hotel_id": ["north", "south"]}
    assert call("pms.get_room_types", {"hotel_id": "south"}).ok
    assert call("pms.get_room_types", {"hotel_id": "demo"}).error
    assert call("pms.get_room_types", {"hotel_id": "demo"}, tenant_id=new_id()).ok


@pytest.mark.parametrize(
    ("tool", "args", "fault"),
    [
        ("pms.get_room_types", {"hotel": "demo"}, "hotel"),
        ("pms.get_availability", {**STAY, "check_in": "someday"}, "check_in"),
        ("pms.get_availability", {**STAY, "adults": 0}, "adults"),
        ("pms.get_availability", {**STAY, "children": -1}, "children"),
        ("pms.get_availability", {**STAY, "babies": "two"}, "babies"),
        ("pms.get_availability", {**STAY, "room_type_filter": ""}, "room_type_filter"),
        ("pms.get_availability", {**STAY, "budget": {"amount": 0, "currency": "ILS"}}, "budget"),
        ("pms.get_availability", {**STAY, "budget": {"amount": 9, "currency": "GBP"}}, "budget"),
        ("pms.get_availability", {**STAY, "budget": {"amount": 9, "currency": "ILS", "operator": ">"}}, "budget"),
        ("pms.compare_options", {**STAY, "choices": CHOICES[:1]}, "choices"),
        ("pms.compare_options", {**STAY, "choices": CHOICES, "criteria": ["smell"]}, "criteria"),
        ("pms.generate_booking_link", STAY, "room_type_code"),
        ("faq.get_rooms_and_pricing", {"topic": ""}, "topic"),
    ],
)
def test_bad_arguments_are_named(call: Call, tool: str, args: dict[str, Any], fault: str) -> None:
    """Every invalid field is BAD_ARGS and named."""
    envelope = call(tool, args)

    assert envelope.error
    assert envelope.error.code == "BAD_ARGS"
    assert fault in envelope.error.message

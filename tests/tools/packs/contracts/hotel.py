"""The contract of the hotel pack, over the demo hotel."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import time_machine

from tests.tools.conftest import TENANT
from tests.tools.packs.contracts.cases import Asks, Case, Contract, Fails, Valid, World
from tests.tools.packs.hotel.conftest import demo_catalogue, take_the_suite
from tests.tools.packs.hotel.minihotel_server import gordon_house
from turnloom.models.connections.database import transaction
from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.samples import DEMO
from turnloom.tools.packs.hotel.store import inventory

STAY = {"check_in": "2027-05-03", "check_out": "2027-05-05"}
PAST = {"check_in": "2026-11-19", "check_out": "2026-11-21"}
SOLD_OUT = {"check_in": "2027-08-01", "check_out": "2027-08-02"}
SUITE = {**STAY, "room_type_code": "SUI", "rate_code": "ILS", "board_code": "BB"}
STANDARD = {"room_type_code": "STD", "board_code": "RO", "rate_code": "ILS"}
SEA = {"room_type_code": "SEA", "board_code": "BB", "rate_code": "ILS-NR"}
COMPARED = {**STAY, "choices": [STANDARD, SEA]}
WEEKEND = ["Fri 20 Nov 2026 to Sat 21 Nov 2026", "Sat 21 Nov 2026 to Sun 22 Nov 2026"]


@contextmanager
def world() -> Iterator[None]:
    """Set up the demo hotel on a Friday in November, with a secret to sign links."""
    with transaction() as db:
        inventory.load(db, None, demo_catalogue())
    friday = time_machine.travel(datetime(2026, 11, 20, 9, tzinfo=UTC), tick=True)
    with changed_setting("TURNLOOM_LINK_SECRET", "s3cret"), friday:
        yield


@contextmanager
def changed_setting(name: str, value: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(name, value)
        settings.cache_clear()
        yield
    settings.cache_clear()


@contextmanager
def no_secret() -> Iterator[None]:
    with changed_setting("TURNLOOM_LINK_SECRET", ""):
        yield


@contextmanager
def two_hotels() -> Iterator[None]:
    with TemporaryDirectory() as folder, transaction() as db:
        for name in ("north", "south"):
            file = Path(folder, f"{name}.yaml")
            file.write_text(DEMO.read_text("utf-8").replace("id: demo", f"id: {name}"), "utf-8")
            inventory.load(db, TENANT, read_catalogue(file))
    yield


@contextmanager
def hotel_that_wants_the_guest() -> Iterator[None]:
    with TemporaryDirectory() as folder, transaction() as db:
        file = Path(folder, "demo.yaml")
        file.write_text(f"{DEMO.read_text('utf-8')}\nlink_needs: [name, phone]\n", "utf-8")
        inventory.load(db, TENANT, read_catalogue(file))
    yield


@contextmanager
def suite_taken() -> Iterator[None]:
    take_the_suite()
    yield


def answering(answer: bytes) -> World:
    """Make a world in which the tenant's hotel is on MiniHotel, which gives only this answer."""

    @contextmanager
    def world() -> Iterator[None]:
        with gordon_house() as server:
            server.answers += [answer] * 3
            yield

    return world


def of_any_system(args: dict[str, Any]) -> list[Case]:
    """Return the failures of every tool that asks a hotel's own system."""
    return [
        Fails(args, "CONNECTION_INACTIVE", "109", given=answering(b"ERR 109")),
        Fails(args, "UNAUTHORIZED", "863", given=answering(b"ERR 863")),
        Fails(args, "RATE_LIMITED", "209", given=answering(b"ERR 209")),
        Fails(args, "UPSTREAM_4XX", "501", given=answering(b"ERR 501")),
        Fails(args, "UPSTREAM_5XX", "not plain XML", given=answering(b"<AvailRaters")),
    ]


def of_any_hotel(args: dict[str, Any]) -> list[Case]:
    """Return the cases about hotels that every tool of the pack has."""
    return [
        Fails({**args, "hotel_id": "ritz"}, "NOT_FOUND", "there are: demo"),
        Asks(args, {"hotel_id": ["north", "south"]}, given=two_hotels),
    ]


def of_any_stay(args: dict[str, Any]) -> list[Case]:
    """Return the cases about dates that every tool with a stay has."""
    undated = {name: value for name, value in args.items() if name not in STAY}
    return [
        *of_any_hotel(args),
        *of_any_system(args),
        Fails({**args, **PAST}, "VALIDATION_ERROR", "past"),
        Fails({**args, "check_out": "2027-05-03"}, "VALIDATION_ERROR", "not after"),
        Asks(undated, {"dates": WEEKEND}),
        Asks({**undated, "check_in": "2027-05-03"}, {"check_out": ["2027-05-04", "2027-05-05"]}),
    ]


CONTRACT: Contract = {
    "pms.get_room_types": [Valid({}, gives={"room_types": [...] * 6}), *of_any_hotel({}), *of_any_system({})],
    "faq.get_rooms_and_pricing": [
        Valid({}, gives={"topics": [], "rooms": []}),
        Valid({"topic": "sea view"}, gives={"topics": ["sea view"], "rooms": ...}),
        *of_any_hotel({}),
    ],
    "pms.get_availability": [
        Valid(STAY, gives={"nights": 2, "over_budget": 0, "sold_out": []}),
        Valid({**STAY, "budget": {"amount": 1, "currency": "ILS"}}, gives={"options": []}),
        Valid(SOLD_OUT, gives={"sold_out": ["Sea Suite"]}),
        Valid(STAY, gives={"sold_out": ["Sea Suite"]}, given=suite_taken),
        *of_any_stay(STAY),
        Fails({**STAY, "rate_code": "GBP"}, "NOT_FOUND", "ILS, ILS-NR, USD"),
        Fails({**STAY, "room_type_filter": "dungeon"}, "VALIDATION_ERROR", "sea_view"),
        Fails({**STAY, "board_filter": "beer"}, "VALIDATION_ERROR", "RO, BB, HB, FB"),
        Asks({**STAY, "budget": {"amount": 100, "currency": "EUR"}}, {"currency": ["ILS", "USD"]}),
    ],
    "pms.compare_options": [
        Valid(COMPARED, gives={"options": [{"room_type_code": "STD"}, {"room_type_code": "SEA"}]}),
        *of_any_stay(COMPARED),
        Fails({**STAY, "choices": [STANDARD, {**SEA, "board_code": "FB"}]}, "NOT_FOUND", "FB"),
    ],
    "pms.generate_booking_link": [
        Valid(SUITE, gives={"url": ..., "valid_minutes": 30, "held": True, "option": {"room_type_code": "SUI"}}),
        *of_any_stay(SUITE),
        Fails({**SUITE, "room_type_code": "XXL"}, "NOT_FOUND", "XXL"),
        Fails({**SUITE, "adults": 5}, "VALIDATION_ERROR", "sleeps 4"),
        Fails({**SUITE, **SOLD_OUT}, "CONFLICT", "sold out"),
        Fails(SUITE, "CONFLICT", "sold out", given=suite_taken),
        Fails(SUITE, "CONNECTION_INACTIVE", "TURNLOOM_LINK_SECRET", given=no_secret),
        Asks(SUITE, {"name": True, "phone": True}, given=hotel_that_wants_the_guest),
    ],
}

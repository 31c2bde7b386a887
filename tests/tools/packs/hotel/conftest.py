"""The demo hotel on a Friday in November, and stays to ask it for."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

import pytest
import time_machine

from tests.tools.conftest import TENANT
from tests.tools.packs.hotel.minihotel_server import MiniHotelServer, gordon_house
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.samples import DEMO
from turnloom.tools.packs.hotel.store import holds, inventory
from turnloom.tools.packs.hotel.store.holds import Hold
from turnloom.tools.packs.hotel.store.inventory import Guest, HotelCatalogue, StayRequest, TenantHotel

STAY = {"check_in": "2027-05-03", "check_out": "2027-05-05"}
FAMILY = {**STAY, "adults": 2, "children": 1}
SUITE = {**STAY, "room_type_code": "SUI", "rate_code": "ILS", "board_code": "BB"}
CHOICES = [
    {"room_type_code": "STD", "board_code": "RO", "rate_code": "ILS"},
    {"room_type_code": "SEA", "board_code": "BB", "rate_code": "ILS-NR"},
]


@pytest.fixture
def demo_hotel(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set up the demo hotel on that day, with a secret to sign links."""
    monkeypatch.setenv("TURNLOOM_LINK_SECRET", "s3cret")
    settings.cache_clear()
    with transaction() as db:
        inventory.load(db, None, demo_catalogue())
    with time_machine.travel(datetime(2026, 11, 20, 9, tzinfo=UTC), tick=True):
        yield


@pytest.fixture
def minihotel(demo_hotel: None) -> Iterator[MiniHotelServer]:
    """Put the tenant's only hotel on MiniHotel."""
    with gordon_house() as server:
        yield server


@cache
def demo_catalogue() -> HotelCatalogue:
    """Return the rows of the demo hotel. Reading its file takes as long as writing the rows."""
    return read_catalogue(DEMO)


def data(envelope: Envelope) -> Any:
    assert envelope.ok, envelope
    return envelope.data


def take_the_suite() -> None:
    """Let another guest hold the only suite for a night."""
    with transaction() as db:
        (hotel,) = inventory.hotels_of(db, TENANT)
    night = StayRequest(check_in=date(2027, 5, 4), check_out=date(2027, 5, 5), adults=2)
    assert take(hotel, "SUI", night, Guest(TENANT, "somebody else"))


def take(hotel: TenantHotel, room_type: str, stay: StayRequest, guest: Guest, key: str = "k") -> Hold | None:
    """Hold a room as `pms.generate_booking_link` does, at its lowest price."""
    with transaction() as db:
        quotes = inventory.quotes(db, guest, hotel, stay, ["ILS"])
    quote = next(quote for quote in quotes if quote.room_type == room_type)
    with transaction() as db:
        return holds.take(db, guest, hotel, stay, quote, key)

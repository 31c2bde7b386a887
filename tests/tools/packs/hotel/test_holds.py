"""A booking link holds a room for one conversation against others, for some time."""

import subprocess
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.conftest import TENANT
from tests.tools.packs.hotel.conftest import STAY, SUITE, data, take
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import ROOT
from turnloom.models.runtime.settings import settings as our_settings
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.samples import DEMO
from turnloom.tools.packs.hotel.store import inventory
from turnloom.tools.packs.hotel.store.inventory import Guest, StayRequest, TenantHotel
from turnloom.tools.registry import load_registry
from turnloom.tools.runner import reconcile

pytestmark = pytest.mark.usefixtures("demo_hotel")

Call = Callable[..., Envelope]

ME, YOU = Guest(TENANT, "c1"), Guest(TENANT, "c2")
MAY = date(2027, 5, 3)


@pytest.fixture
def demo() -> TenantHotel:
    with transaction() as db:
        (hotel,) = inventory.hotels_of(db, TENANT)
    return hotel


def stay(check_in: date = MAY, nights: int = 2) -> StayRequest:
    return StayRequest(check_in=check_in, check_out=check_in + timedelta(days=nights), adults=2)


def free(hotel: TenantHotel, room_type: str, wanted: StayRequest, guest: Guest) -> int:
    with transaction() as db:
        return inventory.free_rooms(db, guest, hotel, wanted, room_type)


def expire_all(database: str) -> None:
    with psycopg.connect(database) as db:
        db.execute("UPDATE hotel_holds SET expires_at = now()")


def holders(database: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database) as db:
        return db.execute("SELECT conversation_id, room_type, key FROM hotel_holds ORDER BY 1").fetchall()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wishes=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), max_size=14))
def test_no_night_is_held_more_often_than_there_are_rooms(demo: TenantHotel, wishes: list[tuple[int, int]]) -> None:
    """For any holds in any order, a stay has the free rooms of its fullest night, and never fewer than zero."""
    tenant_id, first = new_id(), date(2027, 7, 14)
    taken: dict[date, int] = {}
    for number, (offset, nights) in enumerate(wishes):
        guest, wanted = Guest(tenant_id, f"c{number}"), stay(first + timedelta(days=offset), nights)
        days = [wanted.check_in + timedelta(days=day) for day in range(nights)]
        left = min((2 if day >= date(2027, 7, 15) else 6) - taken.get(day, 0) for day in days)

        assert free(demo, "SEA", wanted, guest) == left
        assert (take(demo, "SEA", wanted, guest) is not None) == (left > 0)

        taken |= {day: taken.get(day, 0) + 1 for day in days} if left > 0 else {}


def test_the_last_room_has_one_hold(database: str, demo: TenantHotel, loaded_python: list[str]) -> None:
    """Fifty turns on four processes want the only suite at once, for overlapping nights. One gets it."""
    start = datetime.now(UTC).timestamp() + 0.1
    racers = [
        subprocess.Popen(
            [*loaded_python, "-m", "tests.tools.packs.hotel.racing", str(TENANT), str(number), "13", str(start)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    held = [line for racer in racers for line in racer.communicate(timeout=60)[0].splitlines()]

    assert [racer.returncode for racer in racers] == [0] * 4
    assert sorted(line.split()[0] for line in held) == ["held"] + ["sold-out"] * 51
    (winner,) = (line.split()[1] for line in held if line.startswith("held"))
    assert holders(database) == [(winner, "SUI", winner)]


def test_a_hold_that_has_expired_counts_for_nothing(database: str, demo: TenantHotel) -> None:
    """The room is free without a clean-up. The row is deleted with the next hold."""
    assert take(demo, "SUI", stay(), YOU)
    held = free(demo, "SUI", stay(), ME)
    expire_all(database)

    assert (held, free(demo, "SUI", stay(), ME)) == (0, 1)
    assert take(demo, "STD", stay(), ME)
    assert [row[0] for row in holders(database)] == ["c1"]


def test_a_held_room_is_free_for_its_own_conversation(demo: TenantHotel) -> None:
    """It still sees the room, and its link can be made again. Others do not see the room."""
    first = take(demo, "SUI", stay(), ME, "k1")
    again = take(demo, "SUI", stay(nights=3), ME, "k2")

    assert first is not None
    assert again is not None
    assert again.expires_at > first.expires_at
    assert (free(demo, "SUI", stay(), ME), free(demo, "SUI", stay(), YOU)) == (1, 0)


def test_another_room_lets_go_of_the_one_before(database: str, demo: TenantHotel) -> None:
    """A conversation holds one room of a hotel, not one for each link that it asked for."""
    assert take(demo, "SUI", stay(), ME)
    assert take(demo, "SEA", stay(), ME)

    assert free(demo, "SUI", stay(), YOU) == 1
    assert [row[:2] for row in holders(database)] == [("c1", "SEA")]


def test_a_refused_link_leaves_the_earlier_hold(database: str, demo: TenantHotel) -> None:
    """The room of the earlier link stays if the requested one is sold out."""
    assert take(demo, "SUI", stay(), YOU)
    assert take(demo, "SEA", stay(), ME)

    assert take(demo, "SUI", stay(), ME) is None
    assert [row[:2] for row in holders(database)] == [("c1", "SEA"), ("c2", "SUI")]


def test_a_room_that_one_tenant_holds_is_free_for_another(demo: TenantHotel) -> None:
    """Tenants share the catalogue of the demo hotel, but not their holds."""
    assert take(demo, "SUI", stay(), ME)

    assert free(demo, "SUI", stay(), Guest(new_id(), "c2")) == 1


def test_a_lost_call_is_found_by_its_key(database: str, call: Call, make_context: Callable[..., Any]) -> None:
    """Its worker died after the hold, so its link is returned. After the link has expired, a new one may be made."""
    tool = load_registry(["hotel"]).get("pms.generate_booking_link")
    made = data(call("pms.generate_booking_link", SUITE, idempotency_key="k1"))

    found = reconcile(tool, SUITE, make_context(idempotency_key="k1"))
    never_made = reconcile(tool, SUITE, make_context(idempotency_key="k2"))
    never_could = reconcile(tool, {**SUITE, "hotel_id": "ritz"}, make_context(idempotency_key="k1"))
    expire_all(database)

    assert found is not None
    assert data(found) == made
    assert (never_made, never_could) == (None, None)
    assert reconcile(tool, SUITE, make_context(idempotency_key="k1")) is None


def test_a_renewed_link_is_for_the_same_room(database: str, call: Call) -> None:
    """A conversation that asks twice for the only suite has one hold. Another one learns that it is sold out."""
    first, again = (data(call("pms.generate_booking_link", SUITE, idempotency_key=key)) for key in ("k1", "k2"))
    other = call("pms.generate_booking_link", SUITE, conversation_id="c2", idempotency_key="k3")
    elsewhere = data(call("pms.get_availability", {**STAY, "room_type_filter": "suite"}, conversation_id="c2"))

    assert again["option"] == first["option"]
    assert again["expires_at"] > first["expires_at"]
    assert other.error
    assert (other.error.code, "sold out" in other.error.message) == ("CONFLICT", True)
    assert (elsewhere["options"], elsewhere["sold_out"]) == ([], ["Sea Suite"])
    assert [row[0] for row in holders(database)] == ["c1"]


def test_without_a_secret_nothing_is_held(database: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that cannot be signed holds no room."""
    monkeypatch.delenv("TURNLOOM_LINK_SECRET")
    our_settings.cache_clear()

    assert call("pms.generate_booking_link", SUITE).error
    assert holders(database) == []


def test_a_hotel_may_want_to_know_who_books(call: Call, tmp_path: Path) -> None:
    """It makes no link and holds nothing until it has the name and the number that its file wants."""
    strict = tmp_path / "strict.yaml"
    strict.write_text(DEMO.read_text("utf-8") + "\nlink_needs: [name, phone]\n")
    with transaction() as db:
        inventory.load(db, None, read_catalogue(strict))

    asked = call("pms.generate_booking_link", SUITE)
    half = call("pms.generate_booking_link", {**SUITE, "name": "Ada Levi", "phone": " "})
    made = call("pms.generate_booking_link", {**SUITE, "name": "Ada Levi", "phone": "050 1234567"})

    assert (asked.needs, half.needs) == ({"name": True, "phone": True}, {"phone": True})
    assert data(made)["held"]

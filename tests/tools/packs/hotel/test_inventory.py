"""The inventory knows the price of a stay and the free rooms, and keeps both up to date."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.packs.hotel.conftest import demo_catalogue, take
from turnloom.models.connections.database import engine, transaction
from turnloom.models.errors import Invalid
from turnloom.models.runtime.ids import new_id
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.samples import DEMO
from turnloom.tools.packs.hotel.store import inventory
from turnloom.tools.packs.hotel.store.inventory import Guest, StayRequest, TenantHotel

TENANT, OTHER = new_id(), new_id()
GUEST = Guest(TENANT, "c1")
FILE = yaml.safe_load(DEMO.read_text("utf-8"))
WHOLE_YEAR = [date(2027, 1, 1) + timedelta(days=number) for number in range(730)]

starts = st.sampled_from(WHOLE_YEAR)
lengths = st.integers(1, 30)


@pytest.fixture
def demo(database: str) -> TenantHotel:
    """Return the demo hotel, loaded for everyone."""
    with transaction() as db:
        inventory.load(db, None, demo_catalogue())
    return hotel_of(TENANT)


def hotel_of(tenant_id: UUID) -> TenantHotel:
    with transaction() as db:
        (hotel,) = inventory.hotels_of(db, tenant_id)
    return hotel


def stay(check_in: date, nights: int = 1, adults: int = 2, children: int = 0) -> StayRequest:
    return StayRequest(check_in=check_in, check_out=check_in + timedelta(days=nights), adults=adults, children=children)


def free(hotel: TenantHotel, room_type: str, wanted: StayRequest) -> int:
    """Return how many rooms of a type are free."""
    with transaction() as db:
        found = inventory.quotes(db, GUEST, hotel, wanted, ["ILS"])
    return next(quote.free for quote in found if quote.room_type == room_type)


def season_of(day: date) -> str:
    """Return the season of a day, read from the file alone."""
    for season, parts in FILE["seasons"].items():
        for part in parts:
            first, last = part.split("/")
            inside = first <= f"{day:%m-%d}" <= last
            wraps = first > last and (f"{day:%m-%d}" >= first or f"{day:%m-%d}" <= last)
            if inside or wraps:
                return str(season)
    raise AssertionError(day)


def price_of_night(room: dict[str, Any], day: date, board: str, rate: str, wanted: StayRequest) -> Decimal:
    """Return the price of a night by the rules of docs/how-to/load-a-hotel.md, from the file alone."""
    adds, factor = FILE["boards"][board], Decimal(FILE["rates"][rate].get("factor", "1"))
    parts = [
        (room["prices"][season_of(day)] + 2 * adds["adult"], 1),
        (room["extra_adult"] + adds["adult"], max(0, wanted.adults - 2)),
        (room["child"] + adds["child"], wanted.children),
    ]
    each = ((Decimal(price) * factor).quantize(Decimal(1), "ROUND_HALF_UP") * count for price, count in parts)
    return sum(each, Decimal())


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(check_in=starts, nights=lengths, adults=st.integers(1, 5), children=st.integers(0, 4))
def test_a_price_is_the_sum_over_the_nights(
    demo: TenantHotel, check_in: date, nights: int, adults: int, children: int
) -> None:
    """It is exact to the cent for any party, and each night has its own season."""
    wanted = stay(check_in, nights, adults, children)

    with transaction() as db:
        found = inventory.quotes(db, GUEST, demo, wanted, list(demo.rates))

    rooms = {room["code"]: room for room in FILE["room_types"]}
    days = [check_in + timedelta(days=number) for number in range(nights)]
    assert len(found) == 17 * len(FILE["rates"])
    assert found == sorted(found, key=lambda quote: quote.price)
    for quote in found:
        each = (price_of_night(rooms[quote.room_type], day, quote.board, quote.rate_code, wanted) for day in days)
        assert quote.price == sum(each)


def test_a_hotel_of_its_own_hides_the_demo_hotel(demo: TenantHotel, tmp_path: Path) -> None:
    """A tenant that has loaded a hotel sees only its own. The others still see the demo hotel."""
    own = tmp_path / "own.yaml"
    own.write_text(DEMO.read_text("utf-8").replace("id: demo", "id: mine").replace("name: Demo Hotel", "name: Mine"))
    with transaction() as db:
        inventory.load(db, TENANT, read_catalogue(own))

    assert hotel_of(TENANT).name == "Mine"
    assert hotel_of(OTHER).name == "Demo Hotel"


def test_loading_again_changes_what_the_file_changes_and_nothing_else(demo: TenantHotel, tmp_path: Path) -> None:
    """The same file changes nothing. Another one replaces every row and leaves the holds."""
    assert take(demo, "SUI", stay(date(2027, 5, 3)), Guest(TENANT, "c2"))
    dearer = tmp_path / "dearer.yaml"
    dearer.write_text(DEMO.read_text("utf-8").replace("spring: 940", "spring: 999"))
    with transaction() as db:
        again = inventory.load(db, None, read_catalogue(DEMO))
    with transaction() as db:
        changed = inventory.load(db, None, read_catalogue(dearer))
        found = inventory.quotes(db, GUEST, demo, stay(date(2027, 5, 3)), ["ILS"])

    suite = next(quote for quote in found if (quote.room_type, quote.board) == ("SUI", "RO"))
    assert (again, changed) == (False, True)
    assert (suite.price, suite.free) == (Decimal(999), 0)
    assert len(found) == 17


def test_loads_at_the_same_time_wait_for_each_other(database: str) -> None:
    """Every process of a deployment may migrate at its start."""

    def load(_: int) -> bool:
        with transaction() as db:
            return inventory.load(db, None, read_catalogue(DEMO))

    engine()  # made before the threads, each of which would make its own
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(load, range(8))) == [False] * 7 + [True]


def test_the_demo_hotel_never_expires(demo: TenantHotel) -> None:
    """Each day of any year has a season, and rooms for families."""
    for check_in, _ in pairwise(WHOLE_YEAR[::29]):
        assert free(demo, "FAM", stay(check_in)) > 0
    assert free(demo, "STD", stay(date(2027, 12, 31))) == 0
    assert free(demo, "STD", stay(date(2028, 2, 29))) == 12


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return tmp_path / "broken.yaml"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("11-01/12-19", "11-02/12-19", "11-01 lies in 0 seasons"),
        ("09-15/10-31", "09-14/10-31", "09-14 lies in 2 seasons"),
        ("11-01/12-19", "11-31/12-19", "seasons"),
        ("code: TWN", "code: STD", "same code"),
        ("boards: [RO, BB]", "boards: [RO, XX]", "ACC"),
        ("winter: 380", "winter: -1", "greater than or equal"),
        ("winter: 380, ", "", "STD needs a price for each season"),
        ("room_types: [SUI]", "room_types: [XXL]", "unknown room types: XXL"),
        ("currency: ILS\nbooking", "currency: EUR\nbooking", "no rate is in the hotel's own currency EUR"),
        ("Asia/Jerusalem", "Asia/Nowhere", "IANA"),
        ("https://book", "javascript:book", "booking_url"),
        ("id: demo", "id: demo\nowner: me", "owner"),
        ("id: demo", "id: [", "broken.yaml"),
    ],
)
def test_a_file_that_describes_no_hotel_is_refused(broken: Path, old: str, new: str, fault: str) -> None:
    """The message names the fault."""
    text = DEMO.read_text("utf-8")
    assert old in text
    broken.write_text(text.replace(old, new, 1))

    with pytest.raises(Invalid, match=fault):
        read_catalogue(broken)

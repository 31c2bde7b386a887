"""The same tools serve hotels on MiniHotel, here against a server that speaks its XML."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.tools.packs.hotel.conftest import STAY, data
from tests.tools.packs.hotel.minihotel_server import CATALOGUE, MiniHotelServer
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.errors import Invalid
from turnloom.tools.packs.hotel.catalogue import read_catalogue

Call = Callable[..., Envelope]

LINK = {**STAY, "room_type_code": "DBL", "board_code": "RO", "rate_code": "ILS"}
AVAILABILITY = "pms.get_availability"


pytestmark = pytest.mark.usefixtures("minihotel")


def offers(found: Any) -> list[tuple[Any, ...]]:
    return [
        tuple(option[name] for name in ("room_type_code", "board_code", "rate_code", "price_total", "cancellable"))
        for option in found["options"]
    ]


def test_availability_is_what_minihotel_says(call: Call, minihotel: MiniHotelServer) -> None:
    """Prices are for the whole stay, refundable or not, in the rate's currency. Other rooms have a reason."""
    found = data(call(AVAILABILITY, {**STAY, "children": 1, "babies": 1}))

    assert offers(found) == [
        ("DBL", "RO", "ILS-NR", 648, False),
        ("DBL", "RO", "ILS", 720, True),
        ("DBL", "BB", "ILS", 800.5, True),
    ]
    assert {(option["room_name"], option["currency"], option["quota"]) for option in found["options"]} == {
        ("Garden Double", "ILS", 3)
    }
    assert found["sold_out"] == ["Twin"]
    assert found["longer_stays"] == [{"room_name": "Grand Suite", "nights": 3}]
    (asked,) = minihotel.asked
    assert [(part.tag, part.attrib) for part in asked.iter()] == [
        ("AvailRaterq", {}),
        ("Authentication", {"username": "ada & co", "password": "p<w", "MinimumNights": "YES"}),
        ("Hotel", {"id": "sandbox"}),
        ("DateRange", {"from": "2027-05-03", "to": "2027-05-05"}),
        ("Guests", {"adults": "2", "child": "1", "babies": "1"}),
        ("RoomTypes", {}),
        ("RoomType", {"id": "*ALL*"}),
        ("Prices", {"rateCode": "ILS"}),
        ("Price", {"boardCode": "*ALL*"}),
    ]
    assert minihotel.types == ["text/xml; charset=utf-8"]


def test_a_rate_names_the_currency(call: Call, minihotel: MiniHotelServer) -> None:
    """A budget in dollars uses the rate that the catalogue marks as dollars."""
    budget = {"amount": 700, "currency": "USD"}

    found = data(call(AVAILABILITY, {**STAY, "budget": budget, "check_out": "2027-05-07"}))

    assert offers(found) == [("DBL", "RO", "USD-NR", 648, False)]
    assert found["options"][0]["currency"] == "USD"
    assert found["over_budget"] == 4
    assert [prices.get("rateCode") for prices in minihotel.asked[0].iter("Prices")] == ["USD"]


@pytest.mark.parametrize(
    ("filters", "rooms"),
    [
        ({"room_type_filter": "sea view"}, {"DBL"}),
        ({"board_filter": "breakfast"}, {"DBL", "SUI"}),
        ({"room_type_filter": "grand suite"}, {"SUI"}),
        ({"adults": 4}, {"SUI"}),
        ({"rate_code": "ILS-NR"}, {"DBL", "SUI"}),
    ],
)
def test_filters_choose(call: Call, filters: dict[str, Any], rooms: set[str]) -> None:
    """The catalogue's words for a room count first, then MiniHotel's. The catalogue has the number of guests."""
    found = data(call(AVAILABILITY, {**STAY, "check_out": "2027-05-06", **filters}))

    assert {option["room_type_code"] for option in found["options"]} == rooms


@pytest.mark.parametrize("spelling", [str.lower, str.upper, str.title])
def test_names_are_read_in_any_case(call: Call, minihotel: MiniHotelServer, spelling: Callable[[str], str]) -> None:
    """MiniHotel itself mixes the case of elements and attributes."""
    minihotel.spelling = spelling

    assert len(data(call(AVAILABILITY, STAY))["options"]) == 3


def test_room_types_are_asked_for_at_the_lowest_price(call: Call, minihotel: MiniHotelServer) -> None:
    """All are returned, with the catalogue's additions. Unknown values are null or empty."""
    rooms = data(call("pms.get_room_types", {}))["room_types"]

    assert [room["code"] for room in rooms] == ["DBL", "SUI", "TWN"]
    assert rooms[0] == {
        "code": "DBL",
        "name": "Garden Double",
        "beds": [{"kind": "double", "count": 1}],
        "sleeps": 3,
        "board_options": ["RO"],
        "amenities": ["sea_view"],
    }
    assert (rooms[1]["name"], rooms[1]["sleeps"], rooms[1]["beds"]) == ("Grand Suite", None, [])
    assert [price.get("boardCode") for price in minihotel.asked[0].iter("Price")] == ["*MIN*"]


def test_options_are_compared(call: Call, minihotel: MiniHotelServer) -> None:
    """Both prices of a rate come with one question."""
    choices = [{"room_type_code": "DBL", "board_code": "RO", "rate_code": code} for code in ("ILS", "ILS-NR")]

    options = data(call("pms.compare_options", {**STAY, "choices": choices}))["options"]

    assert [(option["price_total"], option["cancellable"]) for option in options] == [(720, True), (648, False)]
    assert len(minihotel.asked) == 1


def test_a_link_leads_to_the_booking_page(call: Call) -> None:
    """The stay is filled in. The result says that no room is held."""
    made = data(call("pms.generate_booking_link", {**LINK, "children": 1, "babies": 2}, user={"locale": "he"}))

    base, _, query = made["url"].partition("?")
    assert base == "https://frame1.hotelpms.example/BookingFrameClient/hotel/4999DC/e2d8af9e/book/rooms"
    assert {name: value for name, (value,) in parse_qs(query).items()} == {
        "from": "20270503",
        "to": "20270505",
        "nAdults": "2",
        "nChilds": "1",
        "nBabies": "2",
        "roomType": "DBL",
        "currency": "ILS",
        "language": "he-IL",
    }
    assert (made["held"], made["valid_minutes"]) == (False, 30)
    assert made["expires_at"].startswith("2026-11-20T09:30:")


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"room_type_code": "TWN"}, "CONFLICT", "sold out"),
        ({"room_type_code": "SUI", "board_code": "BB"}, "VALIDATION_ERROR", "at least 3 nights"),
        ({"adults": 4}, "VALIDATION_ERROR", "sleeps 3"),
        ({"board_code": "HB"}, "NOT_FOUND", "HB"),
        ({"rate_code": "GBP"}, "NOT_FOUND", "GBP"),
        ({"room_type_code": "TWN", "rate_code": "ILS-NR"}, "NOT_FOUND", "ILS-NR"),
        ({"check_out": "2027-05-24"}, "VALIDATION_ERROR", "20"),
    ],
)
def test_a_link_to_what_cannot_be_booked_is_refused(call: Call, change: dict[str, Any], code: str, words: str) -> None:
    """MiniHotel's refusal comes before any link is made."""
    envelope = call("pms.generate_booking_link", {**LINK, **change})

    assert envelope.error
    assert (envelope.error.code, words in envelope.error.message) == (code, True), envelope.error


def test_questions_are_answered_without_minihotel(call: Call, minihotel: MiniHotelServer) -> None:
    """Questions and answers are in the catalogue."""
    found = data(call("faq.get_rooms_and_pricing", {"topic": "parking"}))

    assert found["answers"][0]["answer"] == "In the street."
    assert minihotel.asked == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("kind: minihotel", "kind: opera", "system.kind"),
        ('"URL"', '"ftp://x/gds"', "system.url"),
        ('"URL"', '"http://minihotel.example/gds"', "system.url"),
        ("currency: ILS", "currency: EUR", "no rate is in the hotel's own currency EUR"),
        ("ILS: ILS", "ILS: ILS, ILS-NR: ILS", "ILS-NR must not end with -NR"),
        ("rates: {", "password: x\nrates: {", "password"),
    ],
)
def test_a_file_that_describes_no_such_hotel_is_refused(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """The message names the fault. A file may contain no password, and no address that would leak one."""
    file = tmp_path / "broken.yaml"
    file.write_text(CATALOGUE.replace(old, new, 1).replace("URL", "https://api.minihotel.example/gds"))

    with pytest.raises(Invalid, match=fault):
        read_catalogue(file)

"""Fields of the hotel tools' inputs and outputs that describe a stay."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field, PlainSerializer, WithJsonSchema

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import NeedsInput, ToolFailed
from turnloom.tools.packs.hotel.store.inventory import Quote, RoomType, StayRequest, TenantHotel

QUOTE_GOOD_S = 600
"""How long a price is remembered, in seconds. After that it is requested again."""

HotelId = Annotated[str | None, Field(max_length=64)]
"""A hotel's id. None means the tenant's only hotel."""

_FRIDAY = 4


def as_number(amount: Decimal) -> int | float:
    """Return money as a JSON number: a whole amount as an integer, any other as a float."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


Amount = Annotated[
    Decimal,
    PlainSerializer(as_number, when_used="json"),
    WithJsonSchema({"type": "number"}),
    Field(allow_inf_nan=False),
]
"""Money: an exact decimal in Python, a number in JSON."""


class StayQuery(Contract):
    """The guests and dates of a stay."""

    hotel_id: HotelId = None
    """Id of the hotel; leave it out if there is only one."""
    check_in: date | None = None
    """Day of arrival, ISO 8601. If it is left out, the user is asked to choose between two stays."""
    check_out: date | None = None
    """Day of departure, ISO 8601. If it is left out, the user is asked to choose between two days."""
    adults: int = Field(2, ge=1, le=50)
    """Guests of 18 and older."""
    children: int = Field(0, ge=0, le=50)
    """Guests from 2 to 17."""
    babies: int = Field(0, ge=0, le=50)
    """Guests under 2."""


class Party(Contract):
    """The stay that an answer is about."""

    check_in: date
    """Day of arrival."""
    check_out: date
    """Day of departure."""
    nights: int
    """Number of nights."""
    adults: int
    """Guests of 18 and older."""
    children: int
    """Guests from 2 to 17."""
    babies: int
    """Guests under 2."""


BOARD_SAYS = {
    "board_code": {
        "RO": "no breakfast",
        "BB": "with breakfast, breakfast is included",
        "HB": "with breakfast, breakfast is included",
        "FB": "with breakfast, breakfast is included",
    }
}
"""What the codes of boards mean."""


class Option(Contract):
    """A room that can be booked for a stay."""

    room_type_code: str
    """Code of the room type."""
    room_name: str
    """Name of the room type for guests."""
    board_code: str
    """RO: room only, BB: breakfast, HB: half board, FB: full board."""
    rate_code: str
    """Code of the rate."""
    price_total: Amount
    """Price of the whole stay for all guests."""
    currency: str
    """ISO 4217 code of the price."""
    cancellable: bool
    """Whether the booking can be cancelled free of charge."""
    quota: int
    """Number of rooms that are free for the whole stay."""


def read_stay(query: StayQuery, hotel: TenantHotel) -> StayRequest:
    """Return the stay of a query. The hotel's time zone decides which day is today.

    Raises:
        NeedsInput: dates are missing. The user gets two choices.
        ToolFailed: VALIDATION_ERROR, the dates are past, reversed or too far apart.
    """
    today = datetime.now(ZoneInfo(hotel.timezone)).date()
    if query.check_in is None:
        raise NeedsInput({"dates": [_in_words(day, day + timedelta(days=1)) for day in _coming_weekend(today)]})
    if query.check_out is None:
        raise NeedsInput({"check_out": [str(query.check_in + timedelta(days=nights)) for nights in (1, 2)]})
    nights = (query.check_out - query.check_in).days
    fault: str | None = None
    cause: dict[str, str | int] = {}
    if query.check_in < today:
        fault = f"the arrival {query.check_in} is in the past; today is {today}"
        cause = {"kind": "day_over", "day": str(query.check_in)}
    elif nights < 1:
        fault = f"the departure {query.check_out} is not after the arrival {query.check_in}"
        cause = {"kind": "departure_first"}
    elif nights > hotel.longest_stay_nights:
        fault = f"{nights} nights are too many; at most {hotel.longest_stay_nights} can be booked at once"
        cause = {"kind": "nights_at_most", "nights": hotel.longest_stay_nights}
    if fault:
        raise ToolFailed(fault, code="VALIDATION_ERROR", cause=cause)
    return StayRequest(
        check_in=query.check_in,
        check_out=query.check_out,
        adults=query.adults,
        children=query.children,
        babies=query.babies,
    )


def party_of(stay: StayRequest) -> dict[str, object]:
    """Return the fields of `Party`."""
    return {
        "check_in": stay.check_in,
        "check_out": stay.check_out,
        "nights": stay.nights,
        "adults": stay.adults,
        "children": stay.children,
        "babies": stay.babies,
    }


def option_of(quote: Quote, rooms: Mapping[str, RoomType]) -> dict[str, object]:
    """Return the fields of `Option`."""
    return {
        "room_type_code": quote.room_type,
        "room_name": rooms[quote.room_type].name,
        "board_code": quote.board,
        "rate_code": quote.rate_code,
        "price_total": quote.price,
        "currency": quote.currency,
        "cancellable": quote.cancellable,
        "quota": max(0, quote.free),
    }


def _coming_weekend(today: date) -> list[date]:
    """Return the coming Friday, today included, and the Saturday after it: a weekend may begin on either day."""
    friday = today + timedelta(days=(_FRIDAY - today.weekday()) % 7)
    return [friday, friday + timedelta(days=1)]


def _in_words(first: date, last: date) -> str:
    return " to ".join(f"{day:%a} {day.day} {day:%b %Y}" for day in (first, last))

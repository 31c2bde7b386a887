"""`pms.get_availability`: find the options that can be booked for a stay, with their prices."""

from collections.abc import Collection
from decimal import Decimal
from typing import Literal

from pydantic import ConfigDict, Field

from turnloom.models.contracts.artifact import Table, TableArtifact
from turnloom.models.contracts.base import Contract
from turnloom.models.errors import NeedsInput, ToolFailed
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.hotel.stays import (
    BOARD_SAYS,
    QUOTE_GOOD_S,
    Amount,
    Option,
    Party,
    StayQuery,
    as_number,
    option_of,
    party_of,
    read_stay,
)
from turnloom.tools.packs.hotel.store.inventory import RoomType, TenantHotel
from turnloom.tools.packs.hotel.systems import SYSTEM_ERRORS, open_hotel, service_of
from turnloom.tools.packs.hotel.terms import find_terms, known_terms, name_of
from turnloom.tools.registry import tool

ALL = "*ALL*"
BEST = 2
"""Number of options shown at once. The rest is shown on demand."""

_ABOUT = Decimal("1.1")


class HotelBudget(Contract):
    """A limit for the price of the whole stay."""

    model_config = ConfigDict(title="Budget")

    amount: Amount = Field(gt=0)
    """The amount in units of the currency, for all nights and guests together."""
    currency: Literal["USD", "EUR", "ILS"]
    """ISO 4217 code of the currency."""
    operator: Literal["<=", "~"] = "<="
    """`<=`: at most this amount. `~`: about this amount, up to a tenth more."""


class AvailabilityQuery(StayQuery):
    """A search for rooms: dates, guests and price."""

    room_type_filter: str = Field(ALL, min_length=1, max_length=200)
    """Code or name of a room type, or words for what it must have, such as "double bed with sea view". *ALL*: any."""
    board_filter: str = Field(ALL, min_length=1, max_length=100)
    """Code of a board (RO, BB, HB, FB), or words for it such as "breakfast"; *ALL* for any."""
    rate_code: str | None = Field(None, min_length=1, max_length=32)
    """Code of a rate. If it is left out, all rates in the budget's currency, or else in the hotel's own, are used."""
    budget: HotelBudget | None = None
    """The limit for the price, if the user named one."""


class LongerStay(Contract):
    """A room type that can only be booked for a longer stay."""

    room_name: str
    """Name of the room type for guests."""
    nights: int
    """The fewest nights for which it can be booked."""


class Availability(Party):
    """The bookable options, cheapest first; at equal prices the cancellable ones come first."""

    options: list[Option]
    """The bookable options. Empty if nothing is free or suits."""
    budget: HotelBudget | None = None
    """The limit that was applied."""
    over_budget: int
    """Number of options that are free and suit, but cost more than the limit."""
    sold_out: list[str]
    """Names of room types that suit but are sold out."""
    longer_stays: list[LongerStay]
    """Room types that suit but can only be booked for longer stays."""


def _table(found: Availability) -> TableArtifact | None:
    if not found.options:
        return None
    rows: list[list[str | int | float | bool | None]] = [
        [
            option.room_name,
            name_of(option.board_code),
            as_number(option.price_total),
            option.currency,
            option.cancellable,
            option.quota,
        ]
        for option in found.options
    ]
    columns = ["Room", "Board", "Price", "Currency", "Free cancellation", "Rooms left"]
    title = "Rooms from {check_in} to {check_out}"
    return TableArtifact(title=title, data=Table(columns=columns, rows=rows, preview=BEST))


@tool(
    "pms.get_availability",
    effect="read",
    integration=service_of,
    remember_s=QUOTE_GOOD_S,
    artifact=_table,
    says=BOARD_SAYS,
    errors=("NOT_FOUND", "VALIDATION_ERROR", *SYSTEM_ERRORS),
    asks=("hotel_id", "dates", "check_out", "currency"),
)
def get_availability(query: AvailabilityQuery, context: ToolContext) -> Availability:
    """Find rooms that are free for a stay, with the price of the whole stay, the cheapest option first.

    Raises:
        NeedsInput: the user must name the dates, the hotel or the currency.
        ToolFailed: NOT_FOUND, there is no such hotel or rate; VALIDATION_ERROR, the dates are invalid, or the words for
            rooms or boards are unknown.
    """
    system = open_hotel(query.hotel_id, context)
    stay = read_stay(query, system.hotel)
    rate_codes, boards = _rate_codes(query, system.hotel), _boards(query.board_filter)
    quotes = system.quotes(stay, rate_codes)
    rooms = {room.code: room for room in system.room_types()}
    suits = {code for code in _suitable(query.room_type_filter, rooms.values()) if rooms[code].sleeps_all(stay)}
    fitting = [q for q in quotes if q.room_type in suits and (boards is None or q.board in boards)]
    bookable = [quote for quote in fitting if quote.minimum_nights <= stay.nights]
    free = [quote for quote in bookable if quote.free > 0]
    free.sort(key=lambda quote: (quote.price, not quote.cancellable))
    affordable = [quote for quote in free if query.budget is None or quote.price <= _limit(query.budget)]
    taken = {quote.room_type for quote in bookable} - {quote.room_type for quote in free}
    longer = {quote.room_type: quote.minimum_nights for quote in fitting if quote.minimum_nights > stay.nights}
    return Availability.model_validate(
        {
            **party_of(stay),
            "options": [option_of(quote, rooms) for quote in affordable],
            "budget": query.budget,
            "over_budget": len(free) - len(affordable),
            "sold_out": [rooms[code].name for code in sorted(taken)],
            "longer_stays": [{"room_name": rooms[code].name, "nights": longer[code]} for code in sorted(longer)],
        }
    )


def _limit(budget: HotelBudget) -> Decimal:
    return budget.amount * (_ABOUT if budget.operator == "~" else 1)


def _rate_codes(query: AvailabilityQuery, hotel: TenantHotel) -> list[str]:
    """Return the codes of the rates to use: the one in the query, or all in one currency, so that prices compare."""
    wanted = query.rate_code
    if wanted is not None and wanted not in hotel.rates:
        raise ToolFailed(f"there is no rate {wanted!r}; there are: {', '.join(sorted(hotel.rates))}", code="NOT_FOUND")
    currency = query.budget.currency if query.budget else hotel.rates[wanted] if wanted else hotel.currency
    codes = [code for code, its in hotel.rates.items() if its == currency and wanted in (None, code)]
    if not codes:
        raise NeedsInput({"currency": sorted(set(hotel.rates.values()))})
    return codes


def _boards(said: str) -> set[str] | None:
    """Return the codes of the wanted boards; None for any."""
    if said == ALL:
        return None
    return set(_terms(said, "boards"))


def _suitable(said: str, rooms: Collection[RoomType]) -> set[str]:
    """Return the codes of the wanted room types: one by its code or name, or all with the named amenities and beds."""
    if said == ALL:
        return {room.code for room in rooms}
    named = {room.code for room in rooms if said.casefold() in (room.code.casefold(), room.name.casefold())}
    if named:
        return named
    wanted = set(_terms(said, "amenities", "beds"))
    return {room.code for room in rooms if wanted <= room.features}


def _terms(said: str, *kinds: str) -> list[str]:
    found = find_terms(said, *kinds)
    if not found:
        known = ", ".join(code for kind in kinds for code in known_terms(kind))
        fault = f"{said!r} names nothing that we know; use one of: {known}"
        raise ToolFailed(fault, code="VALIDATION_ERROR", cause={"kind": "unknown_wish"})
    return found

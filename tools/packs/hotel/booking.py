"""`pms.generate_booking_link`: make a link to book one option of a stay. The room may be held until it expires."""

from collections.abc import Iterable

from pydantic import Field

from turnloom.models.contracts.artifact import Link, LinkArtifact
from turnloom.models.contracts.base import Moment, rfc3339
from turnloom.models.errors import NeedsInput, ToolFailed
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.hotel.comparison import Choice, find_quote
from turnloom.tools.packs.hotel.offers import BookingOffer
from turnloom.tools.packs.hotel.stays import BOARD_SAYS, Option, Party, StayQuery, option_of, party_of, read_stay
from turnloom.tools.packs.hotel.store.holds import VALID_MINUTES
from turnloom.tools.packs.hotel.store.inventory import Quote, RoomType, StayRequest
from turnloom.tools.packs.hotel.systems import SYSTEM_ERRORS, open_hotel, service_of
from turnloom.tools.registry import tool


class LinkQuery(StayQuery):
    """The option of a stay to book."""

    room_type_code: str = Field(min_length=1, max_length=32)
    """Code of the room type, as pms.get_availability returned it."""
    rate_code: str = Field("USD", min_length=1, max_length=32)
    """Code of the rate, as pms.get_availability returned it."""
    board_code: str = Field("BB", min_length=1, max_length=32)
    """Code of the board, as pms.get_availability returned it."""
    name: str | None = Field(None, max_length=200)
    """Name of the guest who books, as the user gave it. Some hotels make no link without it and the number."""
    phone: str | None = Field(None, max_length=40)
    """Phone number of the guest who books, as the user gave it."""


class BookingLink(Party):
    """A link to book one option."""

    url: str
    """The link."""
    expires_at: Moment
    """When the link and its price expire, RFC 3339."""
    valid_minutes: int
    """Minutes from the making of the link to its expiry."""
    held: bool
    """Whether the room is held until the link expires; otherwise it goes to whoever books first."""
    option: Option
    """The option that the link books, at the present price."""


def _link(made: BookingLink) -> LinkArtifact:
    label = "Book {room_name}, {check_in} to {check_out}"
    return LinkArtifact(title=label, data=Link(url=made.url, label=label, expires_at=rfc3339(made.expires_at)))


def find_link(query: LinkQuery, context: ToolContext) -> BookingLink | None:
    """Return the link whose hold has this call's key. None if it holds nothing, so that the call may be made."""
    try:
        system = open_hotel(query.hotel_id, context)
        stay = read_stay(query, system.hotel)
    except (NeedsInput, ToolFailed):
        return None  # the call held nothing, or the day is past by now and the hold ends by itself
    offer = system.offered(stay, context.idempotency_key)
    return None if offer is None else _made(stay, offer, system.room_types())


@tool(
    "pms.generate_booking_link",
    effect="write",
    integration=service_of,
    per_user="20/hour",  # each link may hold a room
    reconcile=find_link,
    artifact=_link,
    says=BOARD_SAYS,
    deeds=frozenset({"held"}),
    errors=("NOT_FOUND", "VALIDATION_ERROR", "CONFLICT", *SYSTEM_ERRORS),
    asks=("hotel_id", "dates", "check_out", "name", "phone"),
    redact=frozenset({"phone"}),
)
def generate_booking_link(query: LinkQuery, context: ToolContext) -> BookingLink:
    """Make a link to book one option of a stay. It may hold the room until it expires, and releases an earlier hold.

    Raises:
        NeedsInput: the user must name the dates, the hotel, or the guest's details that the hotel wants.
        ToolFailed: NOT_FOUND, there is no such hotel, room or rate; VALIDATION_ERROR, the dates are invalid, the stay
            is too short, or there are too many guests; CONFLICT, the room is sold out; CONNECTION_INACTIVE, links
            cannot be signed.
    """
    system = open_hotel(query.hotel_id, context)
    stay = read_stay(query, system.hotel)
    if missing := [detail for detail in system.hotel.link_needs if not (getattr(query, detail) or "").strip()]:
        raise NeedsInput(dict.fromkeys(missing, True))
    wanted = Choice(room_type_code=query.room_type_code, board_code=query.board_code, rate_code=query.rate_code)
    quote = find_quote(system.quotes(stay, [query.rate_code]), wanted)
    rooms = system.room_types()
    _check(stay, quote, next(room for room in rooms if room.code == quote.room_type))
    offer = system.offer(stay, quote, context.idempotency_key) if quote.free > 0 else None
    if offer is None:
        raise ToolFailed(f"{quote.room_type} is sold out from {stay.check_in} to {stay.check_out}", code="CONFLICT")
    return _made(stay, offer, rooms)


def _check(stay: StayRequest, quote: Quote, room: RoomType) -> None:
    fault: str | None = None
    cause: dict[str, str | int] = {}
    if not room.sleeps_all(stay):
        fault = f"{room.name} sleeps {room.sleeps} guests at most"
        assert room.sleeps is not None, "a room without a bound sleeps all"
        cause = {"kind": "guests_at_most", "guests": room.sleeps}
    elif stay.nights < quote.minimum_nights:
        fault = f"{room.name} must be booked for at least {quote.minimum_nights} nights"
        cause = {"kind": "nights_at_least", "nights": quote.minimum_nights}
    if fault:
        raise ToolFailed(fault, code="VALIDATION_ERROR", cause=cause)


def _made(stay: StayRequest, offer: BookingOffer, rooms: Iterable[RoomType]) -> BookingLink:
    return BookingLink.model_validate(
        {
            **party_of(stay),
            "url": offer.url,
            "expires_at": offer.expires_at,
            "valid_minutes": VALID_MINUTES,
            "held": offer.is_held,
            "option": option_of(offer.quote, {room.code: room for room in rooms}),
        }
    )

"""`pms.generate_booking_link`: a link to book one option of a stay.

It holds no room: whoever opens the link books, or finds the room taken. So the call only reads, and may be repeated.
"""

from datetime import UTC, datetime, timedelta

from pydantic import Field

from models.contracts.artifact import Link, LinkArtifact
from models.contracts.base import Moment, rfc3339
from models.errors import ToolFailed
from tools.context import ToolContext
from tools.hotel.comparing import Choice, find_quote
from tools.hotel.stays import Option, Party, StayQuery, option_of, party_of, read_stay
from tools.hotel.systems import open_hotel
from tools.registry import tool

LINK_VALID_MINUTES = 30


class LinkQuery(StayQuery):
    """Which option of which stay."""

    room_type_code: str = Field(min_length=1, max_length=32)
    """Code of the room type, as availability returned it."""
    rate_code: str = Field("USD", min_length=1, max_length=32)
    """Code of the rate, as availability returned it."""
    board_code: str = Field("BB", min_length=1, max_length=32)
    """Code of the board, as availability returned it."""


class BookingLink(Party):
    """Where to book, and what."""

    url: str
    """The link."""
    expires_at: Moment
    """Until when it works, RFC 3339."""
    valid_minutes: int
    """For how long, from now."""
    option: Option
    """What it books, at the price of now."""


def _link(made: BookingLink) -> LinkArtifact:
    label = f"Book {made.option.room_name}, {made.check_in} to {made.check_out}"
    return LinkArtifact(title=label, data=Link(url=made.url, label=label, expires_at=rfc3339(made.expires_at)))


@tool(
    "pms.generate_booking_link",
    effect="read",
    artifact=_link,
    errors=("NOT_FOUND", "VALIDATION_ERROR", "CONFLICT", "CONNECTION_INACTIVE"),
)
def generate_booking_link(query: LinkQuery, context: ToolContext) -> BookingLink:
    """Make a link with which the user can book one option of availability. It holds no room and expires.

    Raises:
        NeedsInput: dates or hotel are for the user to say.
        ToolFailed: NOT_FOUND for a hotel, room or rate, VALIDATION_ERROR for dates that make no sense or too many
            guests, CONFLICT where it is sold out, CONNECTION_INACTIVE where links cannot be signed.
    """
    system = open_hotel(query.hotel_id, context)
    stay = read_stay(query, system.hotel)
    rooms = {room.code: room for room in system.room_types()}
    wanted = Choice(room_type_code=query.room_type_code, board_code=query.board_code, rate_code=query.rate_code)
    quote = find_quote(system.quotes(stay, [query.rate_code]), wanted)
    room = rooms[quote.room_type]
    if room.sleeps < stay.adults + stay.children:
        raise ToolFailed(f"{room.name} sleeps {room.sleeps} guests at most", code="VALIDATION_ERROR")
    if quote.free < 1:
        raise ToolFailed(f"{room.name} is sold out from {stay.check_in} to {stay.check_out}", code="CONFLICT")
    expires_at = datetime.now(UTC) + timedelta(minutes=LINK_VALID_MINUTES)
    url = system.booking_url(stay, query.babies, quote, expires_at)
    return BookingLink.model_validate(
        {
            **party_of(query, stay),
            "url": url,
            "expires_at": expires_at,
            "valid_minutes": LINK_VALID_MINUTES,
            "option": option_of(quote, rooms),
        }
    )

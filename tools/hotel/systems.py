"""A hotel's own system, as the tools see it: the rooms it has, what a stay costs, how it is booked."""

from collections.abc import Sequence
from typing import Protocol

from models.database import transaction
from models.errors import NeedsInput, ToolFailed
from models.ledger import inventory
from models.ledger.inventory import Guest, Hotel, Quote, RoomType, Stay
from tools.context import ToolContext
from tools.hotel.inventory import Inventory
from tools.hotel.minihotel import MiniHotel
from tools.hotel.offers import Offer

SYSTEM_ERRORS = ("CONNECTION_INACTIVE", "UNAUTHORIZED", "RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX")
"""How asking a system may fail where it is not ours."""


class HotelQuery(Protocol):
    """The fields that name a hotel."""

    @property
    def hotel_id(self) -> str | None:
        """None: the tenant's only one."""


class HotelSystem(Protocol):
    """The interface to a hotel's own system."""

    @property
    def hotel(self) -> Hotel:
        """The hotel it is of."""

    def room_types(self) -> list[RoomType]:
        """Return the hotel's room types by code, those of the quotes among them."""

    def described_rooms(self) -> list[RoomType]:
        """Return the room types of which more is known than a name, by code, without asking anybody outside."""

    def quotes(self, stay: Stay, rate_codes: Sequence[str]) -> list[Quote]:
        """Return what a stay costs at these rates in every room type and board, those sold out too."""

    def offer(self, stay: Stay, quote: Quote, key: str) -> Offer | None:
        """Return a link that books a stay as quoted. The same key is the same call. None: it is sold out by now."""

    def offered(self, stay: Stay, key: str) -> Offer | None:
        """Return the link that the call with this key has made; None where it has kept nothing, or no longer does."""


def open_hotel(hotel_id: str | None, context: ToolContext) -> HotelSystem:
    """Return the system of a hotel; where none is named, of the tenant's only one.

    Raises:
        ToolFailed: NOT_FOUND, naming the hotels there are.
        NeedsInput: none is named and there are several.
    """
    with transaction() as db:
        hotels = {hotel.id: hotel for hotel in inventory.hotels_of(db, context.tenant_id)}
    if hotel_id is None and len(hotels) > 1:
        raise NeedsInput({"hotel_id": list(hotels)})
    hotel = hotels.get(hotel_id) if hotel_id else next(iter(hotels.values()), None)
    if hotel is None:
        raise ToolFailed(f"there is no hotel {hotel_id!r}; there are: {', '.join(hotels) or 'none'}", code="NOT_FOUND")
    if hotel.system is None:
        return Inventory(hotel, Guest(context.tenant_id, context.conversation_id))
    return MiniHotel(hotel, context)


def service_of(query: HotelQuery, context: ToolContext) -> str | None:
    """Return the outside service that knows a hotel's rooms and prices; None where there is none, or no such hotel."""
    try:
        hotel = open_hotel(query.hotel_id, context).hotel
    except (NeedsInput, ToolFailed):
        return None
    return str(hotel.system["kind"]) if hotel.system else None

"""The interface of a hotel's own system to the tools: its rooms, the prices of a stay, and how to book one."""

from collections.abc import Sequence
from typing import Protocol

from turnloom.models.connections.database import transaction
from turnloom.models.errors import NeedsInput, ToolFailed
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.hotel.inventory import Inventory
from turnloom.tools.packs.hotel.minihotel import MiniHotel
from turnloom.tools.packs.hotel.offers import BookingOffer
from turnloom.tools.packs.hotel.store import inventory
from turnloom.tools.packs.hotel.store.inventory import Guest, Quote, RoomType, StayRequest, TenantHotel

SYSTEM_ERRORS = ("CONNECTION_INACTIVE", "UNAUTHORIZED", "RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX")
"""Error codes of calls to a system that is not ours."""


class HotelArguments(Protocol):
    """The fields that name a hotel."""

    @property
    def hotel_id(self) -> str | None:
        """Id of the hotel. None means the tenant's only one."""


class HotelSystem(Protocol):
    """The interface to a hotel's own system."""

    @property
    def hotel(self) -> TenantHotel:
        """The hotel of this system."""

    def room_types(self) -> list[RoomType]:
        """Return the hotel's room types, sorted by code. They include those of all quotes."""

    def described_rooms(self) -> list[RoomType]:
        """Return the room types that we know more about than a name, sorted by code. This calls no outside service."""

    def quotes(self, stay: StayRequest, rate_codes: Sequence[str]) -> list[Quote]:
        """Return the quotes of a stay at these rates for every room type and board, those sold out included."""

    def offer(self, stay: StayRequest, quote: Quote, key: str) -> BookingOffer | None:
        """Return a link that books a stay as quoted. None if it is sold out by now.

        Calls with the same key count as one call.
        """

    def offered(self, stay: StayRequest, key: str) -> BookingOffer | None:
        """Return the link that the call with this key has made. None if it holds nothing, or no longer does."""


def open_hotel(hotel_id: str | None, context: ToolContext) -> HotelSystem:
    """Return the system of a hotel, or of the tenant's only hotel if none is named.

    Raises:
        ToolFailed: NOT_FOUND, there is no such hotel. The message lists the hotels.
        NeedsInput: no hotel is named, and there are several.
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


def service_of(query: HotelArguments, context: ToolContext) -> str | None:
    """Return the outside service of a hotel's system. None if the system is ours, or there is no such hotel."""
    try:
        hotel = open_hotel(query.hotel_id, context).hotel
    except (NeedsInput, ToolFailed):
        return None
    return str(hotel.system["kind"]) if hotel.system else None

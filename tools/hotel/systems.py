"""A hotel's own system, as the tools see it: the rooms it has, what a stay costs, how it is booked."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from urllib.parse import urlencode
from uuid import UUID

from models.contracts.base import rfc3339
from models.database import transaction
from models.errors import NeedsInput, ToolFailed
from models.ledger import inventory
from models.ledger.inventory import Hotel, Quote, RoomType, Stay
from models.settings import settings
from tools.context import ToolContext


class HotelSystem(Protocol):
    """What can be asked of a hotel's system."""

    @property
    def hotel(self) -> Hotel:
        """The hotel it is of."""

    def room_types(self) -> list[RoomType]:
        """Return the hotel's room types by code."""

    def quotes(self, stay: Stay, rate_codes: Sequence[str]) -> list[Quote]:
        """Return what a stay costs at these rates in every room type and board, those sold out too."""

    def booking_url(self, stay: Stay, babies: int, quote: Quote, expires_at: datetime) -> str:
        """Return a link that books a stay at a quoted price until it expires."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The system of a hotel whose rooms and prices are in our database."""

    hotel: Hotel
    tenant_id: UUID
    """Who asks: what it has taken is not free for it."""

    def room_types(self) -> list[RoomType]:
        """Return the hotel's room types by code."""
        with transaction() as db:
            return inventory.room_types(db, self.hotel)

    def quotes(self, stay: Stay, rate_codes: Sequence[str]) -> list[Quote]:
        """Return what a stay costs at these rates in every room type and board, those sold out too."""
        with transaction() as db:
            return inventory.quotes(db, self.tenant_id, self.hotel, stay, rate_codes)

    def booking_url(self, stay: Stay, babies: int, quote: Quote, expires_at: datetime) -> str:
        """Return a link to the hotel's page. Its `signature` is the HMAC-SHA256 of the query before it.

        Raises:
            ToolFailed: CONNECTION_INACTIVE, without a secret to sign with.
        """
        secret = settings().link_secret
        if secret is None:
            raise ToolFailed("TURNLOOM_LINK_SECRET is not set: no link can be signed", code="CONNECTION_INACTIVE")
        query = urlencode(
            {
                "tenant": self.tenant_id,
                "hotel": self.hotel.id,
                "check_in": stay.check_in,
                "check_out": stay.check_out,
                "adults": stay.adults,
                "children": stay.children,
                "babies": babies,
                "room_type": quote.room_type,
                "board": quote.board,
                "rate": quote.rate_code,
                "price": quote.price,
                "currency": quote.currency,
                "expires": rfc3339(expires_at),
            }
        )
        signature = hmac.new(secret.encode(), query.encode(), hashlib.sha256).hexdigest()
        return f"{self.hotel.booking_url}?{query}&signature={signature}"


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
    return Inventory(hotel, context.tenant_id)

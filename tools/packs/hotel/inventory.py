"""The system of a hotel whose rooms and prices are in our database. A booking link holds its room."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import rfc3339
from turnloom.models.errors import ToolFailed
from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.hotel.offers import BookingOffer
from turnloom.tools.packs.hotel.settings import HotelSettings
from turnloom.tools.packs.hotel.store import holds, inventory
from turnloom.tools.packs.hotel.store.holds import Hold
from turnloom.tools.packs.hotel.store.inventory import Guest, Quote, RoomType, StayRequest, TenantHotel


@dataclass(frozen=True, slots=True)
class Inventory:
    """A hotel's inventory in our database, as a guest sees it."""

    hotel: TenantHotel
    guest: Guest

    def room_types(self) -> list[RoomType]:
        """Return the hotel's room types, sorted by code."""
        with transaction() as db:
            return inventory.room_types(db, self.hotel)

    described_rooms = room_types

    def quotes(self, stay: StayRequest, rate_codes: Sequence[str]) -> list[Quote]:
        """Return the quotes of a stay at these rates for every room type and board, those sold out included."""
        with transaction() as db:
            return inventory.quotes(db, self.guest, self.hotel, stay, rate_codes)

    def offer(self, stay: StayRequest, quote: Quote, key: str) -> BookingOffer | None:
        """Hold the room and return a link to the hotel's page. None if the room is sold out by now.

        Raises:
            ToolFailed: CONNECTION_INACTIVE, there is no secret to sign the link with. Nothing is held.
        """
        secret = _secret()
        with transaction() as db:
            hold = holds.take(db, self.guest, self.hotel, stay, quote, key)
        return None if hold is None else self._offer(stay, hold, secret)

    def offered(self, stay: StayRequest, key: str) -> BookingOffer | None:
        """Return the link of the hold that the call with this key has made. None if there is none, or it has ended."""
        with transaction() as db:
            hold = holds.find(db, self.guest, self.hotel, key)
        return None if hold is None else self._offer(stay, hold, _secret())

    def _offer(self, stay: StayRequest, hold: Hold, secret: str) -> BookingOffer:
        """Make the offer of a hold. The `signature` in its link is the HMAC-SHA256 of the query before it."""
        query = urlencode(
            {
                "tenant": _alias(self.guest.tenant_id, secret),
                "hotel": self.hotel.id,
                "check_in": stay.check_in,
                "check_out": stay.check_out,
                "adults": stay.adults,
                "children": stay.children,
                "babies": stay.babies,
                "room_type": hold.quote.room_type,
                "board": hold.quote.board,
                "rate": hold.quote.rate_code,
                "price": hold.quote.price,
                "currency": hold.quote.currency,
                "expires": rfc3339(hold.expires_at),
            }
        )
        signature = hmac.new(secret.encode(), query.encode(), hashlib.sha256).hexdigest()
        url = f"{self.hotel.booking_url}?{query}&signature={signature}"
        return BookingOffer(url, hold.quote, hold.expires_at, is_held=True)


def _alias(tenant_id: UUID, secret: str) -> str:
    """Return a stable alias of the tenant, which reveals nothing without the secret."""
    return hmac.new(secret.encode(), f"tenant {tenant_id}".encode(), hashlib.sha256).hexdigest()[:32]


def _secret() -> str:
    secret = settings().of(HotelSettings).link_secret
    if secret is None:
        message = "TURNLOOM_LINK_SECRET is not set, so booking links cannot be signed: set it"
        raise ToolFailed(message, code="CONNECTION_INACTIVE")
    return secret

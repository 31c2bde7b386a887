"""The system of a hotel whose rooms and prices are in our database: its booking links hold the room they are for."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from models.contracts.base import rfc3339
from models.database import transaction
from models.errors import ToolFailed
from models.ledger import holds, inventory
from models.ledger.holds import Hold
from models.ledger.inventory import Guest, Hotel, Quote, RoomType, Stay
from models.settings import settings
from tools.hotel.offers import Offer


@dataclass(frozen=True, slots=True)
class Inventory:
    """Such a system, as a guest sees it."""

    hotel: Hotel
    guest: Guest

    def room_types(self) -> list[RoomType]:
        """Return the hotel's room types by code."""
        with transaction() as db:
            return inventory.room_types(db, self.hotel)

    described_rooms = room_types

    def quotes(self, stay: Stay, rate_codes: Sequence[str]) -> list[Quote]:
        """Return what a stay costs at these rates in every room type and board, those sold out too."""
        with transaction() as db:
            return inventory.quotes(db, self.guest, self.hotel, stay, rate_codes)

    def offer(self, stay: Stay, quote: Quote, key: str) -> Offer | None:
        """Hold the room and return a link to the hotel's page; None where it is sold out by now.

        Raises:
            ToolFailed: CONNECTION_INACTIVE, without a secret to sign with. Then nothing is held.
        """
        secret = _secret()
        with transaction() as db:
            hold = holds.take(db, self.guest, self.hotel, stay, quote, key)
        return None if hold is None else self._offer(stay, hold, secret)

    def offered(self, stay: Stay, key: str) -> Offer | None:
        """Return the link of the hold that the call with this key has made; None where it no longer holds."""
        with transaction() as db:
            hold = holds.find(db, self.guest, self.hotel, key)
        return None if hold is None else self._offer(stay, hold, _secret())

    def _offer(self, stay: Stay, hold: Hold, secret: str) -> Offer:
        """The link's `signature` is the HMAC-SHA256 of the query before it."""
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
        return Offer(url, hold.quote, hold.expires_at, is_held=True)


def _alias(tenant_id: UUID, secret: str) -> str:
    """Return a name of the tenant that says nothing to who has not the secret, and is always the same."""
    return hmac.new(secret.encode(), f"tenant {tenant_id}".encode(), hashlib.sha256).hexdigest()[:32]


def _secret() -> str:
    secret = settings().link_secret
    if secret is None:
        raise ToolFailed("TURNLOOM_LINK_SECRET is not set: no link can be signed", code="CONNECTION_INACTIVE")
    return secret

"""The system of a hotel that uses MiniHotel: prices and rooms come from its XML, and guests book on its own page.

MiniHotel reserves no room before it is booked, so its links hold nothing. A request names the code of a rate, and the
catalogue says in which currency that rate is. The hotel's currency in MiniHotel's answer may be another one.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from turnloom.models.errors import ToolFailed
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.http import upstream
from turnloom.tools.packs.hotel.minihotel_xml import (
    ALL,
    CHEAPEST,
    Credentials,
    Room,
    availability_request,
    read_availability,
)
from turnloom.tools.packs.hotel.offers import NOT_REFUNDABLE, BookingOffer
from turnloom.tools.packs.hotel.settings import HotelSettings
from turnloom.tools.packs.hotel.store.holds import VALID_MINUTES
from turnloom.tools.packs.hotel.store.inventory import Quote, RoomType, StayRequest, TenantHotel

_LANGUAGES = {"en": "en-US", "he": "he-IL", "es": "es-ES"}
"""Languages that the booking page is known to support."""

_USUAL_NIGHT_IN_DAYS = 30


class MiniHotel:
    """A hotel's system on MiniHotel, for the duration of one call."""

    def __init__(self, hotel: TenantHotel, context: ToolContext) -> None:
        self.hotel = hotel
        self._context = context
        self._system: dict[str, Any] = dict(hotel.system or {})
        self._seen: dict[str, Room] = {}

    def room_types(self) -> list[RoomType]:
        """Return the room types, sorted by code.

        They are those that this call has quoted. If it has quoted none, ask for the cheapest board of one usual night.
        """
        if not self._seen:
            night = date.today() + timedelta(days=_USUAL_NIGHT_IN_DAYS)  # noqa: DTZ011 - any night will do
            stay = StayRequest(check_in=night, check_out=night + timedelta(days=1), adults=1)
            self._ask(stay, _without_mark(next(iter(self.hotel.rates))), CHEAPEST)
        return [self._room_type(self._seen[code]) for code in sorted(self._seen)]

    def described_rooms(self) -> list[RoomType]:
        """Return the room types that the catalogue describes, sorted by code."""
        return [self._room_type(Room(code, code)) for code in sorted(self._system["room_types"])]

    def quotes(self, stay: StayRequest, rate_codes: Sequence[str]) -> list[Quote]:
        """Return the quotes of a stay at these rates, the lowest price first. Rooms that are sold out are included."""
        asked = sorted({_without_mark(code) for code in rate_codes if code in self.hotel.rates})
        quotes = [
            quote
            for rate_code in asked
            for room in self._ask(stay, rate_code, ALL)
            for quote in self._quotes(room, rate_code)
            if quote.rate_code in rate_codes
        ]
        return sorted(quotes, key=lambda quote: (quote.price, quote.room_type, quote.board, quote.rate_code))

    def offer(self, stay: StayRequest, quote: Quote, key: str) -> BookingOffer | None:  # noqa: ARG002 - nothing is kept under a key
        """Return a link to MiniHotel's booking page with the stay and the room type filled in."""
        query = {
            "from": f"{stay.check_in:%Y%m%d}",
            "to": f"{stay.check_out:%Y%m%d}",
            "nAdults": stay.adults,
            "nChilds": stay.children,
            "nBabies": stay.babies,
            "roomType": quote.room_type,
            "currency": quote.currency,
            "language": _LANGUAGES.get(self._context.language or "en", _LANGUAGES["en"]),
        }
        expires_at = datetime.now(UTC) + timedelta(minutes=VALID_MINUTES)
        return BookingOffer(f"{self.hotel.booking_url}?{urlencode(query)}", quote, expires_at, is_held=False)

    def offered(self, stay: StayRequest, key: str) -> BookingOffer | None:  # noqa: ARG002 - as above
        """Return None: making a link changes nothing, so it may be made again."""
        return None

    def _ask(self, stay: StayRequest, rate_code: str, board: str) -> list[Room]:
        content = availability_request(self._credentials(), self._system["hotel_id"], stay, rate_code, board)
        request = upstream.UpstreamRequest(
            url=self._system["url"], content=content, headers={"Content-Type": "text/xml; charset=utf-8"}
        )
        rooms = read_availability(upstream.post(request, self._context).body)
        self._seen |= {room.code: room for room in rooms}
        return rooms

    def _credentials(self) -> Credentials:
        name = self._system["credentials"]
        found = settings().of(HotelSettings).minihotel_credentials.get(name)
        if found is None:
            message = f"TURNLOOM_MINIHOTEL_CREDENTIALS has no entry {name!r}, so MiniHotel cannot be called: add it"
            raise ToolFailed(message, code="CONNECTION_INACTIVE")
        return Credentials(found.username, found.password.get_secret_value())

    def _quotes(self, room: Room, rate_code: str) -> list[Quote]:
        return [
            Quote(
                room_type=room.code,
                board=price.board,
                rate_code=code,
                price=value,
                currency=self.hotel.rates[rate_code],
                cancellable=cancellable,
                free=room.free,
                minimum_nights=room.minimum_nights,
            )
            for price in room.prices
            for code, value, cancellable in _both(rate_code, price.value, price.value_nrf)
        ]

    def _room_type(self, room: Room) -> RoomType:
        """Describe a room type by the catalogue. If its name or boards are missing there, they come from MiniHotel."""
        described = self._system["room_types"].get(room.code, {})
        return RoomType(
            code=room.code,
            name=described.get("name") or room.name,
            beds=described.get("beds", []),
            sleeps=described.get("sleeps"),
            boards=described.get("boards") or list(dict.fromkeys(price.board for price in room.prices)),
            amenities=described.get("amenities", []),
        )


def _both(rate_code: str, value: Decimal | None, value_nrf: Decimal | None) -> list[tuple[str, Decimal, bool]]:
    prices = [(rate_code, value, True), (rate_code + NOT_REFUNDABLE, value_nrf, False)]
    return [(code, price, cancellable) for code, price, cancellable in prices if price is not None]


def _without_mark(rate_code: str) -> str:
    return rate_code.removesuffix(NOT_REFUNDABLE)

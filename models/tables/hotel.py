"""Hotels: what they let, at which price, and which rooms of it are held.

The catalogue (everything but the holds) is loaded from a file. Its `tenant_id` is the hotel's owner: a tenant, or
`EVERYONE` for a demo hotel. A hold belongs to the tenant whose conversation has it.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Numeric
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Row

_MONEY = Numeric(12, 2)


class HotelRow(Row):
    """A hotel."""

    __tablename__ = "hotels"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    """Of the file that the catalogue was loaded from."""
    name: Mapped[str]
    timezone: Mapped[str]
    currency: Mapped[str]
    """What it quotes in unless it is asked for another currency; ISO 4217."""
    booking_url: Mapped[str]
    """Where its booking links lead."""
    longest_stay_nights: Mapped[int]
    faq: Mapped[list[Any]]
    system: Mapped[dict[str, Any] | None]
    """Where its rooms and prices are asked for, and how; None: they are in these tables."""


class RoomTypeRow(Row):
    """Rooms of one kind."""

    __tablename__ = "hotel_room_types"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    beds: Mapped[list[Any]]
    sleeps: Mapped[int]
    """Guests from two years on, at most."""
    included: Mapped[int]
    """Adults that the price of a night covers."""
    boards: Mapped[list[str]]
    amenities: Mapped[list[str]]
    rooms: Mapped[int]
    """How many there are to let in a night without an allotment of its own."""


class SeasonRow(Row):
    """Days of every year that have one price. Seasons cover the year and do not overlap."""

    __tablename__ = "hotel_seasons"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    starts: Mapped[int] = mapped_column(primary_key=True)
    """First day, as month * 100 + day."""
    ends: Mapped[int]
    """Last day, in the same year."""
    season: Mapped[str]


class RateRow(Row):
    """The price of a night."""

    __tablename__ = "hotel_rates"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    room_type: Mapped[str] = mapped_column(primary_key=True)
    season: Mapped[str] = mapped_column(primary_key=True)
    board: Mapped[str] = mapped_column(primary_key=True)
    rate_code: Mapped[str] = mapped_column(primary_key=True)
    currency: Mapped[str]
    cancellable: Mapped[bool]
    price: Mapped[Decimal] = mapped_column(_MONEY)
    """For the adults that the room type includes."""
    extra_adult: Mapped[Decimal] = mapped_column(_MONEY)
    """For each further adult."""
    child: Mapped[Decimal] = mapped_column(_MONEY)
    """For each child from two years on; babies are free."""


class AllotmentRow(Row):
    """The rooms of a type that can be let on certain days of every year, if fewer than all."""

    __tablename__ = "hotel_allotments"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    room_type: Mapped[str] = mapped_column(primary_key=True)
    starts: Mapped[int] = mapped_column(primary_key=True)
    """First day, as month * 100 + day."""
    ends: Mapped[int]
    """Last day, in the same year."""
    rooms: Mapped[int]


class HoldRow(Row):
    """A room that a conversation's booking link holds, until it expires. One that has expired means nothing."""

    __tablename__ = "hotel_holds"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str]
    """The idempotency key of the call that has made or renewed it."""
    check_in: Mapped[date]
    check_out: Mapped[date]
    room_type: Mapped[str]
    board: Mapped[str]
    rate_code: Mapped[str]
    price: Mapped[Decimal] = mapped_column(_MONEY)
    """Of the whole stay, as it was quoted."""
    currency: Mapped[str]
    cancellable: Mapped[bool]
    free: Mapped[int]
    """Rooms that were free when it was made, this one included."""
    expires_at: Mapped[datetime]

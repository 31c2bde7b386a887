"""Hotels have rooms to let, prices, and holds on rooms.

The catalogue (everything but the holds) is loaded from a file. Its `tenant_id` is the hotel's owner: a tenant, or
`EVERYONE` for a demo hotel. A hold belongs to the tenant whose conversation has it.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Numeric, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row

_MONEY = Numeric(12, 2)


class HotelRow(Row):
    """A hotel."""

    __tablename__ = "hotels"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    """Digest of the file that the catalogue was loaded from."""
    name: Mapped[str]
    timezone: Mapped[str]
    currency: Mapped[str]
    """The currency of its quotes unless another is requested; ISO 4217."""
    booking_url: Mapped[str]
    """The target of its booking links."""
    longest_stay_nights: Mapped[int]
    faq: Mapped[list[Any]]
    link_needs: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    """Details of the guest without which no booking link is made: `name`, `phone`."""
    system: Mapped[dict[str, Any] | None]
    """The outside system that is asked for its rooms and prices, and how; None: they are in these tables."""


class RoomTypeRow(Row):
    """Rooms of one kind."""

    __tablename__ = "hotel_room_types"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    beds: Mapped[list[Any]]
    sleeps: Mapped[int]
    """Most guests of two years and older."""
    included: Mapped[int]
    """Adults that the price of a night covers."""
    boards: Mapped[list[str]]
    amenities: Mapped[list[str]]
    rooms: Mapped[int]
    """Rooms to let in a night without its own allotment."""


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
    """Price for the adults that the room type includes."""
    extra_adult: Mapped[Decimal] = mapped_column(_MONEY)
    """Price for each further adult."""
    child: Mapped[Decimal] = mapped_column(_MONEY)
    """Price for each child of two years and older; babies are free."""


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
    """A room that a conversation's booking link holds until it expires. An expired hold has no effect."""

    __tablename__ = "hotel_holds"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str]
    """The idempotency key of the call that made or renewed it."""
    check_in: Mapped[date]
    check_out: Mapped[date]
    room_type: Mapped[str]
    board: Mapped[str]
    rate_code: Mapped[str]
    price: Mapped[Decimal] = mapped_column(_MONEY)
    """Price of the whole stay, as it was quoted."""
    currency: Mapped[str]
    cancellable: Mapped[bool]
    free: Mapped[int]
    """Rooms that were free when it was made, including this one."""
    expires_at: Mapped[datetime]

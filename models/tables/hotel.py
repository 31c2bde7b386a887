"""Hotels: what they let, at which price, and how many rooms of it are taken.

The catalogue (everything but the nights) is loaded from a file. Its `tenant_id` is the hotel's owner: a tenant, or
`EVERYONE` for a demo hotel. Whatever is taken belongs to the tenant that took it.
"""

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Numeric
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import HOT, Row

EVERYONE = UUID(int=0)
"""The owner of hotels that every tenant sees. No tenant has this id."""

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
    """What a night costs."""

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
    """How many rooms of a type there are to let on some days of every year, where it is not all of them."""

    __tablename__ = "hotel_allotments"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    room_type: Mapped[str] = mapped_column(primary_key=True)
    starts: Mapped[int] = mapped_column(primary_key=True)
    """First day, as month * 100 + day."""
    ends: Mapped[int]
    """Last day, in the same year."""
    rooms: Mapped[int]


class NightRow(Row):
    """How many rooms of a type a tenant's guests have taken for a night."""

    __tablename__ = "hotel_nights"
    __table_args__ = (CheckConstraint("held >= 0", name="held"), HOT)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    hotel_id: Mapped[str] = mapped_column(primary_key=True)
    room_type: Mapped[str] = mapped_column(primary_key=True)
    night: Mapped[date] = mapped_column(primary_key=True)
    """The day on which it begins."""
    held: Mapped[int]

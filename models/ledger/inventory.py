"""The inventory of hotels: what a stay costs, what is free, what is taken.

What a stay costs is the sum over its nights, each by the season it lies in. What is free is the fewest over its
nights: the rooms to let less those that are taken. A night is the day on which it begins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, insert, select, text, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from models.tables.base import Row
from models.tables.hotel import EVERYONE, AllotmentRow, HotelRow, NightRow, RateRow, RoomTypeRow, SeasonRow

Record = Mapping[str, Any]
"""A row to be, without its owner and hotel."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """What a hotel lets, as rows."""

    hotel: Record
    """With `id` and `digest`."""
    room_types: Sequence[Record]
    seasons: Sequence[Record]
    rates: Sequence[Record]
    allotments: Sequence[Record]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hotel:
    """A hotel as a tenant sees it."""

    owner: UUID
    """Whose catalogue it is in: the tenant's own, or everyone's."""
    id: str
    name: str
    timezone: str
    currency: str
    booking_url: str
    longest_stay_nights: int
    faq: Sequence[Mapping[str, str]]
    rates: Mapping[str, str]
    """Rate code -> its currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomType:
    """Rooms of one kind."""

    code: str
    name: str
    beds: Sequence[Mapping[str, Any]]
    sleeps: int
    boards: Sequence[str]
    amenities: Sequence[str]

    @property
    def features(self) -> frozenset[str]:
        """Codes of what it has: amenities, and kinds of beds."""
        return frozenset([*self.amenities, *(bed["kind"] for bed in self.beds)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """Who wants to sleep there, from when until when."""

    check_in: date
    check_out: date
    adults: int
    children: int = 0
    """From two years on. Babies cost nothing and take no bed."""

    @property
    def nights(self) -> int:
        """How many nights it has."""
        return (self.check_out - self.check_in).days


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What a whole stay costs in a room of a type, with a board, at a rate."""

    room_type: str
    board: str
    rate_code: str
    price: Decimal
    currency: str
    cancellable: bool
    free: int
    """Rooms that are free in every night; 0 or less: sold out."""


# Materialised: it is small, and without statistics Postgres would work it out again for every rate.
_FREE = """
    nights AS (
        SELECT day::date AS night, (extract(month FROM day) * 100 + extract(day FROM day))::int AS month_day
        FROM generate_series(CAST(:check_in AS timestamp), CAST(:check_out AS date) - 1, interval '1 day') AS day
    ), free AS MATERIALIZED (
        SELECT room.code, room.included, min(coalesce(allotted.rooms, room.rooms) - coalesce(taken.held, 0)) AS rooms
        FROM hotel_room_types AS room
        CROSS JOIN nights
        CROSS JOIN LATERAL (
            SELECT min(rooms) AS rooms FROM hotel_allotments AS allotment
            WHERE allotment.tenant_id = room.tenant_id AND allotment.hotel_id = room.hotel_id
                AND allotment.room_type = room.code AND nights.month_day BETWEEN allotment.starts AND allotment.ends
        ) AS allotted
        LEFT JOIN hotel_nights AS taken ON taken.tenant_id = :tenant AND taken.hotel_id = room.hotel_id
            AND taken.room_type = room.code AND taken.night = nights.night
        WHERE room.tenant_id = :owner AND room.hotel_id = :hotel
        GROUP BY room.code, room.included
    )
"""

_QUOTES = text(f"""
    WITH {_FREE}
    SELECT rate.room_type, rate.board, rate.rate_code,
        sum(rate.price + greatest(:adults - free.included, 0) * rate.extra_adult + :children * rate.child) AS price,
        rate.currency, bool_and(rate.cancellable) AS cancellable, free.rooms AS free
    FROM nights
    JOIN hotel_seasons AS season ON season.tenant_id = :owner AND season.hotel_id = :hotel
        AND nights.month_day BETWEEN season.starts AND season.ends
    JOIN hotel_rates AS rate ON rate.tenant_id = :owner AND rate.hotel_id = :hotel AND rate.season = season.season
    JOIN free ON free.code = rate.room_type
    WHERE rate.rate_code = ANY(:rate_codes)
    GROUP BY rate.room_type, rate.board, rate.rate_code, rate.currency, free.rooms
    HAVING count(*) = (SELECT count(*) FROM nights)
    ORDER BY price, rate.room_type, rate.board, rate.rate_code
""")  # noqa: S608 - put together from our own text

_FREE_ROOMS = text(f"WITH {_FREE} SELECT rooms FROM free WHERE code = :room_type")  # noqa: S608 - the same


def hotels_of(db: Session, tenant_id: UUID) -> list[Hotel]:
    """Return a tenant's hotels by id; those of everyone where it has none."""
    rate = select(RateRow.rate_code, RateRow.currency).distinct()
    rate = rate.where(RateRow.tenant_id == HotelRow.tenant_id, RateRow.hotel_id == HotelRow.id)
    each = rate.correlate(HotelRow).lateral()
    query = (
        select(HotelRow, func.jsonb_object_agg(each.c.rate_code, each.c.currency))
        .join(each, text("true"))
        .where(HotelRow.tenant_id.in_([tenant_id, EVERYONE]))
        .group_by(HotelRow.tenant_id, HotelRow.id)
        .order_by(HotelRow.id)
    )
    found = [_hotel(row, rates) for row, rates in db.execute(query)]
    return [hotel for hotel in found if hotel.owner == tenant_id] or found


def room_types(db: Session, hotel: Hotel) -> list[RoomType]:
    """Return a hotel's room types by code."""
    query = select(RoomTypeRow).where(RoomTypeRow.tenant_id == hotel.owner, RoomTypeRow.hotel_id == hotel.id)
    return [
        RoomType(
            code=row.code,
            name=row.name,
            beds=row.beds,
            sleeps=row.sleeps,
            boards=row.boards,
            amenities=row.amenities,
        )
        for row in db.scalars(query.order_by(RoomTypeRow.code))
    ]


def quotes(db: Session, tenant_id: UUID, hotel: Hotel, stay: Stay, rate_codes: Sequence[str]) -> list[Quote]:
    """Return what a stay costs at these rates, whether or not a room is free for it; the lowest price first."""
    given = {"adults": stay.adults, "children": stay.children, "rate_codes": list(rate_codes)}
    rows = db.execute(_QUOTES, _place(tenant_id, hotel, stay) | given)
    return [Quote(**row) for row in rows.mappings()]


def hold(db: Session, tenant_id: UUID, hotel: Hotel, room_type: str, stay: Stay) -> bool:
    """Take a room of a type for each night; False, and nothing is taken, where one of the nights is sold out.

    Of two at once the second waits until the first has committed or rolled back: nights are locked in their order.
    """
    key = {"tenant_id": tenant_id, "hotel_id": hotel.id, "room_type": room_type}
    nights = [key | {"night": stay.check_in + timedelta(days=number), "held": 0} for number in range(stay.nights)]
    db.execute(postgresql.insert(NightRow).values(nights).on_conflict_do_nothing())
    db.execute(select(NightRow.night).where(*_taken(key, stay)).order_by(NightRow.night).with_for_update())
    free = db.scalar(_FREE_ROOMS, _place(tenant_id, hotel, stay) | {"room_type": room_type})
    if free is None or free < 1:
        return False
    db.execute(update(NightRow).where(*_taken(key, stay)).values(held=NightRow.held + 1))
    return True


def release(db: Session, tenant_id: UUID, hotel: Hotel, room_type: str, stay: Stay) -> None:
    """Give back what `hold` has taken."""
    key = {"tenant_id": tenant_id, "hotel_id": hotel.id, "room_type": room_type}
    db.execute(select(NightRow.night).where(*_taken(key, stay)).order_by(NightRow.night).with_for_update())
    db.execute(update(NightRow).where(*_taken(key, stay)).values(held=NightRow.held - 1))


def load(db: Session, tenant_id: UUID | None, catalogue: Catalogue) -> bool:
    """Put a hotel's catalogue in the place of the one there was; False where it is the same. What is taken stays.

    Without a tenant it is everyone's. The hotel's own row comes first: whoever loads the same hotel at the same time
    waits at it.
    """
    owner = tenant_id or EVERYONE
    hotel = {"tenant_id": owner, **catalogue.hotel}
    new = postgresql.insert(HotelRow).values(hotel)
    put = new.on_conflict_do_update(
        index_elements=[HotelRow.tenant_id, HotelRow.id],
        set_={name: new.excluded[name] for name in catalogue.hotel if name != "id"},
        where=HotelRow.digest != new.excluded.digest,
    )
    if db.scalar(put.returning(HotelRow.id)) is None:
        return False
    tables: dict[type[Row], Sequence[Record]] = {
        RoomTypeRow: catalogue.room_types,
        SeasonRow: catalogue.seasons,
        RateRow: catalogue.rates,
        AllotmentRow: catalogue.allotments,
    }
    key = {"tenant_id": owner, "hotel_id": catalogue.hotel["id"]}
    for table, records in tables.items():
        db.execute(delete(table).filter_by(**key))
        if records:
            db.execute(insert(table), [{**key, **record} for record in records])
    return True


def _hotel(row: HotelRow, rates: Mapping[str, str]) -> Hotel:
    return Hotel(
        owner=row.tenant_id,
        id=row.id,
        name=row.name,
        timezone=row.timezone,
        currency=row.currency,
        booking_url=row.booking_url,
        longest_stay_nights=row.longest_stay_nights,
        faq=row.faq,
        rates=rates,
    )


def _place(tenant_id: UUID, hotel: Hotel, stay: Stay) -> dict[str, Any]:
    place = {"tenant": tenant_id, "owner": hotel.owner, "hotel": hotel.id}
    return place | {"check_in": stay.check_in, "check_out": stay.check_out}


def _taken(key: Mapping[str, Any], stay: Stay) -> list[ColumnElement[bool]]:
    """Say that a night is one of a stay's."""
    those = [getattr(NightRow, name) == value for name, value in key.items()]
    return [*those, NightRow.night >= stay.check_in, NightRow.night < stay.check_out]

"""The inventory of hotels says what a stay costs, and which rooms are free.

The price of a stay is the sum over its nights, each by its season. The number of free rooms is the lowest over its
nights: the rooms to let minus those that others hold. A night is the day on which it begins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, insert, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from turnloom.models.tables.base import EVERYONE, Row
from turnloom.tools.packs.hotel.tables import AllotmentRow, HotelRow, RateRow, RoomTypeRow, SeasonRow

Record = Mapping[str, Any]
"""A row to insert, without its owner and hotel."""


@dataclass(frozen=True, kw_only=True)
class HotelCatalogue:
    """A hotel's rooms, boards and rates, as rows."""

    hotel: Record
    """With `id` and `digest`."""
    room_types: Sequence[Record]
    seasons: Sequence[Record]
    rates: Sequence[Record]
    allotments: Sequence[Record]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantHotel:
    """A hotel as a tenant sees it."""

    owner: UUID
    """The owner of its catalogue: the tenant, or everyone."""
    id: str
    name: str
    timezone: str
    currency: str
    booking_url: str
    longest_stay_nights: int
    faq: Sequence[Mapping[str, str]]
    rates: Mapping[str, str]
    """Rate code -> its currency."""
    link_needs: Sequence[str] = ()
    """Details of the guest without which no booking link is made."""
    system: Mapping[str, Any] | None = None
    """The outside system that is asked for its rooms and prices, and how; None: they are in the inventory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomType:
    """Rooms of one kind."""

    code: str
    name: str
    beds: Sequence[Mapping[str, Any]]
    sleeps: int | None
    """Most guests of two years and older. None: the hotel's system knows the limit, and quotes for no more."""
    boards: Sequence[str]
    amenities: Sequence[str]

    @property
    def features(self) -> frozenset[str]:
        """Codes of its amenities and kinds of beds."""
        return frozenset([*self.amenities, *(bed["kind"] for bed in self.beds)])

    def sleeps_all(self, stay: "StayRequest") -> bool:
        """Return whether there is a bed for everybody."""
        return self.sleeps is None or self.sleeps >= stay.adults + stay.children


@dataclass(frozen=True, slots=True, kw_only=True)
class StayRequest:
    """The guests and dates of a requested stay."""

    check_in: date
    check_out: date
    adults: int
    children: int = 0
    """Two years and older."""
    babies: int = 0
    """They cost nothing and take no bed."""

    @property
    def nights(self) -> int:
        """The number of nights."""
        return (self.check_out - self.check_in).days


@dataclass(frozen=True, slots=True)
class Guest:
    """The person who asks. Rooms that other guests hold are not free for them."""

    tenant_id: UUID
    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The price of a whole stay in a room type, with a board, at a rate."""

    room_type: str
    board: str
    rate_code: str
    price: Decimal
    currency: str
    cancellable: bool
    free: int
    """Rooms that are free in every night; 0 or less: sold out."""
    minimum_nights: int = 1
    """A shorter stay cannot be booked."""


# Materialised: it is small, and without statistics Postgres would compute it again for every rate.
_FREE = """
    nights AS (
        SELECT day::date AS night, (extract(month FROM day) * 100 + extract(day FROM day))::int AS month_day
        FROM generate_series(CAST(:check_in AS timestamp), CAST(:check_out AS date) - 1, interval '1 day') AS day
    ), held AS (
        SELECT hold.room_type, nights.night, count(*) AS rooms
        FROM hotel_holds AS hold
        JOIN nights ON nights.night >= hold.check_in AND nights.night < hold.check_out
        WHERE hold.tenant_id = :tenant AND hold.hotel_id = :hotel
            AND hold.conversation_id <> :conversation AND hold.expires_at > statement_timestamp()
        GROUP BY hold.room_type, nights.night
    ), free AS MATERIALIZED (
        SELECT room.code, room.included, min(coalesce(allotted.rooms, room.rooms) - coalesce(held.rooms, 0)) AS rooms
        FROM hotel_room_types AS room
        CROSS JOIN nights
        CROSS JOIN LATERAL (
            SELECT min(rooms) AS rooms FROM hotel_allotments AS allotment
            WHERE allotment.tenant_id = room.tenant_id AND allotment.hotel_id = room.hotel_id
                AND allotment.room_type = room.code AND nights.month_day BETWEEN allotment.starts AND allotment.ends
        ) AS allotted
        LEFT JOIN held ON held.room_type = room.code AND held.night = nights.night
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
""")  # noqa: S608 - built from our own text

_FREE_ROOMS = text(f"WITH {_FREE} SELECT rooms FROM free WHERE code = :room_type")  # noqa: S608 - the same


def hotels_of(db: Session, tenant_id: UUID) -> list[TenantHotel]:
    """Return a tenant's hotels by id; if it has none, those of everyone."""
    rate = select(RateRow.rate_code, RateRow.currency).distinct()
    rate = rate.where(RateRow.tenant_id == HotelRow.tenant_id, RateRow.hotel_id == HotelRow.id)
    each = rate.correlate(HotelRow).lateral()
    rates = func.jsonb_object_agg(each.c.rate_code, each.c.currency).filter(each.c.rate_code.is_not(None))
    query = (
        select(HotelRow, rates)
        .outerjoin(each, text("true"))
        .where(HotelRow.tenant_id.in_([tenant_id, EVERYONE]))
        .group_by(HotelRow.tenant_id, HotelRow.id)
        .order_by(HotelRow.id)
    )
    found = [_hotel(row, its_rates) for row, its_rates in db.execute(query)]
    return [hotel for hotel in found if hotel.owner == tenant_id] or found


def room_types(db: Session, hotel: TenantHotel) -> list[RoomType]:
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


def quotes(db: Session, guest: Guest, hotel: TenantHotel, stay: StayRequest, rate_codes: Sequence[str]) -> list[Quote]:
    """Return the quotes for a stay at these rates, the lowest price first, whether or not a room is free."""
    given = {"adults": stay.adults, "children": stay.children, "rate_codes": list(rate_codes)}
    rows = db.execute(_QUOTES, _place(guest, hotel, stay) | given)
    return [Quote(**row) for row in rows.mappings()]


def free_rooms(db: Session, guest: Guest, hotel: TenantHotel, stay: StayRequest, room_type: str) -> int:
    """Return how many rooms of a type are free in every night of a stay; 0 or less: sold out."""
    return db.scalar(_FREE_ROOMS, _place(guest, hotel, stay) | {"room_type": room_type}) or 0


def load(db: Session, tenant_id: UUID | None, catalogue: HotelCatalogue) -> bool:
    """Replace a hotel's catalogue; False if it is the same. Holds stay.

    Without a tenant it is everyone's. The hotel's own row is written first: another load of the same hotel waits for
    it.
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


def _hotel(row: HotelRow, rates: Mapping[str, str] | None) -> TenantHotel:
    return TenantHotel(
        owner=row.tenant_id,
        id=row.id,
        name=row.name,
        timezone=row.timezone,
        currency=row.currency,
        booking_url=row.booking_url,
        longest_stay_nights=row.longest_stay_nights,
        faq=row.faq,
        link_needs=row.link_needs,
        rates=rates or (row.system or {}).get("rates", {}),
        system=row.system,
    )


def _place(guest: Guest, hotel: TenantHotel, stay: StayRequest) -> dict[str, Any]:
    asks = {"tenant": guest.tenant_id, "conversation": guest.conversation_id}
    return asks | {"owner": hotel.owner, "hotel": hotel.id, "check_in": stay.check_in, "check_out": stay.check_out}

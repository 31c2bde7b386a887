"""Holds are rooms of the inventory that a booking link keeps for a conversation, until the link expires.

A conversation holds one room of a hotel at a time: a new hold replaces its earlier one. An expired hold no longer
counts; its row is deleted with the hotel's next hold.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from turnloom.tools.packs.hotel.store.inventory import Guest, Quote, StayRequest, TenantHotel, free_rooms
from turnloom.tools.packs.hotel.tables import HoldRow

VALID_MINUTES = 30
"""The duration of a hold."""

_NOW = func.statement_timestamp()


@dataclass(frozen=True, slots=True)
class Hold:
    """A room that is kept for a conversation."""

    quote: Quote
    expires_at: datetime


def take(db: Session, guest: Guest, hotel: TenantHotel, stay: StayRequest, quote: Quote, key: str) -> Hold | None:
    """Hold a room, or renew the hold, under the call's idempotency key. None: it is sold out, and nothing changes.

    A second call for the same hotel waits until the first has committed or rolled back, and only then counts. So the
    last room has one hold. Both use the database's clock.
    """
    db.execute(select(func.pg_advisory_xact_lock(_hotel_lock(guest, hotel))))
    db.execute(delete(HoldRow).where(*_at(guest, hotel), HoldRow.expires_at <= _NOW))
    free = free_rooms(db, guest, hotel, stay, quote.room_type)
    if free < 1:
        return None
    new = postgresql.insert(HoldRow).values(
        tenant_id=guest.tenant_id,
        hotel_id=hotel.id,
        conversation_id=guest.conversation_id,
        key=key,
        check_in=stay.check_in,
        check_out=stay.check_out,
        room_type=quote.room_type,
        board=quote.board,
        rate_code=quote.rate_code,
        price=quote.price,
        currency=quote.currency,
        cancellable=quote.cancellable,
        free=free,
        expires_at=_NOW + func.make_interval(0, 0, 0, 0, 0, VALID_MINUTES),
    )
    own = [HoldRow.tenant_id, HoldRow.hotel_id, HoldRow.conversation_id]
    changed = {column.name: new.excluded[column.name] for column in HoldRow.__table__.columns if not column.primary_key}
    put = new.on_conflict_do_update(index_elements=own, set_=changed).returning(HoldRow)
    return _hold(db.scalars(put, execution_options={"populate_existing": True}).one())


def find(db: Session, guest: Guest, hotel: TenantHotel, key: str) -> Hold | None:
    """Return a conversation's hold at a hotel, if the call with this key made it and it has not expired."""
    query = select(HoldRow).where(*_at(guest, hotel), HoldRow.conversation_id == guest.conversation_id)
    row = db.scalar(query.where(HoldRow.key == key, HoldRow.expires_at > _NOW))
    return None if row is None else _hold(row)


def erase(db: Session, tenant_id: UUID, conversation_id: str) -> None:
    """Erase a conversation's holds: their rooms are free again."""
    db.execute(delete(HoldRow).where(HoldRow.tenant_id == tenant_id, HoldRow.conversation_id == conversation_id))


def _at(guest: Guest, hotel: TenantHotel) -> tuple[ColumnElement[bool], ...]:
    return HoldRow.tenant_id == guest.tenant_id, HoldRow.hotel_id == hotel.id


def _hotel_lock(guest: Guest, hotel: TenantHotel) -> ColumnElement[int]:
    return func.hashtextextended(f"hold|{guest.tenant_id}|{hotel.id}", 0)


def _hold(row: HoldRow) -> Hold:
    quote = Quote(
        room_type=row.room_type,
        board=row.board,
        rate_code=row.rate_code,
        price=row.price,
        currency=row.currency,
        cancellable=row.cancellable,
        free=row.free,
    )
    return Hold(quote, row.expires_at)

"""The sim pack's counts and writes are kept here."""

from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.tables.turns import TurnRow
from turnloom.tools.packs.sim.tables import SimCallRow, SimWriteRow


def count_call(db: Session, *, tenant_id: UUID, turn_id: UUID, step_id: str) -> int:
    """Count one more call of a step; return the new count."""
    first = insert(SimCallRow).values(turn_id=turn_id, step_id=step_id, tenant_id=tenant_id, calls=1)
    key = [SimCallRow.turn_id, SimCallRow.step_id, SimCallRow.tenant_id]
    again = first.on_conflict_do_update(index_elements=key, set_={"calls": SimCallRow.calls + 1})
    return db.scalars(again.returning(SimCallRow.calls)).one()


def write_once(db: Session, *, key: str, tenant_id: UUID, turn_id: UUID, step_id: str, value: Any) -> tuple[Any, bool]:
    """Write a value unless the key has one; return the key's value, and whether this call wrote it.

    Of two calls at once, the second waits until the first has committed or rolled back.
    """
    row = {"key": key, "tenant_id": tenant_id, "turn_id": turn_id, "step_id": step_id, "value": value}
    written = insert(SimWriteRow).values(**row).on_conflict_do_nothing().returning(SimWriteRow.key)
    if db.scalars(written).one_or_none() is not None:
        return value, True
    stands = find_write(db, key=key, tenant_id=tenant_id)
    assert stands is not None
    return stands[0], False


def find_write(db: Session, *, key: str, tenant_id: UUID) -> tuple[Any] | None:
    """Return the value of a key; None if it has none."""
    query = select(SimWriteRow.value).where(SimWriteRow.key == key, SimWriteRow.tenant_id == tenant_id)
    row = db.execute(query).one_or_none()
    return None if row is None else (row[0],)


def erase(db: Session, tenant_id: UUID, conversation_id: str) -> None:
    """Erase the values that a conversation's turns have written."""
    turns = select(TurnRow.id).where(TurnRow.tenant_id == tenant_id, TurnRow.conversation_id == conversation_id)
    written = update(SimWriteRow).where(SimWriteRow.turn_id.in_(turns)).values(value=None)
    db.execute(written, execution_options={"synchronize_session": False})

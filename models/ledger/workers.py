"""Workers: beat, be forgotten, be found alive."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.tables.workers import WorkerRow


def beat(db: Session, name: str, queues: Sequence[str]) -> None:
    """Record that a worker is there now."""
    now = func.clock_timestamp()
    row = insert(WorkerRow).values(name=name, queues=list(queues), started_at=now, beat_at=now)
    db.execute(row.on_conflict_do_update(index_elements=["name"], set_={"beat_at": now, "queues": list(queues)}))


def forget(db: Session, name: str) -> None:
    """Record that a worker has ended."""
    db.execute(delete(WorkerRow).where(WorkerRow.name == name))


def are_alive(db: Session, queue: str, within: timedelta) -> bool:
    """Tell whether a worker that takes from this queue has beaten lately."""
    beaten = WorkerRow.beat_at > func.clock_timestamp() - within
    found: str | None = db.scalar(select(WorkerRow.name).where(beaten, WorkerRow.queues.contains([queue])).limit(1))
    return found is not None

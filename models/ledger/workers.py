"""Workers: beat, be forgotten, be found alive."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models.tables.workers import WorkerRow


def beat(db: Session, name: str, queues: Sequence[str], slots: int) -> None:
    """Record that a worker is there now."""
    now = func.clock_timestamp()
    state = {"queues": list(queues), "slots": slots, "beat_at": now}
    row = insert(WorkerRow).values(name=name, started_at=now, **state)
    db.execute(row.on_conflict_do_update(index_elements=["name"], set_=state))


def forget(db: Session, name: str) -> None:
    """Record that a worker has ended."""
    db.execute(delete(WorkerRow).where(WorkerRow.name == name))


def slots_by_queue(db: Session, within: timedelta) -> dict[str, int]:
    """Return how many tasks of each queue the living workers run at the same time."""
    queue = func.unnest(WorkerRow.queues)
    query = select(queue, func.sum(WorkerRow.slots)).where(WorkerRow.beat_at > func.clock_timestamp() - within)
    return {name: int(slots) for name, slots in db.execute(query.group_by(queue))}

"""Workers are recorded here by their heartbeats, so that the living ones can be counted."""

from collections.abc import Sequence
from datetime import timedelta

import psycopg
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from turnloom.models.tables.workers import WorkerRow


def beat(db: psycopg.Connection, name: str, queues: Sequence[str], slots: int) -> None:
    """Record a worker's heartbeat."""
    db.execute(
        "INSERT INTO workers AS w (name, queues, slots, started_at, beat_at)"
        " VALUES (%s, %s, %s, clock_timestamp(), clock_timestamp())"
        " ON CONFLICT (name) DO UPDATE"
        " SET queues = excluded.queues, slots = excluded.slots, beat_at = excluded.beat_at",
        (name, list(queues), slots),
    )


def forget(db: psycopg.Connection, name: str) -> None:
    """Record that a worker has ended."""
    db.execute("DELETE FROM workers WHERE name = %s", (name,))


def slots_by_queue(db: Session, within: timedelta) -> dict[str, int]:
    """Return how many tasks of each queue the living workers run at the same time."""
    queue = func.unnest(WorkerRow.queues)
    query = select(queue, func.sum(WorkerRow.slots)).where(WorkerRow.beat_at > func.clock_timestamp() - within)
    return {name: int(slots) for name, slots in db.execute(query.group_by(queue))}

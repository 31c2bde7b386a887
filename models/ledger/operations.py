"""Operators' view of the ledger: what waits, who works, and how it went lately. Of all tenants, in bounded time."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, func, select, text
from sqlalchemy.orm import Session

from turnloom.models.contracts.operations import Segment
from turnloom.models.runtime.ids import first_id
from turnloom.models.tables.channels import IS_PENDING, DeliveryRow
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import IN_BACKLOG, TurnRow
from turnloom.models.tables.workers import WorkerRow

LATELY = timedelta(minutes=5)
_MOST_TURNS, _MOST_IN_WORK = 2_000, 1_000
_SHOWN = timedelta(minutes=1)


def at(db: Session) -> datetime:
    """Return the time of the database."""
    return cast("datetime", db.scalar(select(func.clock_timestamp())))


def waiting_since(db: Session) -> dict[str, datetime]:
    """Return since when what has waited longest waits for a worker of each queue. Queues without such are left out."""
    sent = select(func.min(TurnRow.sent_at)).where(text("status = 'queued' AND sent_at IS NOT NULL"))
    in_work = select(TurnRow.id, TurnRow.status, TurnRow.lease_until, TurnRow.responding_at).where(text(IN_BACKLOG))
    oldest = in_work.order_by(TurnRow.id).limit(_MOST_IN_WORK).subquery()
    to_answer = select(func.min(oldest.c.responding_at)).where(
        oldest.c.status == "responding", oldest.c.lease_until.is_(None)
    )
    ready = (
        select(StepRow.queue, func.min(StepRow.ready_at))
        .join(oldest, oldest.c.id == StepRow.turn_id)
        .where(StepRow.status == "pending", StepRow.ready_at.is_not(None), StepRow.not_before.is_(None))
        .where(oldest.c.status == "running", StepRow.error.is_(None))
        .group_by(StepRow.queue)
    )
    to_send = select(func.min(DeliveryRow.queued_at)).where(
        text(IS_PENDING), DeliveryRow.lease_until.is_(None), DeliveryRow.not_before.is_(None)
    )
    found = {"plan": db.scalar(sent), "respond": db.scalar(to_answer), "deliver": db.scalar(to_send)}
    found |= dict(db.execute(ready).all())
    return {queue: since for queue, since in found.items() if since is not None}


def worker_rows(db: Session) -> list[tuple[WorkerRow, int]]:
    """Return the workers that have beaten lately, each with the number of steps that it runs."""
    name = func.split_part(StepRow.worker, "/", 1)
    running: dict[str, int] = dict(
        db.execute(select(name, func.count()).where(text("status = 'running'")).group_by(name)).all()
    )
    lately = WorkerRow.beat_at > func.clock_timestamp() - _SHOWN
    rows = db.scalars(select(WorkerRow).where(lately).order_by(WorkerRow.name))
    return [(row, running.get(row.name, 0)) for row in rows]


def recent_turns(db: Session, now: datetime) -> list[UUID]:
    """Return the newest turns of the last minutes, the newest first."""
    query = select(TurnRow.id).where(TurnRow.id >= first_id(now - LATELY)).order_by(TurnRow.id.desc())
    return list(db.scalars(query.limit(_MOST_TURNS)))


def outcome(db: Session, turns: list[UUID]) -> Mapping[str, Any]:
    """Return how these turns went: `ended`, `failed`, and of each segment `NAME_turns, NAME_p50, NAME_p95` (in ms)."""
    ended = TurnRow.finished_at.is_not(None)
    sums: list[ColumnElement[Any]] = [
        func.count().filter(ended).label("ended"),
        func.count().filter(TurnRow.status == "failed").label("failed"),
    ]
    worked = _worked(turns).subquery()
    sent = _sent(turns).subquery()
    parts: dict[Segment, ColumnElement[Any]] = {
        "queue": _ms(TurnRow.created_at, TurnRow.begun_at),
        "plan": case((TurnRow.planned_at.is_not(None), TurnRow.planning_ms)),
        "tools": worked.c.ms,
        "answer": _ms(TurnRow.responding_at, TurnRow.finished_at),
        "delivery": sent.c.ms,
    }
    for segment, took in parts.items():
        sums.append(func.count(took).label(f"{segment}_turns"))
        sums += [func.percentile_cont(n / 100).within_group(took).label(f"{segment}_p{n}") for n in (50, 95)]
    query = select(*sums).outerjoin(worked, worked.c.turn_id == TurnRow.id)
    query = query.outerjoin(sent, sent.c.turn_id == TurnRow.id).where(TurnRow.id.in_(turns))
    return {str(name): value for name, value in db.execute(query).mappings().one().items()}


def _worked(turns: list[UUID]) -> Select[Any]:
    took = _ms(func.min(StepRow.started_at), func.max(StepRow.finished_at))
    ran = StepRow.started_at.is_not(None)
    return select(StepRow.turn_id, took.label("ms")).where(StepRow.turn_id.in_(turns), ran).group_by(StepRow.turn_id)


def _sent(turns: list[UUID]) -> Select[Any]:
    took = _ms(func.min(DeliveryRow.queued_at), func.min(DeliveryRow.finished_at))
    return (
        select(DeliveryRow.turn_id, took.label("ms"))
        .where(DeliveryRow.turn_id.in_(turns), DeliveryRow.finished_at.is_not(None))
        .group_by(DeliveryRow.turn_id)
    )


def _ms(begin: Any, end: Any) -> ColumnElement[Any]:
    return func.extract("epoch", end - begin) * 1_000

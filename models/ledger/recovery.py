"""Recovery finds the work that nobody holds, and takes it back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import text
from sqlalchemy.orm import Session

from turnloom.models.contracts.event import Event, read_events
from turnloom.models.ledger.transitions import call, call_rows

LEASE_MS = 6_000
"""How long a claim holds without renewal: three heartbeats of a worker."""
LEAD_MS = 4_000
"""How long a process leads recovery without renewal. A frozen process keeps others out no longer than this."""
MAX_ATTEMPTS = 5
"""Claims of one step, or of planning a turn, after which it is assumed to kill its workers."""

Kind = Literal["plan", "respond", "steps", "effect"]


@dataclass(frozen=True)
class LostTurn:
    """A turn with work that nobody holds: its planning, its reply, a step, or a call that it left behind."""

    id: UUID
    kind: Kind


@dataclass(frozen=True)
class Reclaimed:
    """A running turn whose lost steps were taken back, with its new generation."""

    generation: int
    placement: str
    max_parallel: int | None
    """Steps that may run at the same time."""
    steps: list[dict[str, Any]]
    """Columns of `StepRow`, one entry per step that is not final; of its needs, those that are not final either.
    `is_pinned`: whether it must not be sent, because somebody runs it or it is parked."""
    respond: int | None
    """The turn's fence for the reply, if no step is left to run."""
    events: list[Event]


def lead(db: psycopg.Connection, holder: str) -> bool:
    """Become or stay the process that leads recovery, for a few seconds; False while another process leads."""
    row = db.execute(
        "INSERT INTO leaders AS l (name, holder, lease_until)"
        " VALUES ('recovery', %s, clock_timestamp() + make_interval(secs => %s / 1000.0))"
        " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until"
        " WHERE l.holder = excluded.holder OR l.lease_until < clock_timestamp() RETURNING name",
        (holder, LEAD_MS),
    ).fetchone()
    return row is not None


def is_anything_open(db: psycopg.Connection) -> bool:
    """Return whether there is a turn or a step that somebody should hold, or that may time out, or a due callback."""
    row = db.execute(
        "SELECT EXISTS (SELECT FROM turns WHERE status IN ('queued', 'planning', 'running', 'responding'))"
        " OR EXISTS (SELECT FROM steps WHERE status = 'running')"
        " OR EXISTS (SELECT FROM steps WHERE status = 'waiting_approval')"
        " OR EXISTS (SELECT FROM callbacks WHERE status = 'pending' AND due_at <= clock_timestamp())"
    ).fetchone()
    return row is not None and row[0]


def could_renew(db: Session, lease_ms: int) -> bool:
    """Return whether Postgres has been up for as long as a lease: before that, an expired lease means nothing."""
    query = text("SELECT pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => :lease / 1000.0)")
    return bool(db.scalar(query, {"lease": lease_ms}))


def find_lost(db: Session, grace: timedelta, busy_queues: Sequence[str], limit: int) -> list[LostTurn]:
    """Return turns that nobody holds. Ready steps on a busy queue are only waiting."""
    grace_ms = round(grace.total_seconds() * 1000)
    rows = call_rows(db, "find_lost", grace_ms=grace_ms, busy_queues=list(busy_queues), limit=limit)
    return [LostTurn(turn_id, kind) for turn_id, kind in rows]


def take_unsent(db: Session, grace: timedelta, limit: int) -> list[UUID]:
    """Take the active queued turns that no planner took within `grace`, which doubles each time."""
    grace_ms = round(grace.total_seconds() * 1000)
    return [turn_id for (turn_id,) in call_rows(db, "take_unsent", grace_ms=grace_ms, limit=limit)]


@dataclass(frozen=True)
class Gone:
    """A process that has ended, so that its leases need not expire first."""

    worker: str
    overran: bool
    """Whether it was killed because its step took too long: then the step is final."""


def reclaim(
    db: Session, turn_id: UUID, max_attempts: int, lease_ms: int, gone: Gone | None = None, *, resumed: bool = False
) -> Reclaimed | None:
    """Take back the lost steps of a running turn. None: it does not run.

    `resumed`: a step that had to wait may go on.
    """
    found = call(
        db,
        "reclaim",
        turn=turn_id,
        max_attempts=max_attempts,
        lease_ms=lease_ms,
        gone=gone.worker if gone else None,
        overran=gone is not None and gone.overran,
        resumed=resumed,
    )
    if found is None:
        return None
    return Reclaimed(
        generation=found["generation"],
        placement=found["placement"],
        max_parallel=found["max_parallel"],
        steps=found["nodes"],
        respond=found["respond"],
        events=read_events(found["events"]),
    )


def give_up(db: psycopg.Connection, turn_id: UUID) -> list[Event]:
    """End a closed turn's lost calls as unknown; return the events, none if the turn is final."""
    return read_events(call(db, "give_up", turn=turn_id))


def store_fragments(db: Session, turn_id: UUID, fragments: list[dict[str, Any]]) -> list[int]:
    """Store the fragments of a new generation, in the transaction that made it.

    Returns the numbers of those that the caller must publish.
    """
    return cast("list[int]", call(db, "store_canvas", turn=turn_id, fragments=Jsonb(fragments)))


def requeue(db: psycopg.Connection, turn_id: UUID) -> bool:
    """Return a turn whose planner was lost to the queue; False if it is held, or has its plan."""
    return bool(call(db, "requeue", turn=turn_id))


def take_over(db: psycopg.Connection, turn_id: UUID, lease_ms: int) -> int | None:
    """Take over a turn whose responder was lost; return the new fence, None if it is held or has ended."""
    return cast("int | None", call(db, "take_over", turn=turn_id, lease_ms=lease_ms))


def postpone(
    db: psycopg.Connection, turn_id: UUID, attempt: int, pauses_ms: Sequence[int], error: dict[str, str]
) -> list[Event] | None:
    """Postpone the planning or the reply of a turn until it may be tried again; return its events.

    None: its deadline comes first, or the fence is old.
    """
    found = call(db, "postpone_turn", turn=turn_id, attempt=attempt, pauses_ms=list(pauses_ms), error=Jsonb(error))
    return read_events(found) if found is not None else None


def renew_leases(
    db: psycopg.Connection, steps: Sequence[tuple[UUID, str, int]], turns: Sequence[tuple[UUID, int]], lease_ms: int
) -> None:
    """Renew the leases of steps (turn, step, attempt) and of turns (turn, attempt) that this process works on."""
    held_steps = [{"turn": str(turn), "id": step, "attempt": attempt} for turn, step, attempt in steps]
    held_turns = [{"turn": str(turn), "attempt": attempt} for turn, attempt in turns]
    call(db, "renew_leases", steps=Jsonb(held_steps), turns=Jsonb(held_turns), lease_ms=lease_ms)


def renew_held(db: psycopg.Connection, held: Sequence[tuple[UUID, str]], lease_ms: int) -> None:
    """Renew the leases of the steps of a turn that another process (turn, worker) works on."""
    named = [{"turn": str(turn), "worker": worker} for turn, worker in held]
    call(db, "renew_held", held=Jsonb(named), lease_ms=lease_ms)

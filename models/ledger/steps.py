"""Steps: claim, record and go on, read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from models.contracts.event import Event, read_events
from models.ledger.replies import Material, read_material
from models.tables.steps import StepRow

Ended = Literal["succeeded", "needs_input", "failed", "skipped", "cancelled", "unknown"]
"""How a claimed step can end."""

Verdict = Literal["claimed", "done", "closed", "stale", "busy", "early"]


@dataclass(frozen=True)
class ClaimedStep:
    """A step that this process may run, until its lease ends."""

    id: str
    tool: str
    attempt: int
    """The fence: the outcome is recorded under this number or not at all. 0: a read that was only looked at."""
    args: dict[str, Any]
    timeout_ms: int
    effect: str
    run_if: dict[str, Any] | None
    fallbacks: list[dict[str, Any]]
    """Calls `{tool, args}` to try when the step's own fails."""
    copy_of: str | None
    """The step whose result, among the inputs, is this one's too."""
    unsure: bool
    """An earlier call with an effect was lost: its outcome is to be asked for first."""
    left_ms: int
    """Time until the turn's deadline."""
    inputs: dict[str, Any]
    """Results that the arguments refer to, by step."""
    waits: list[str]
    """Steps claimed together with it that have to succeed before it begins; it has their results from its executor."""
    has_rivals: bool
    """Of one with an effect: another step of the turn has the same tool."""


@dataclass(frozen=True)
class TurnFacts:
    """The facts of a turn that an executor needs."""

    tenant_id: UUID
    conversation_id: str
    person: dict[str, Any]
    is_capped: bool
    """Whether ready steps may wait for a place among those that are under way."""


@dataclass(frozen=True)
class ClaimedLane:
    """A lane to go on with. `step` is None where its next one has an effect, or cannot be claimed yet."""

    steps: list[str]
    step: ClaimedStep | None
    effect: str | None = None
    """Of the next step, where that is not claimed."""


@dataclass(frozen=True)
class Claim:
    """The answer to a message that asks for the next step of each of its lanes."""

    verdict: Verdict
    """`done`: every step of the lanes is final. The last four say why nothing was claimed."""
    lanes: list[ClaimedLane]
    """Those that are not at their end."""
    turn: TurnFacts | None
    at: float
    """The ledger's time, in seconds since 1970."""
    events: list[Event]


@dataclass(frozen=True)
class FinishedStep:
    """The outcome of a step, to be recorded."""

    id: str
    attempt: int
    status: Ended
    result: Any = None
    error: dict[str, Any] | None = None
    cache: str | None = None
    """Why no call was made. `memory`: the result was remembered; `shared`: it was fetched for another step."""
    input_hash: str | None = None
    """Of the call, where it has an effect or its tool's results are remembered."""
    remember: dict[str, Any] | None = None
    """`{tool, args, for_s}`: the call whose result is to be remembered, and for how long."""
    began_at: float | None = None
    """When it began, where it had been waiting when it was claimed: in seconds since 1970, by the ledger's clock."""
    ended_at: float | None = None
    """When it ended; None: now."""
    ask_again: bool = False
    """Of one that is unknown: its backend could not be asked, and may be asked later."""


@dataclass(frozen=True)
class BegunStep:
    """A step that had been waiting when it was claimed, and runs now."""

    id: str
    attempt: int
    """0: it is to be claimed now."""
    began_at: float
    """In seconds since 1970, by the ledger's clock."""


@dataclass(frozen=True)
class BegunEffect:
    """The ledger's answer to a call with an effect that is about to be made."""

    is_ours: bool
    """Whether the claim still holds."""
    rival: str | None
    """The step that makes the same call, or has made it, or may have."""


@dataclass(frozen=True)
class Advance:
    """The result of committing finished steps."""

    fenced: list[str]
    """Steps whose fence was old: nothing was recorded for them, and those that were to be claimed are not."""
    are_elsewhere: bool
    """Whether somebody else has one of those that were only looked at, or is to have it."""
    claimed: list[ClaimedLane]
    fragments: list[dict[str, Any]]
    """Expressions that became ready and are the caller's to publish."""
    generation: int
    """The generation to publish them in."""
    respond: int | None
    """The turn's fence for the reply, where these steps were the last."""
    material: Material | None
    """What the reply is made from, with it."""
    at: float
    """The ledger's time, in seconds since 1970."""
    events: list[Event]


@dataclass(frozen=True)
class Holder:
    """The process that claims steps, and the extra time of its leases beyond a step's own timeout."""

    worker: str
    lease_ms: int


@dataclass(frozen=True)
class Wanted:
    """An executor's state when some of its steps have finished: the steps it still holds and its free capacity."""

    lanes: Sequence[Sequence[str]]
    """The rest of each lane that it is on."""
    queue: str
    take: int
    """Free slots for further lanes of this queue."""
    mixed: bool
    """Whether these may begin with a step that has an effect."""
    begun: Sequence[BegunStep] = ()
    back: Sequence[str] = ()
    """Steps that wait, and that it gives back."""


def claim(
    db: psycopg.Connection, turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int, holder: Holder
) -> Claim:
    """Claim the next step of each lane."""
    row = db.execute(
        "SELECT hot.claim_lanes(%s, %s, %s, %s, %s)",
        (turn_id, Jsonb(lanes), generation, holder.worker, holder.lease_ms),
        prepare=True,
    ).fetchone()
    assert row is not None
    return read_claim(row[0])


def look(db: psycopg.Connection, turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int) -> Claim | None:
    """Look at the steps that lanes go on with, where these are reads that may run without a claim; None: claim them."""
    query = "SELECT hot.look(%s, %s, %s)"
    row = db.execute(query, (turn_id, Jsonb(lanes), generation), prepare=True).fetchone()
    return read_claim(row[0]) if row and row[0] else None


def begin_effect(db: psycopg.Connection, turn_id: UUID, step_id: str, attempt: int, call_hash: str) -> BegunEffect:
    """Note which call a claimed step is about to make, unless another step of its turn makes the same one."""
    row = db.execute("SELECT hot.begin_effect(%s, %s, %s, %s)", (turn_id, step_id, attempt, call_hash)).fetchone()
    assert row is not None
    return BegunEffect(**row[0])


def advance(
    db: psycopg.Connection,
    turn_id: UUID,
    generation: int,
    finished: Sequence[FinishedStep],
    wanted: Wanted,
    holder: Holder,
) -> Advance:
    """Record what finished and take what became ready: the rest of the lanes, then up to `take` lanes of the queue."""
    row = db.execute(
        "SELECT hot.advance(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            turn_id,
            generation,
            holder.worker,
            Jsonb([vars(step) for step in finished]),
            Jsonb([vars(step) for step in wanted.begun]),
            list(wanted.back),
            Jsonb(wanted.lanes),
            wanted.queue,
            wanted.take,
            wanted.mixed,
            holder.lease_ms,
        ),
        prepare=True,
    ).fetchone()
    assert row is not None
    return read_advance(row[0])


def read_advance(found: dict[str, Any]) -> Advance:
    """Read what `hot.advance` returns."""
    return Advance(
        fenced=found["fenced"],
        are_elsewhere=found["are_elsewhere"],
        claimed=read_lanes(found["claimed"]),
        fragments=found["fragments"],
        generation=found["generation"],
        respond=found.get("respond"),
        material=read_material(found["material"]) if found.get("material") else None,
        at=found["at"],
        events=read_events(found["events"]),
    )


def read_lanes(entries: list[dict[str, Any]]) -> list[ClaimedLane]:
    """Read what `hot.claim_of` has claimed."""
    return [
        ClaimedLane(entry["lane"], ClaimedStep(**entry["step"]) if entry["step"] else None, entry.get("effect"))
        for entry in entries
    ]


def read_claim(found: dict[str, Any]) -> Claim:
    """Read what `hot.claim_lanes` or `hot.look` returns."""
    if found["verdict"] != "claimed":
        return Claim(found["verdict"], [], None, 0.0, [])
    turn = found["turn"]
    facts = TurnFacts(UUID(turn["tenant_id"]), turn["conversation_id"], turn["person"], turn["is_capped"])
    events = read_events(found["events"]) if "events" in found else []
    return Claim("claimed", read_lanes(found["claimed"]), facts, found["at"], events)


def of_turn(db: Session, turn_id: UUID) -> list[StepRow]:
    """Return the steps of a turn in the order of its plans."""
    query = select(StepRow).where(StepRow.turn_id == turn_id).order_by(StepRow.revision, StepRow.position)
    return list(db.scalars(query))

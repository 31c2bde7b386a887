"""Steps are claimed, recorded and read here; recording a step also claims the next ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.event import Event, read_events
from turnloom.models.contracts.material import Material
from turnloom.models.contracts.plan import FinalStepStatus, call_limit_ms
from turnloom.models.ledger.replies import read_material
from turnloom.models.ledger.transitions import call
from turnloom.models.tables.steps import StepRow

Verdict = Literal["claimed", "done", "closed", "stale", "busy", "early"]


@dataclass(frozen=True)
class ClaimedStep:
    """A step that this process may run, until its lease ends."""

    id: str
    tool: str
    attempt: int
    """The fence: the outcome is recorded only under this number. 0: a read that was only looked at."""
    args: dict[str, Any]
    timeout_ms: int
    effect: str
    run_if: dict[str, Any] | None
    fallbacks: list[dict[str, Any]]
    """Calls `{tool, args}` to try if the step's own call fails."""
    copy_of: str | None
    """The step whose result, found in `inputs`, is also this one's."""
    unsure: bool
    """Whether an earlier call with an effect was lost: ask for its outcome first."""
    left_ms: int
    """Time until the turn's deadline."""
    inputs: dict[str, Any]
    """Results that the arguments refer to, by step."""
    waits: list[str]
    """Steps claimed together with it that must succeed before it begins; its executor gives it their results."""
    has_rivals: bool
    """Whether it has an effect and another step of the turn has the same tool."""

    @property
    def limit_ms(self) -> int:
        """Time limit of its call with its fallbacks', within the turn's deadline."""
        return min(call_limit_ms(self.timeout_ms, self.fallbacks), self.left_ms)


@dataclass(frozen=True)
class TurnFacts:
    """The facts of a turn that an executor needs."""

    tenant_id: UUID
    conversation_id: str
    person: dict[str, Any]
    is_capped: bool
    """Whether ready steps may have to wait because the turn has a cap on running steps."""
    agent: str


@dataclass(frozen=True)
class ClaimedLane:
    """A lane to continue. `step` is None if the next step has an effect, or cannot be claimed yet."""

    steps: list[str]
    step: ClaimedStep | None
    effect: str | None = None
    """The effect of the next step, if that is not claimed."""


@dataclass(frozen=True)
class StepClaim:
    """The result of claiming the next step of each lane of a message."""

    verdict: Verdict
    """`done`: every step of the lanes is final. The last four say why nothing was claimed."""
    lanes: list[ClaimedLane]
    """The lanes that are not at their end."""
    turn: TurnFacts | None
    at: float
    """The ledger's time, in seconds since 1970."""
    events: list[Event]


@dataclass(frozen=True)
class FinishedStep:
    """The outcome of a step, ready to be recorded."""

    id: str
    attempt: int
    status: FinalStepStatus
    result: Any = None
    error: dict[str, Any] | None = None
    cache: str | None = None
    """Why no call was made. `memory`: the result was memoised; `shared`: it was fetched for another step."""
    input_hash: str | None = None
    """The hash of the call, if it has an effect or its tool's results are memoised."""
    remember: dict[str, Any] | None = None
    """`{tool, args, for_s}`: the call whose result to memoise, and for how long."""
    began_at: float | None = None
    """When it began, if it waited after its claim: in seconds since 1970, by the ledger's clock."""
    ended_at: float | None = None
    """When it ended; None: now."""
    ask_again: bool = False
    """Whether the outcome is unknown because the backend could not be asked, and may be asked later."""


@dataclass(frozen=True)
class BegunStep:
    """A step that waited after its claim, and runs now."""

    id: str
    attempt: int
    """0: it must be claimed now."""
    began_at: float
    """In seconds since 1970, by the ledger's clock."""


@dataclass(frozen=True)
class BegunEffect:
    """The ledger's answer before a call with an effect is made."""

    is_ours: bool
    """Whether the claim still holds."""
    rival: str | None
    """Another step that makes or made the same call, or may have made it."""


@dataclass(frozen=True)
class Advance:
    """The result of committing finished steps."""

    fenced: list[str]
    """Steps whose fence was old: nothing was recorded for them, and those to claim were not claimed."""
    are_elsewhere: bool
    """Whether another executor has, or will get, a step that was only looked at."""
    claimed: list[ClaimedLane]
    fragments: list[dict[str, Any]]
    """Expressions of the fragments that became ready. The caller must publish them."""
    generation: int
    """The generation to publish them in."""
    respond: int | None
    """The turn's fence for the reply, if these steps were the last."""
    material: Material | None
    """The reply's material, with the fence."""
    at: float
    """The ledger's time, in seconds since 1970."""
    events: list[Event]


@dataclass(frozen=True)
class Holder:
    """The process that claims steps, and the extra time of its leases beyond a step's own timeout."""

    worker: str
    lease_ms: int


@dataclass(frozen=True)
class Handover:
    """The steps of an executor whose state has changed since its last commit."""

    finished: Sequence[FinishedStep] = ()
    begun: Sequence[BegunStep] = ()
    back: Sequence[str] = ()
    """Waiting steps that it gives back."""
    lanes: Sequence[Sequence[str]] = ()
    """The rest of each lane that it runs, to be claimed."""


@dataclass(frozen=True)
class Capacity:
    """The free slots of an executor for further lanes of its queue."""

    queue: str
    take: int
    mixed: bool = False
    """Whether these may begin with a step that has an effect."""


def claim(
    db: psycopg.Connection, turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int, holder: Holder
) -> StepClaim:
    """Claim the next step of each lane."""
    found = call(
        db,
        "claim_lanes",
        turn=turn_id,
        lanes=Jsonb(lanes),
        generation=generation,
        worker=holder.worker,
        lease_ms=holder.lease_ms,
    )
    return read_claim(found)


def look(db: psycopg.Connection, turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int) -> StepClaim | None:
    """Look at the next steps of lanes without claiming them, if they are reads that allow this; None: claim them."""
    found = call(db, "look", turn=turn_id, lanes=Jsonb(lanes), generation=generation)
    return read_claim(found) if found else None


def begin_effect(db: psycopg.Connection, turn_id: UUID, step_id: str, attempt: int, call_hash: str) -> BegunEffect:
    """Record the call that a claimed step is about to make, unless another step of its turn makes the same one."""
    return BegunEffect(**call(db, "begin_effect", turn=turn_id, step=step_id, attempt=attempt, hash=call_hash))


def advance(
    db: psycopg.Connection, turn_id: UUID, generation: int, handover: Handover, capacity: Capacity, holder: Holder
) -> Advance:
    """Record finished steps and claim ready ones: first the rest of the lanes, then up to `take` lanes of the queue."""
    asked = write_advance(generation, handover, capacity, holder)
    return read_advance(call(db, "advance", turn=turn_id, asked=Jsonb(asked), lease_ms=holder.lease_ms))


def write_advance(generation: int, handover: Handover, capacity: Capacity, holder: Holder) -> dict[str, Any]:
    """Return what an executor asks as `hot.advance` takes it."""
    return {
        "generation": generation,
        "worker": holder.worker,
        "finished": [vars(step) for step in handover.finished],
        "begun": [vars(step) for step in handover.begun],
        "back": list(handover.back),
        "lanes": handover.lanes,
        **vars(capacity),
    }


def read_advance(found: dict[str, Any]) -> Advance:
    """Read the result of `hot.advance`."""
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
    """Read the lanes that `hot.claim_of` has claimed."""
    return [
        ClaimedLane(entry["lane"], ClaimedStep(**entry["step"]) if entry["step"] else None, entry.get("effect"))
        for entry in entries
    ]


def read_claim(found: dict[str, Any]) -> StepClaim:
    """Read the result of `hot.claim_lanes` or `hot.look`."""
    if found["verdict"] != "claimed":
        return StepClaim(found["verdict"], [], None, 0.0, [])
    turn = found["turn"]
    facts = TurnFacts(
        UUID(turn["tenant_id"]), turn["conversation_id"], turn["person"], turn["is_capped"], turn["agent"]
    )
    events = read_events(found["events"]) if "events" in found else []
    return StepClaim("claimed", read_lanes(found["claimed"]), facts, found["at"], events)


def of_turn(db: Session, turn_id: UUID) -> list[StepRow]:
    """Return the steps of a turn in the order of its plans."""
    query = select(StepRow).where(StepRow.turn_id == turn_id).order_by(StepRow.revision, StepRow.position)
    return list(db.scalars(query))

"""Plans are recorded here with their steps and fragments; some steps start before their plan is complete."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.event import Event, read_events
from turnloom.models.contracts.material import Material
from turnloom.models.contracts.plan import PLAN_FORMAT, Plan
from turnloom.models.contracts.usage import LlmCall
from turnloom.models.ledger.limits import windows
from turnloom.models.ledger.replies import read_material
from turnloom.models.ledger.steps import Capacity, ClaimedLane, Holder, read_lanes
from turnloom.models.ledger.transitions import call
from turnloom.models.ledger.turns import Ending, FinishedTurn, read_finished, write_ending
from turnloom.models.ledger.usage import write_calls
from turnloom.models.tables.plans import PlanRow


@dataclass(frozen=True)
class Begun:
    """The steps that a planner has begun itself while their plan was written."""

    steps: Sequence[dict[str, Any]] = ()
    """Steps whose state the ledger does not know: columns of `StepRow`, and of `FinishedStep` or its `began_at`."""
    told: Sequence[dict[str, Any]] = ()
    """Events of written steps that have not been published."""
    known: Sequence[str] = ()
    """The ids of the other steps."""
    running: int = 0
    """The number of steps that have not ended."""

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all these steps."""
        return frozenset([*self.known, *(step["id"] for step in self.steps)])


@dataclass(frozen=True)
class NewPlan:
    """A validated plan, compiled."""

    plan: Plan
    source: Literal["llm", "caller", "playbook"]
    trace: dict[str, Any]
    """Its origin."""
    steps: list[dict[str, Any]]
    """Columns of `StepRow`, one entry per step that was not started early."""
    fragments: list[dict[str, Any]]
    """Columns of `FragmentRow`, one entry per fragment of these steps."""
    placement: str
    """How its steps are laid on workers."""
    max_parallel: int | None
    """Steps that may run at the same time; None if there are never more. With a cap a fragment is one step."""
    calls: Sequence[LlmCall] = ()
    """The language model's calls for this revision."""
    slots: dict[str, Any] | None = None
    """The conversation's slots after it; None: nothing new."""
    begun: Begun = Begun()
    """Steps that its planner has begun: they are not in `steps`."""


@dataclass(frozen=True)
class RecordedPlan:
    """The result of recording a plan."""

    generation: int
    """The generation to publish in."""
    open_steps: int
    """Steps that are not final; if there are none, the planner answers the turn."""
    material: Material | None
    """The reply's material in that case, if the planner has begun steps."""
    claimed: list[ClaimedLane]
    """The lanes that the planner runs itself."""
    fragments: list[dict[str, Any]]
    """Expressions of ready fragments that the planner must publish."""
    at: float
    """The ledger's time, in seconds since 1970."""
    events: list[Event]


@dataclass(frozen=True)
class WrittenSteps:
    """Steps of a plan that is still being written."""

    told: Sequence[dict[str, Any]]
    """The events of all these steps."""
    steps: Sequence[dict[str, Any]]
    """Columns of `StepRow`, one entry per step that starts."""
    fragments: Sequence[dict[str, Any]]
    """Columns of `FragmentRow`, one entry per step that starts."""
    max_parallel: int | None
    """Their agent's cap."""


@dataclass(frozen=True)
class EarlyStart:
    """The result of starting steps before their plan is complete."""

    ready: list[int]
    """Numbers of the fragments that the planner must publish: the others follow from running ones."""
    events: list[Event]


def start_early(db: psycopg.Connection, turn_id: UUID, attempt: int, written: WrittenSteps) -> EarlyStart | None:
    """Record steps of a plan that is still being written, each as its own fragment. None: the fence is old."""
    found = call(
        db,
        "start_early",
        turn=turn_id,
        attempt=attempt,
        steps=Jsonb(written.steps),
        fragments=Jsonb(written.fragments),
        max_parallel=written.max_parallel,
        told=Jsonb(written.told),
    )
    return EarlyStart(found["ready"], read_events(found["events"])) if found else None


def keep_begun(db: psycopg.Connection, turn_id: UUID, attempt: int, begun: Begun, holder: Holder) -> list[Event] | None:
    """Record the steps that a planner has begun before its plan is complete. None: the fence is old."""
    found = call(
        db,
        "keep_begun",
        turn=turn_id,
        attempt=attempt,
        begun=Jsonb(begun.steps),
        told=Jsonb(begun.told),
        worker=holder.worker,
        lease_ms=holder.lease_ms,
    )
    return read_events(found) if found is not None else None


def doubted(told: Sequence[dict[str, Any]], after: int) -> list[dict[str, Any]]:
    """Return events that a commit may have recorded, to send again: the ledger skips those that it has.

    `after`: the number of the last event before that commit.
    """
    return [{"after": after, **event} for event in told]


def drop_early(db: psycopg.Connection, turn_id: UUID, attempt: int) -> list[Event] | None:
    """Cancel the steps that were started early: no plan will hold them. None: the fence is old."""
    found = call(db, "drop_early", turn=turn_id, attempt=attempt)
    return read_events(found) if found is not None else None


def record(
    db: psycopg.Connection, turn_id: UUID, attempt: int, new: NewPlan, capacity: Capacity, holder: Holder
) -> RecordedPlan | None:
    """Record a plan with the early steps that were not dropped, and claim lanes for the planner's free slots.

    None: the fence is old.
    """
    found = call(
        db,
        "record_plan",
        turn=turn_id,
        attempt=attempt,
        plan=_write_plan(new),
        steps=Jsonb(new.steps),
        fragments=Jsonb(new.fragments),
        begun=_write_begun(new.begun),
        calls=write_calls(new.calls),
        asked=Jsonb({"queue": capacity.queue, "take": capacity.take, **vars(holder)}),
    )
    if found is None:
        return None
    return RecordedPlan(
        generation=found["generation"],
        open_steps=found["open_steps"],
        material=read_material(found["material"]) if found["material"] else None,
        claimed=read_lanes(found["claimed"]),
        fragments=found["fragments"],
        at=found["at"],
        events=read_events(found["events"]),
    )


def answer(
    db: psycopg.Connection, turn_id: UUID, attempt: int, new: NewPlan, ending: Ending, calls: Sequence[LlmCall]
) -> FinishedTurn | None:
    """Record a plan without steps and end its turn, with the calls for both. None: the fence is old."""
    found = call(
        db,
        "answer_turn",
        turn=turn_id,
        attempt=attempt,
        plan=_write_plan(new),
        begun=_write_begun(new.begun),
        end=write_ending(ending),
        calls=write_calls(calls),
        windows=windows(),
    )
    if found is None:
        return None
    finished = read_finished(found)
    return replace(finished, events=[*read_events(found["recorded"]), *finished.events])


def _write_plan(new: NewPlan) -> Jsonb:
    return Jsonb(
        {
            "format": PLAN_FORMAT,
            "source": new.source,
            "document": new.plan.model_dump(mode="json", exclude_none=True),
            "trace": new.trace,
            "placement": new.placement,
            "max_parallel": new.max_parallel,
            **({} if new.slots is None else {"slots": new.slots}),
        }
    )


def _write_begun(begun: Begun) -> Jsonb:
    return Jsonb({"steps": begun.steps, "known": begun.known, "told": begun.told})


def of_turn(db: Session, turn_id: UUID) -> list[PlanRow]:
    """Return the revisions of a turn's plan, oldest first."""
    return list(db.scalars(select(PlanRow).where(PlanRow.turn_id == turn_id).order_by(PlanRow.revision)))

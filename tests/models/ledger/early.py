"""Start steps before their plan is complete, and record the plan over them, as the planner does."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tests.factories import NOTHING, PLANNER, REGISTRY, claim_turn, make_tenant, open_turn
from tests.turn_events import recorded_events
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.event import Event
from turnloom.models.contracts.plan import Plan, Step
from turnloom.models.ledger import plans, steps
from turnloom.models.ledger.plans import Begun, EarlyStart, NewPlan, RecordedPlan, WrittenSteps
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.planner.plan.expressions import Lane
from turnloom.planner.plan.graph import Fragment
from turnloom.workers.compiling import Columns, compile_plan, fragment_rows


def planning_turn(**request: Any) -> ClaimedTurn:
    """Return a turn that a planner has claimed."""
    turn = claim_turn(open_turn(make_tenant(), **request).turn_id)
    assert turn is not None
    return turn


def start_early(turn: ClaimedTurn, *raw: dict[str, Any], first: int = 0, cap: int | None = None) -> EarlyStart | None:
    """Start steps together; `first` is the place of the first one in the plan."""
    made_by = Columns(REGISTRY)
    columns = [made_by.of(Step.model_validate(each), place) for place, each in enumerate(raw, first)]
    fragments = [
        Fragment(tuple(each["needs"]), (each["id"],), Lane((each["id"],), each["queue"], each["tool"]), each["inline"])
        for each in columns
    ]
    told = [{"type": "plan.step", "data": {"step": each["id"], "tool": each["tool"]}} for each in columns]
    with statement() as db:
        written = WrittenSteps(told, columns, fragment_rows(fragments, first), cap)
        return plans.start_early(db, turn.id, turn.attempt, written)


def drop_early(turn: ClaimedTurn) -> list[Event] | None:
    with statement() as db:
        return plans.drop_early(db, turn.id, turn.attempt)


def record_over(
    turn: ClaimedTurn,
    started: set[str],
    *raw: dict[str, Any],
    cap: int | None = None,
    told: Sequence[dict[str, Any]] = (),
) -> RecordedPlan | None:
    """Record a plan whose early steps have started."""
    plan = Plan.model_validate({"steps": list(raw)})
    compiled = compile_plan(plan, REGISTRY, "dense", cap, frozenset(started))
    rows = fragment_rows(compiled.fragments, len(started))
    new = NewPlan(plan, "llm", {}, compiled.steps, rows, "spread", compiled.max_parallel, begun=Begun(told=told))
    with statement() as db:
        return plans.record(db, turn.id, turn.attempt, new, NOTHING, PLANNER)


def lanes(recorded: RecordedPlan) -> list[list[str]]:
    """Return the lanes that are the planner's to publish."""
    return [fragment["lane"] for fragment in recorded.fragments]


def view(turn_id: UUID) -> dict[str, tuple[str, int, int]]:
    """Return the status, attempt and revision of each step."""
    with transaction() as db:
        return {row.id: (row.status, row.attempt, row.revision) for row in steps.of_turn(db, turn_id)}


def told(turn_id: UUID) -> list[str]:
    """Return the turn's events, with the ids of steps."""
    return [f"{event.type} {event.data.get('step', '')}".strip() for event in recorded_events(turn_id)]

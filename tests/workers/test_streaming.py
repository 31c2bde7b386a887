"""Early steps as the planner holds them: kept all or dropped all, whatever the ledger's answers were."""

from typing import Any
from uuid import UUID

import psycopg
import pytest

from models.contracts.plan import Plan
from models.errors import Unavailable
from models.ledger import plans
from models.ledger.plans import EarlyStart
from planner.streaming import WrittenStep
from tests.factories import REGISTRY, queue_length, step
from tests.models.early import drop_early, planning_turn, told, view
from tests.models.stopping import close
from workers.streaming import EarlySteps

pytestmark = pytest.mark.usefixtures("database")

STEPS = [step("a"), step("b", "a"), step("w", tool="sim.write", args={"value": 1})]
PLAN = Plan.model_validate({"steps": STEPS})


def take(early: EarlySteps, *positions: int) -> None:
    for position in positions:
        planned = PLAN.steps[position]
        early.take(WrittenStep(STEPS[position], position, planned if planned.tool == "sim.wait" else None))


def test_what_has_started_is_held_by_its_plan() -> None:
    """A ready step is on its queue at once; one that waits for it, and one with an effect, are not."""
    turn = planning_turn()
    early = EarlySteps(turn, REGISTRY, slots=1, max_parallel=None)

    take(early, 0, 1, 2)

    assert queue_length("tools.io") == 1
    assert view(turn.id) == {"a": ("pending", 0, 0), "b": ("pending", 0, 0)}
    assert told(turn.id)[2:] == ["plan.step a", "plan.step b", "plan.step w"]
    assert [fragment.steps for fragment in early.held_by(PLAN)] == [("a",), ("b",)]


@pytest.mark.parametrize("steps", [[], [step("b")], [step("a", args={"ms": 2}), step("b", "a")]])
def test_a_plan_that_does_not_hold_them_all_as_they_were_has_none(steps: list[dict[str, Any]]) -> None:
    """A step that is gone, or is another call now, was started in vain, and so were those beside it."""
    turn = planning_turn()
    early = EarlySteps(turn, REGISTRY, slots=1, max_parallel=None)
    take(early, 0, 1)

    assert early.held_by(Plan.model_validate({"steps": steps})) == []
    assert {status for status, _, _ in view(turn.id).values()} == {"cancelled"}


def test_a_start_whose_answer_was_lost_drops_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may stand in the ledger: nothing more starts early, and the plan starts from nothing."""
    turn = planning_turn()
    early = EarlySteps(turn, REGISTRY, slots=1, max_parallel=None)
    real = plans.start_early

    def lose_the_answer(db: psycopg.Connection, turn_id: UUID, attempt: int, *rows: dict[str, Any]) -> EarlyStart:
        real(db, turn_id, attempt, *rows)
        raise Unavailable("the connection was lost", code="database_unavailable")

    take(early, 0)
    with monkeypatch.context() as patch:
        patch.setattr(plans, "start_early", lose_the_answer)
        take(early, 1)
    take(early, 2)

    assert early.held_by(PLAN) == []
    assert view(turn.id) == {"a": ("cancelled", 0, 0), "b": ("cancelled", 0, 0)}


def test_a_refusal_that_could_not_be_recorded_is_before_the_plan_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """While Postgres is out the repair goes on; what was started is dropped before the next plan is recorded."""
    turn = planning_turn()
    early = EarlySteps(turn, REGISTRY, slots=1, max_parallel=None)
    take(early, 0)

    def out(*_: object) -> None:
        raise Unavailable("Postgres does not answer", code="database_unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(plans, "drop_early", out)
        early.refuse()
        with pytest.raises(Unavailable):
            early.held_by(PLAN)
    before = view(turn.id)

    assert early.held_by(PLAN) == []
    assert (before["a"][0], view(turn.id)["a"][0]) == ("pending", "cancelled")


def test_a_planner_that_lost_its_turn_starts_nothing() -> None:
    """It was closed meanwhile; the planner hears it at its next step, and goes on without."""
    turn = planning_turn()
    early = EarlySteps(turn, REGISTRY, slots=1, max_parallel=None)
    close(turn.id)

    take(early, 0, 1)

    assert view(turn.id) == {}
    assert queue_length("tools.io") == 0
    assert drop_early(turn) is None
    assert early.held_by(PLAN) == []

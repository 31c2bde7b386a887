"""The planner gathers early steps, and keeps or drops all of them, whatever the ledger answers."""

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.factories import REGISTRY, queue_length, step
from tests.facts import wait_for
from tests.models.ledger.early import drop_early, planning_turn, record_over, view
from tests.models.ledger.early import told as events_told
from tests.models.ledger.stopping import close
from turnloom.models.connections.database import statement
from turnloom.models.contracts.plan import Plan
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import plans
from turnloom.models.ledger.plans import EarlyStart, WrittenSteps
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.workers.planning import drop_refused
from turnloom.workers.turns.early_steps import EarlySteps

pytestmark = pytest.mark.usefixtures("database")

STEPS = [step("a"), step("b", "a"), step("w", tool="sim.write", args={"value": 1})]
PLAN = Plan.model_validate({"steps": STEPS})


def early_steps(turn: ClaimedTurn) -> EarlySteps:
    """Return early steps whose gathering ends when the test says so."""
    return EarlySteps(turn, REGISTRY, slots=1, max_parallel=None, start_soon=lambda _: None)


def take(early: EarlySteps, *positions: int) -> None:
    for position in positions:
        planned = PLAN.steps[position]
        early.take(WrittenStep(STEPS[position], position, planned if planned.tool == "sim.wait" else None))


def start(early: EarlySteps, *positions: int) -> None:
    """Take steps, and end their gathering."""
    take(early, *positions)
    early.start_waiting()


def commits(turn_id: UUID) -> int:
    """Count the commits that stored events of a turn."""
    with statement() as db:
        row = db.execute("SELECT count(*) FROM turn_events WHERE turn_id = %s", (turn_id,)).fetchone()
    assert row is not None
    return int(row[0])


def test_a_plan_that_is_complete_at_once_starts_no_early_steps() -> None:
    """No step of the plan starts early, and the commit of the plan announces them all."""
    turn = planning_turn()
    early = early_steps(turn)
    take(early, 0, 1, 2)

    held = early.held_by(PLAN)
    early.start_waiting()

    assert (held.fragments, view(turn.id), queue_length("tools.io")) == ([], {}, 0)
    assert [each["data"]["step"] for each in held.begun.told] == ["a", "b", "w"]


def test_the_record_of_a_plan_announces_its_steps_first() -> None:
    """Readers see the steps in the order in which they were written."""
    turn = planning_turn()
    told = [{"type": "plan.step", "data": {"step": name, "tool": "sim.wait"}} for name in "ab"]

    record_over(turn, set(), *STEPS, told=told)

    assert events_told(turn.id)[2:] == ["plan.step a", "plan.step b", "plan.ready"]


def test_steps_gathered_together_start_in_one_commit() -> None:
    """A ready step is on its queue at once. A step that waits for it and a step with an effect are not."""
    turn = planning_turn()
    early = early_steps(turn)
    before = commits(turn.id)

    start(early, 0, 1, 2)

    assert commits(turn.id) == before + 1
    assert queue_length("tools.io") == 1
    assert view(turn.id) == {"a": ("pending", 0, 0), "b": ("pending", 0, 0)}
    assert events_told(turn.id)[2:] == ["plan.step a", "plan.step b", "plan.step w"]
    held = early.held_by(PLAN)
    assert ([fragment.steps for fragment in held.fragments], held.begun.told) == ([("a",), ("b",)], [])


def test_steps_start_when_their_gathering_ends() -> None:
    """Gathered steps start while the model still writes."""
    turn = planning_turn()
    early = EarlySteps(turn, REGISTRY, slots=1, max_parallel=None)

    take(early, 0)
    wait_for(lambda: queue_length("tools.io") == 1)
    take(early, 1, 2)
    wait_for(lambda: not early.has_waiting)

    assert [fragment.steps for fragment in early.held_by(PLAN).fragments] == [("a",), ("b",)]


def test_a_refused_plan_starts_none_of_its_waiting_steps() -> None:
    """No event announces steps that will never exist."""
    turn = planning_turn()
    early = early_steps(turn)
    take(early, 0, 1)

    early.drop()
    early.start_waiting()

    held = early.held_by(PLAN)
    assert (held.fragments, held.begun.told, view(turn.id)) == ([], [], {})


@pytest.mark.parametrize("steps", [[], [step("b")], [step("a", args={"ms": 2}), step("b", "a")]])
def test_a_plan_without_one_of_the_early_steps_has_none(steps: list[dict[str, Any]]) -> None:
    """If a step is gone or is another call now, all early steps were started in vain."""
    turn = planning_turn()
    early = early_steps(turn)
    start(early, 0, 1)

    assert early.held_by(Plan.model_validate({"steps": steps})).fragments == []
    assert {status for status, _, _ in view(turn.id).values()} == {"cancelled"}


def test_a_start_whose_answer_was_lost_drops_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start may be in the ledger. No further step starts early, and the plan begins without early steps."""
    turn = planning_turn()
    early = early_steps(turn)
    real = plans.start_early

    def lose_the_answer(db: psycopg.Connection, turn_id: UUID, attempt: int, written: WrittenSteps) -> EarlyStart:
        real(db, turn_id, attempt, written)
        raise Unavailable("the connection was lost", code="database_unavailable")

    start(early, 0)
    with monkeypatch.context() as patch:
        patch.setattr(plans, "start_early", lose_the_answer)
        start(early, 1)
    start(early, 2)

    assert early.held_by(PLAN).fragments == []
    assert view(turn.id) == {"a": ("cancelled", 0, 0), "b": ("cancelled", 0, 0)}


@pytest.mark.parametrize("is_committed", [True, False])
def test_steps_whose_start_was_lost_are_announced_once(monkeypatch: pytest.MonkeyPatch, is_committed: bool) -> None:
    """The lost start announces its steps if it was committed; otherwise the record of their plan does."""
    turn = planning_turn()
    early = early_steps(turn)
    real = plans.start_early

    def lose_the_answer(db: psycopg.Connection, turn_id: UUID, attempt: int, written: WrittenSteps) -> EarlyStart:
        if is_committed:
            real(db, turn_id, attempt, written)
        raise Unavailable("the connection was lost", code="database_unavailable")

    start(early, 0)
    with monkeypatch.context() as patch:
        patch.setattr(plans, "start_early", lose_the_answer)
        start(early, 1)
    take(early, 2)
    record_over(turn, set(), *STEPS, told=early.held_by(PLAN).begun.told)

    told = [event for event in events_told(turn.id) if event.startswith("plan.step")]
    assert told == ["plan.step a", "plan.step b", "plan.step w"]


def test_an_unrecorded_refusal_is_recorded_before_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """While Postgres is down the repair continues. Early steps are dropped before the next plan is recorded."""
    turn = planning_turn()
    early = early_steps(turn)
    start(early, 0)

    def out(*_: object) -> None:
        raise Unavailable("Postgres does not answer", code="database_unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(plans, "drop_early", out)
        drop_refused(turn, early)
        with pytest.raises(Unavailable):
            early.held_by(PLAN)
    before = view(turn.id)

    assert early.held_by(PLAN).fragments == []
    assert (before["a"][0], view(turn.id)["a"][0]) == ("pending", "cancelled")


def test_a_planner_that_lost_its_turn_starts_nothing() -> None:
    """The turn was closed meanwhile. The planner learns so when it starts steps, and continues without them."""
    turn = planning_turn()
    early = early_steps(turn)
    close(turn.id)

    start(early, 0, 1)

    assert view(turn.id) == {}
    assert queue_length("tools.io") == 0
    assert drop_early(turn) is None
    assert early.held_by(PLAN).fragments == []

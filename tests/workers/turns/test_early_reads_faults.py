"""The turn's fence guards reads in the planner's threads when they are interrupted."""

import threading
from typing import Any

import psycopg
import pytest

from tests.factories import claim_turn, finish_turn, step
from tests.facts import wait_for
from tests.models.ledger.early import view
from tests.models.ledger.stopping import close, lose, lose_turn
from tests.models.ledger.stopping import view as turn_view
from tests.workers.turns.early_planner import HOLDER, Planner, kinds, slow
from turnloom.models.connections.database import statement
from turnloom.models.contracts.event import Event
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import plans, replies
from turnloom.models.ledger.plans import Begun
from turnloom.models.runtime.settings import settings
from turnloom.workers.recovery import recompile
from turnloom.workers.turns.early_reads import EarlyReads


@pytest.mark.parametrize("why", ["cancelled", "late"])
def test_a_stopped_turn_is_answered_from_its_results(planner: Planner, why: Any) -> None:
    """Running steps are cancelled. When the planner brings the plan, it has lost the turn."""
    planner.write(step("a"), slow("b"))
    wait_for(lambda: view(planner.turn.id).get("a") == ("succeeded", 1, 0))

    closed = close(planner.turn.id, why)
    recorded = planner.record(step("a"), slow("b"))
    planner.gate.set()

    assert closed is not None
    with statement() as db:
        material = replies.gather(db, planner.turn.id)
    assert material is not None
    assert [(one.id, one.status) for one in material.steps] == [("a", "succeeded"), ("b", "cancelled")]
    assert recorded is None
    assert (turn_view(planner.turn.id).open_steps, planner.executor) == (0, None)


def test_the_reads_of_failed_planning_are_recorded_before_the_turn_ends(planner: Planner) -> None:
    """The calls are in the ledger, although they belong to no plan."""
    planner.write(step("a"), slow("b"))
    wait_for(lambda: planner.ended("a"))

    planner.reads.keep()
    finish_turn(planner.turn)
    planner.gate.set()

    assert view(planner.turn.id) == {"a": ("succeeded", 1, 0), "b": ("cancelled", 1, 0)}
    assert kinds(planner)[-3:] == ["step.finished b", "reply.done", "turn.succeeded"]


def test_a_lost_planner_takes_its_reads_with_it(planner: Planner) -> None:
    """The next planner runs the reads again under a new attempt, and the first planner records nothing more."""
    planner.write(slow("a"))
    wait_for(lambda: view(planner.turn.id) == {"a": ("running", 1, 0)})
    lost = planner.reads
    lose_turn(planner.turn.id)
    second = claim_turn(planner.turn.id)
    assert second is not None
    cancelled = view(second.id)
    planner.plans_next(second)
    planner.write(slow("a"))
    late = _kept_by(lost)

    planner.gate.set()
    wait_for(lambda: planner.ended("a"))
    recorded = planner.record(slow("a"))

    assert (second.early_attempt, cancelled, late) == (2, {"a": ("cancelled", 1, 0)}, None)
    assert recorded is not None
    assert view(second.id) == {"a": ("succeeded", 2, 1)}


def _kept_by(reads: EarlyReads) -> list[Event] | None:
    with statement() as db:
        return plans.keep_begun(db, reads._turn.id, reads._turn.attempt, Begun(told=[{"type": "plan.step"}]), HOLDER)


def test_a_change_that_could_not_be_recorded_comes_with_the_plan(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While Postgres is down, the reads continue."""
    asked = threading.Event()

    def out(*_: object) -> None:
        asked.set()
        raise Unavailable("Postgres does not answer", code="database_unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(plans, "keep_begun", out)
        planner.write(step("a"), slow("b"))
        assert asked.wait(8)
        with pytest.raises(Unavailable):
            planner.reads.drop()
    planner.gate.set()
    wait_for(lambda: not planner.reads._outcomes.empty())

    recorded = planner.record(step("a"))

    assert recorded is not None
    assert view(planner.turn.id) == {"a": ("running", 2, 1), "b": ("cancelled", 1, 0)}


def test_a_planner_that_was_frozen_after_its_record_records_no_end(planner: Planner) -> None:
    """Recovery takes the read back as it does any other worker's."""
    recorded = planner.write(slow("a")).record(slow("a"))
    lose(planner.turn.id)
    recompile(planner.turn.id)
    taken_back = view(planner.turn.id)

    planner.gate.set()
    planner.go_on(recorded)

    assert (taken_back, view(planner.turn.id)) == ({"a": ("pending", 1, 1)}, {"a": ("pending", 1, 1)})


def test_steps_that_were_not_announced_are_announced_by_the_next_commit(planner: Planner) -> None:
    """Postgres ends the session of the commit that was to announce them."""
    with psycopg.connect(settings().database_url) as db:
        db.execute("SELECT FROM turns WHERE id = %s FOR NO KEY UPDATE", (planner.turn.id,))
        planner.write(slow("a")).write(step("w", tool="sim.write"), early=False, first=1)
        wait_for(end_sessions_that_wait_for_locks)
    planner.gate.set()
    wait_for(lambda: planner.ended("a"))

    planner.record(slow("a"), step("w", tool="sim.write"))

    assert kinds(planner) == [
        "plan.step a",
        "plan.step w",
        "step.started a",
        "step.finished a",
        "plan.ready",
    ]


def end_sessions_that_wait_for_locks() -> int:
    """Let Postgres end the sessions that wait for a lock. Return how many."""
    with statement() as db:
        return db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).rowcount


def test_a_commit_whose_answer_was_lost_counts_once(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the answer to a commit is lost, its steps are recorded once and announced once."""
    real = plans.keep_begun

    def lose_the_answer(db: psycopg.Connection, *arguments: Any) -> None:
        real(db, *arguments)
        raise Unavailable("the connection was lost", code="database_unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(plans, "keep_begun", lose_the_answer)
        planner.write(slow("a"))
        wait_for(lambda: "step.started a" in kinds(planner))
    planner.gate.set()
    wait_for(lambda: planner.ended("a"))

    planner.record(slow("a"))

    assert view(planner.turn.id) == {"a": ("succeeded", 1, 1)}
    assert kinds(planner) == ["plan.step a", "step.started a", "step.finished a", "plan.ready"]

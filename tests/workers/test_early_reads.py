"""Reads in the planner's threads: they enter the ledger with their plan, and their turn's fence guards them."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

import psycopg
import pytest
from celery.exceptions import Ignore

from models.contracts.event import Event
from models.contracts.plan import Plan, Step
from models.database import snapshot, statement, transaction
from models.errors import Unavailable
from models.explaining import explain
from models.ledger import explanation, memory, plans, replies, turns
from models.ledger.plans import Begun, NewPlan, RecordedPlan
from models.ledger.steps import Holder, TurnFacts, Wanted
from models.ledger.turns import ClaimedTurn
from planner.results import StepOutcome
from planner.streaming import WrittenStep
from tests.factories import claim_turn, finish_turn, step
from tests.facts import wait_for
from tests.models.early import planning_turn, told, view
from tests.models.parking import row
from tests.models.stopping import close, lose
from tests.models.stopping import view as turn_view
from tools.registry import Registry, Tool
from tools.sim.load import Wait, Waited
from workers.compiling import compile_plan, fragment_rows
from workers.early_reads import EarlyReads
from workers.execution import Executor
from workers.recovery import recompile

pytestmark = pytest.mark.usefixtures("database", "redis_url")

HOLDER = Holder("planner/1", 6_000)
LATER = {"tool": "sim.flaky", "args": {"fail_times": 1, "retry_after_s": 30}, "timeout_ms": 5_000}
SLOW = {"tool": "sim.gated"}


class Planner:
    """A planner whose language model writes what a test says; `sim.gated` ends when the gate is open."""

    def __init__(self, tools: dict[str, Tool]) -> None:
        self.gate = threading.Event()
        self.tools = tools
        wait = tools["sim.wait"]
        tools["sim.gated"] = replace(wait, name="sim.gated", call=self._pass)
        tools["sim.kept"] = replace(wait, name="sim.kept", remember_s=600.0)
        self.turn, self.reads = self.plans_next(planning_turn())
        self.executor: Executor | None = None

    def plans_next(
        self, turn: ClaimedTurn, cap: int | None = None, *done: StepOutcome
    ) -> tuple[ClaimedTurn, EarlyReads]:
        self.turn, self.reads = turn, EarlyReads(turn, Registry(self.tools), HOLDER, cap, done)
        return turn, self.reads

    def write(self, *steps: dict[str, Any], early: bool = True, first: int = 0) -> Self:
        for position, raw in enumerate(steps, first):
            self.reads.take(WrittenStep(raw, position, Step.model_validate(raw) if early else None))
        return self

    def record(self, *steps: dict[str, Any], cap: int | None = None) -> RecordedPlan | None:
        """Record a plan over what has begun, and let an executor have the rest."""
        plan = Plan.model_validate({"steps": list(steps)})
        held = self.reads.held_by(plan)
        compiled = compile_plan(plan, Registry(self.tools), "dense", cap, held.started)
        rows = fragment_rows(compiled.fragments)
        most = compiled.max_parallel
        new = NewPlan(plan, "llm", {}, compiled.steps, rows, "dense", most, told=held.told, begun=held.begun)
        wanted = Wanted([], "tools.io", 4, mixed=False)
        with statement() as db:
            recorded = plans.record(db, self.turn.id, self.turn.attempt, new, wanted, HOLDER)
        if recorded is not None:
            facts = TurnFacts(self.turn.tenant_id, self.turn.conversation_id, self.turn.person, cap is not None)
            self.executor = Executor(self.turn.id, facts, recorded.generation, "tools.io", HOLDER)
            self.reads.hand_over(self.executor)
        return recorded

    def go_on(self, recorded: RecordedPlan | None) -> None:
        assert recorded is not None
        assert self.executor is not None
        with suppress(Ignore):
            self.executor.run(recorded.claimed, 4, recorded.at)

    def ended(self, *names: str) -> bool:
        return set(names) <= self.reads._ended.keys()

    def _pass(self, query: Wait, _: object) -> Waited:
        self.gate.wait(10)
        return Waited(ms=query.ms, payload=query.payload)


@pytest.fixture
def planner(tools: dict[str, Tool]) -> Iterator[Planner]:
    planner = Planner(tools)
    with planner.reads:
        yield planner
        planner.gate.set()


def slow(name: str, *needs: str) -> dict[str, Any]:
    return step(name, *needs, args={"ms": 0}, **SLOW)


def kinds(planner: Planner) -> list[str]:
    """Return the events of a turn after its claim."""
    return told(planner.turn.id)[2:]


def test_what_has_ended_enters_the_ledger_with_its_plan(planner: Planner) -> None:
    """One commit: the plan, its steps with their results, what happened in its order, the reply's material."""
    steps = [step("a"), step("b", "a"), step("c", "a", "b")]
    planner.write(*steps)
    wait_for(lambda: planner.ended("a", "b", "c"))

    recorded = planner.record(*steps)

    assert recorded is not None
    assert (recorded.open_steps, recorded.claimed, recorded.fragments) == (0, [], [])
    assert view(planner.turn.id) == dict.fromkeys("abc", ("succeeded", 1, 1))
    written, happened = [f"plan.step {name}" for name in "abc"], [
        f"step.{event} {name}" for name in "abc" for event in ("started", "finished")
    ]
    assert kinds(planner) == [*written, *happened, "plan.ready"]
    assert recorded.material is not None
    assert [one.result["ms"] for one in recorded.material.steps] == [1, 1, 1]
    assert turn_view(planner.turn.id).status == "responding"


def test_what_still_runs_is_gone_on_with_under_a_lease(planner: Planner) -> None:
    """Its step is recorded as running; what waits for it is not held, and is claimed when it has ended."""
    steps = [slow("a"), step("b", "a"), step("cpu", "b", tool="sim.burn", args={"ms": 1})]
    planner.write(*steps[:2]).write(steps[2], early=False, first=2)

    recorded = planner.record(*steps)
    running = row(planner.turn.id, "a")
    planner.gate.set()
    planner.go_on(recorded)

    assert (running.status, running.worker, running.lease_until is not None) == ("running", "planner/1", True)
    assert recorded is not None
    assert recorded.open_steps == 3
    assert {name: status for name, (status, _, _) in view(planner.turn.id).items()} == {
        "a": "succeeded", "b": "succeeded", "cpu": "pending",
    }  # fmt: skip
    happened = [kind for kind in kinds(planner) if kind.endswith((" a", " b"))]
    assert happened == [
        "plan.step a", "plan.step b", "step.started a", "step.finished a", "step.started b", "step.finished b",
    ]  # fmt: skip


def test_a_slow_read_is_told_while_the_plan_is_written(planner: Planner) -> None:
    """Without a further word of the model: that it was written, that it runs, and how it ends."""
    planner.write(slow("a"))
    wait_for(lambda: kinds(planner) == ["plan.step a", "step.started a"])
    running = view(planner.turn.id)
    planner.gate.set()
    wait_for(lambda: kinds(planner)[2:] == ["step.finished a"])

    recorded = planner.record(slow("a"), step("b", "a"))

    assert running == {"a": ("running", 1, 0)}
    assert recorded is not None
    assert (recorded.open_steps, [lane.step and lane.step.inputs for lane in recorded.claimed]) == (1, [{}])
    assert view(planner.turn.id) == {"a": ("succeeded", 1, 1), "b": ("running", 1, 1)}
    assert kinds(planner)[3:] == ["plan.ready", "step.started b"]


@pytest.mark.parametrize("steps", [[], [step("b")], [step("a", args={"ms": 2}), slow("b")]])
def test_what_no_plan_holds_is_dropped(planner: Planner, steps: list[dict[str, Any]]) -> None:
    """Another plan than the one that it was of starts from nothing; an id may come again with another call."""
    planner.write(step("a"), slow("b"))
    wait_for(lambda: planner.ended("a"))

    recorded = planner.record(*steps)
    planner.gate.set()

    assert recorded is not None
    assert recorded.open_steps == len(steps)
    steps_now = view(planner.turn.id)
    kept = {step["id"] for step in steps}
    assert {name: status for name, (status, _, _) in steps_now.items() if name not in kept} == {
        name: status for name, status in (("a", "succeeded"), ("b", "cancelled")) if name not in kept
    }
    assert [steps_now[name][1:] for name in sorted(kept)] == [(2, 1) for _ in kept]
    happened = [kind for kind in kinds(planner) if kind.startswith("step")][:4]
    assert sorted(happened) == ["step.finished a", "step.finished b", "step.started a", "step.started b"]


def test_a_refused_plan_is_told_of_and_cancelled(planner: Planner) -> None:
    """Before the repair is asked for; what ends late is nobody's."""
    planner.write(slow("a"))

    planner.reads.refuse()
    planner.gate.set()

    assert view(planner.turn.id) == {"a": ("cancelled", 1, 0)}
    assert kinds(planner) == ["plan.step a", "step.started a", "step.finished a"]
    assert planner.reads.held_by(Plan(steps=[])).begun == Begun()


def test_nothing_begins_that_wants_more_than_this_process(planner: Planner) -> None:
    """A process of its own, one over the cap, and what needs one that waits for the plan."""
    steps = [
        step("cpu", tool="sim.burn", args={"ms": 1}), step("after", "cpu"), slow("a"), slow("b"), slow("c"),
        step("d", "c"),
    ]  # fmt: skip
    planner.plans_next(planner.turn, 2)
    planner.write(*steps)
    begun = set(planner.reads._calls)

    recorded = planner.record(*steps, cap=2)
    planner.gate.set()

    assert begun == {"a", "b"}
    assert recorded is not None
    assert (recorded.open_steps, recorded.claimed, recorded.fragments) == (6, [], [])
    assert [name for name, (status, _, _) in view(planner.turn.id).items() if status == "running"] == ["a", "b"]


def test_a_read_may_refer_to_results_of_earlier_revisions(planner: Planner) -> None:
    """It has them from the planner, as from the ledger."""
    done = StepOutcome(id="old", tool="sim.wait", args={}, status="succeeded", result={"ms": 7})
    planner.plans_next(planner.turn, None, done)
    raw = step("new", tool="sim.echo", args={"value": {"$from": "old.ms"}})
    planner.write(raw)
    wait_for(lambda: planner.ended("new"))

    held = planner.reads.held_by(Plan.model_validate({"steps": [raw]}))

    assert [one["result"] for one in held.begun.steps] == [{"value": 7}]


def test_what_failed_ends_what_needs_it(planner: Planner) -> None:
    """As the ledger decides when the plan is recorded."""
    steps = [step("a", tool="sim.fail", args={"code": "NOT_FOUND"}), step("b", "a"), step("c")]
    planner.write(*steps)
    wait_for(lambda: planner.ended("a", "c"))

    recorded = planner.record(*steps)

    assert recorded is not None
    assert {name: status for name, (status, _, _) in view(planner.turn.id).items()} == {
        "a": "failed", "b": "skipped", "c": "succeeded",
    }  # fmt: skip


def test_a_read_that_came_upon_a_limit_is_parked_with_the_plan(planner: Planner) -> None:
    """Until a plan holds it, it looks as if it ran: no fence of its own guards it. Then `explain` names its time."""
    steps = [{"id": "a", "needs": [], **LATER}, step("b", "a")]
    planner.write(steps[0])
    wait_for(lambda: kinds(planner) == ["plan.step a", "step.started a"])
    before = row(planner.turn.id, "a").status

    recorded = planner.record(*steps)
    planner.go_on(recorded)

    parked = row(planner.turn.id, "a")
    assert (before, parked.status, parked.parked, parked.not_before is not None) == ("running", "pending", 1, True)
    assert kinds(planner)[2:] == ["plan.ready", "step.retry a"]
    with snapshot() as db:
        turn = turns.get(db, planner.turn.id)
        assert turn is not None
        assert explain(explanation.gather(db, turn, lease=timedelta(seconds=6)), {}).step == "a"


def test_a_result_is_remembered_with_its_plan(planner: Planner) -> None:
    """As that of any other step."""
    raw = step("a", tool="sim.kept", args={"ms": 1})
    planner.write(raw)
    wait_for(lambda: planner.ended("a"))
    planner.record(raw)

    with transaction() as db:
        remembered = memory.of_conversation(db, planner.turn.tenant_id, planner.turn.conversation_id)

    assert [(entry.tool, entry.step_id, entry.holds) for entry in remembered] == [("sim.kept", "a", True)]


@pytest.mark.parametrize("why", ["cancelled", "late"])
def test_a_turn_that_is_stopped_is_answered_from_what_was_found(planner: Planner, why: Any) -> None:
    """What still runs is cancelled, and the planner that comes with its plan has lost the turn."""
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


def test_what_failed_planning_had_begun_is_recorded_before_the_turn_ends(planner: Planner) -> None:
    """No plan comes of it: its calls stand in the ledger all the same."""
    planner.write(step("a"), slow("b"))
    wait_for(lambda: planner.ended("a"))

    planner.reads.keep()
    finish_turn(planner.turn)
    planner.gate.set()

    assert view(planner.turn.id) == {"a": ("succeeded", 1, 0), "b": ("cancelled", 1, 0)}
    assert kinds(planner)[-3:] == ["step.finished b", "reply.done", "turn.succeeded"]


def test_a_lost_planner_takes_its_reads_with_it(planner: Planner) -> None:
    """The next one runs them again, under an attempt of its own; the first records nothing any more."""
    planner.write(slow("a"))
    wait_for(lambda: view(planner.turn.id) == {"a": ("running", 1, 0)})
    lost = planner.reads
    with transaction() as db:
        turn = turns.get(db, planner.turn.id)
        assert turn is not None
        turn.lease_until = turn.created_at
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


def test_the_ledger_hears_with_the_plan_of_what_it_could_not_be_told(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While Postgres is out the reads go on."""
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
    """Recovery takes its read back as any other worker's."""
    recorded = planner.write(slow("a")).record(slow("a"))
    lose(planner.turn.id)
    recompile(planner.turn.id)
    taken_back = view(planner.turn.id)

    planner.gate.set()
    planner.go_on(recorded)

    assert (taken_back, view(planner.turn.id)) == ({"a": ("pending", 1, 1)}, {"a": ("pending", 1, 1)})


def test_an_answer_that_was_lost_is_given_again(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded before its answer was lost is recorded once, and told once."""
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

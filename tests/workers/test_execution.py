"""If an executor is interrupted, the steps that it holds are neither forgotten nor kept for ever."""

import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from celery.exceptions import Ignore

from tests.factories import queue_length, running_turn, step
from tests.facts import wait_for
from tests.journeys.following import wait_step
from tests.models.ledger.parking import row
from tests.models.ledger.stopping import statuses
from turnloom.models.connections.database import statement
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import Holder, StepClaim
from turnloom.tools.packs.sim.load import Wait, Waited
from turnloom.tools.registry import Tool
from turnloom.workers.execution import Executor
from turnloom.workers.recovery import recompile, resume

pytestmark = pytest.mark.usefixtures("database", "tools")

HOLDER = Holder("worker/1", 6_000)
LATER = step("late", tool="sim.flaky", args={"fail_times": 1, "retry_after_s": 30}, timeout_ms=5_000)


def claimed(turn_id: UUID, *lanes: list[str], generation: int = 1) -> StepClaim:
    with statement() as db:
        return steps.claim(db, turn_id, lanes, generation, HOLDER)


def run(turn_id: UUID, *lanes: list[str], generation: int = 1) -> None:
    """Run lanes side by side, as a worker would. The executor may end by raising Ignore."""
    claim = claimed(turn_id, *lanes, generation=generation)
    assert claim.turn is not None
    with suppress(Ignore):
        Executor(turn_id, claim.turn, generation, "tools.io", HOLDER).run(claim.lanes, 4, claim.at)


def test_reads_beside_a_parked_step_continue() -> None:
    """Steps that the executor gives back because another step is parked are claimed again by the same executor."""
    turn = running_turn(LATER, wait_step("a", ms=200), wait_step("b", "a", ms=1), wait_step("c", "b", ms=1))

    run(turn.id, ["late"], ["a", "b", "c"])

    assert statuses(turn.id) == {"late": "pending", "a": "succeeded", "b": "succeeded", "c": "succeeded"}


def test_reads_given_back_in_another_generation_are_sent_again(tools: dict[str, Tool]) -> None:
    """The turn was compiled without them while they were held, so they must be sent."""
    may_end = {1: threading.Event(), 2: threading.Event()}

    def call(query: Wait, _: object) -> Waited:
        may_end[query.ms].wait(8)
        return Waited(ms=query.ms, payload=None)

    tools["sim.wait"] = replace(tools["sim.wait"], call=call)
    failing = step("f", "y", tool="sim.fail", args={"code": "NOT_FOUND"})
    turn = running_turn(wait_step("a", ms=2), wait_step("b", "a", ms=2), wait_step("y", ms=1), failing)
    running = threading.Thread(target=run, args=(turn.id, ["a", "b"], ["y", "f"]))
    running.start()
    wait_for(lambda: statuses(turn.id)["b"] == "running")
    recompile(turn.id)
    may_end[1].set()
    wait_for(lambda: statuses(turn.id)["b"] == "pending")
    may_end[2].set()
    running.join()

    assert (statuses(turn.id)["b"], queue_length("maintenance")) == ("pending", 1)
    resume(str(turn.id))
    assert claimed(turn.id, ["b"], generation=3).verdict == "claimed"


def test_a_step_begins_before_others_are_sent(tools: dict[str, Tool], monkeypatch: pytest.MonkeyPatch) -> None:
    """When an executor claims steps together with a record, it begins them before it sends messages to the broker."""
    began, began_first = threading.Event(), []

    def call(query: Wait, _: object) -> Waited:
        if query.ms > 1:
            began.set()
        return Waited(ms=query.ms, payload=None)

    tools["sim.wait"] = replace(tools["sim.wait"], call=call)
    monkeypatch.setattr("turnloom.workers.dispatch.push", lambda *_: began_first.append(began.wait(4)))
    turn = running_turn(step("a"), *(wait_step(name, "a", ms=2) for name in "bcdef"), max_steps=1)

    run(turn.id, ["a"])

    assert began_first == [True]


@pytest.mark.parametrize(("tool", "ends"), [("sim.wait", "failed"), ("sim.write", "unknown")])
def test_a_fault_around_a_call_ends_its_step(monkeypatch: pytest.MonkeyPatch, tool: str, ends: str) -> None:
    """A step ends at once and not at its time-out. A write ends as unknown, because it may have taken effect."""

    def broken(*_: Any) -> Any:
        raise TypeError("a fault of ours")

    monkeypatch.setattr("turnloom.workers.running.step_call.runner.run", broken)
    turn = running_turn(step("s", tool=tool, args={"ms": 1} if tool == "sim.wait" else {"value": 7}))

    run(turn.id, ["s"])

    assert (row(turn.id, "s").status, (row(turn.id, "s").error or {}).get("code")) == (ends, "INTERNAL_ERROR")


def test_a_write_waits_for_a_ledger_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The executor waits until the ledger is back; then it claims the write and makes it."""
    claim, failures = steps.claim, [Unavailable("Postgres does not answer")] * 2

    def out_for_a_while(db: psycopg.Connection, turn_id: UUID, lanes: Any, *rest: Any) -> StepClaim:
        if lanes == [["w"]] and failures:
            raise failures.pop()
        return claim(db, turn_id, lanes, *rest)

    turn = running_turn(wait_step("a", ms=1), step("w", "a", tool="sim.write", args={"value": 7}))
    first = claimed(turn.id, ["a", "w"])
    monkeypatch.setattr("turnloom.workers.running.step_commits.steps.claim", out_for_a_while)
    assert first.turn is not None
    Executor(turn.id, first.turn, 1, "tools.io", HOLDER).run(first.lanes, 1, first.at)

    assert (statuses(turn.id)["a"], statuses(turn.id)["w"], failures) == ("succeeded", "succeeded", [])

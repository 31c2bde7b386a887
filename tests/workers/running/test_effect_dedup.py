"""The same call with an effect is made once in a turn, however it is written and whichever worker is lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from celery.exceptions import Ignore
from sqlalchemy import text

from tests.factories import REGISTRY, running_turn, step
from tests.models.ledger.parking import change, decide, row
from tests.models.ledger.stopping import statuses
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.ledger import steps
from turnloom.models.ledger.steps import Holder
from turnloom.planner.plan.revision import effects_again
from turnloom.tools.call_identity import call_hash
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool
from turnloom.workers.execution import Executor
from turnloom.workers.recovery import recompile

pytestmark = pytest.mark.usefixtures("database", "tools")

HOLDER = Holder("worker/1", 6_000)


def write(name: str, value: Any = 7, *needs: str, **fields: Any) -> dict[str, Any]:
    return step(name, *needs, tool="sim.write", args={"value": value}, **fields)


def run(turn_id: UUID, name: str, generation: int = 1) -> tuple[str, str | None]:
    """Run a step as a worker would, and return its status and its error's code."""
    with statement() as db:
        claimed = steps.claim(db, turn_id, [[name]], generation, HOLDER)
    assert claimed.turn is not None
    with suppress(Ignore):
        Executor(turn_id, claimed.turn, generation, "tools.io", HOLDER).run(claimed.lanes, 1, claimed.at)
    ended = row(turn_id, name)
    return ended.status, (ended.error or {}).get("code")


def lose_while(turn_id: UUID, name: str) -> None:
    """Claim a step, and lose its worker before it does anything."""
    with statement() as db:
        steps.claim(db, turn_id, [[name]], 1, HOLDER)
    change("UPDATE steps SET lease_until = '-infinity' WHERE id = :name", name=name)
    recompile(turn_id)


def writes() -> int:
    with transaction() as db:
        return db.scalar(text("SELECT count(*) FROM sim_writes")) or 0


SAME: list[Any] = [7, 7.0, {"$from": "a.payload"}]


@pytest.mark.parametrize("value", SAME, ids=["equal", "another spelling", "a reference"])
def test_the_second_of_two_equal_calls_is_refused(value: Any) -> None:
    """The error names the step that makes the call, and says what to do if both are wanted."""
    turn = running_turn(step("a", args={"ms": 1, "payload": 7}), write("w"), write("x", value, "w"))
    run(turn.id, "a")

    ends = [run(turn.id, name) for name in "wx"]

    assert (ends, writes()) == ([("succeeded", None), ("failed", "CONFLICT")], 1)
    assert "step 'w' of this turn makes the same call of sim.write" in (row(turn.id, "x").error or {})["message"]


@pytest.mark.parametrize(("source", "made"), [("caller", 2), ("llm", 1)])
def test_only_a_callers_purpose_distinguishes_calls(source: str, made: int) -> None:
    """A purpose that a language model writes does not count."""
    turn = running_turn(write("w", purpose="the left shelf"), write("x", purpose="the right shelf"))
    change("UPDATE plans SET source = :source", source=source)

    for name in "wx":
        run(turn.id, name)

    assert writes() == made


def test_calls_with_equal_purposes_are_the_same() -> None:
    turn = running_turn(write("w", purpose="the shelf"), write("x", purpose="the shelf"))

    assert [run(turn.id, name)[0] for name in "wx"] == ["succeeded", "failed"]


def test_one_of_many_simultaneous_calls_is_made() -> None:
    """The turn's lock decides which call is made."""
    names = [f"w{number}" for number in range(6)]
    turn = running_turn(*map(write, names), max_steps=1)

    with ThreadPoolExecutor(6) as pool:
        ends = Counter(pool.map(lambda name: run(turn.id, name), names))

    assert ends == {("succeeded", None): 1, ("failed", "CONFLICT"): 5}
    assert writes() == 1


def test_a_call_that_was_lost_after_it_began_excludes_others(tools: dict[str, Tool]) -> None:
    """Nobody knows whether the lost call was made, so no other call is made meanwhile."""
    broken = tools["sim.write"]
    tools["sim.write"] = replace(broken, reconcile=_out)
    turn = running_turn(write("w"), write("x"))
    lose_while(turn.id, "w")
    first = run(turn.id, "w", 2)
    change("UPDATE steps SET input_hash = :hash WHERE id = 'w'", hash=call_hash(broken, {"value": 7}))

    second = run(turn.id, "x", 2)
    tools["sim.write"] = broken
    change("UPDATE steps SET not_before = clock_timestamp() - interval '1 ms' WHERE not_before IS NOT NULL")

    assert (first[0], second) == ("pending", ("failed", "CONFLICT"))
    assert (run(turn.id, "w", 2), writes()) == (("succeeded", None), 1)


def _out(*_: Any) -> Any:
    raise Unavailable("out")


def test_a_call_that_was_lost_before_it_began_gives_way() -> None:
    """The other call was made. The lost one looks for it before its own call, and is refused."""
    turn = running_turn(write("w"), write("x"))
    lose_while(turn.id, "w")

    ends = [run(turn.id, name, 2) for name in "xw"]

    assert (ends, writes()) == ([("succeeded", None), ("failed", "CONFLICT")], 1)


def test_after_a_failed_call_the_other_is_made(tools: dict[str, Tool]) -> None:
    """A call that has failed does not count as made."""
    call = tools["sim.write"].call

    def refuse_first(query: Any, context: ToolContext) -> Any:
        if context.step_id == "w":
            raise ToolFailed("no", code="VALIDATION_ERROR")
        return call(query, context)

    tools["sim.write"] = replace(tools["sim.write"], call=refuse_first)
    turn = running_turn(write("w"), write("x"))

    assert [run(turn.id, name)[0] for name in "wx"] == ["failed", "succeeded"]


def test_one_of_two_approved_calls_is_made() -> None:
    """A call that waits for a person has done nothing."""
    turn = running_turn(*({**write(name), "tool": "sim.approve"} for name in "wx"))
    waiting = [run(turn.id, name)[0] for name in "wx"]
    for name in "wx":
        decide(turn.id, name=name)

    assert waiting == ["waiting_approval"] * 2
    assert [run(turn.id, name) for name in "wx"] == [("succeeded", None), ("failed", "CONFLICT")]


def test_a_worker_that_cannot_look_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """While Postgres is down the call is not made."""
    turn = running_turn(write("w"), write("x"))
    with monkeypatch.context() as out:
        out.setattr("turnloom.workers.running.effect_dedup.statement", _out)
        run(turn.id, "w")

    assert (writes(), statuses(turn.id)) == (0, {"w": "running", "x": "pending"})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"value": 7}, {"value": 7.0}, True),
        ({"value": 7}, {"value": 7, "ms": 0}, True),
        ({"value": 7, "ms": "5"}, {"value": 7.0, "ms": 5}, True),
        ({"value": {"a": 1, "b": [2.0]}}, {"value": {"b": [2], "a": 1}}, True),
        ({"value": -0.0}, {"value": 0}, True),
        ({"value": 7}, {"value": "7"}, False),
        ({"value": 1}, {"value": True}, False),
        ({"value": [1, 2]}, {"value": [2, 1]}, False),
        ({"value": 1e300}, {"value": 1e299}, False),
    ],
)
def test_calls_are_compared_as_their_tool_reads_them(one: Any, other: Any, same: bool) -> None:
    tool = REGISTRY.get("sim.write")

    assert (call_hash(tool, one) == call_hash(tool, other)) is same


def test_arguments_that_a_tool_refuses_are_no_call() -> None:
    assert call_hash(REGISTRY.get("sim.write"), {"ms": 1}) is None


@pytest.mark.parametrize(
    ("plan", "refused"),
    [
        ([write("x", 7.0)], ["x"]),
        ([write("x", 8), write("y", 8.0)], ["y"]),
        ([write("x", {"$from": "w.value"}), write("y", {"$from": "w.value"})], ["y"]),
        ([write("x", 8, run_if={"$from": "w.first"}), write("y", 8, run_if={"$from": "w.first", "not": True})], []),
        ([write("x", 8), write("y", 9)], []),
    ],
)
def test_faults_of_a_draft_name_repeated_effects(plan: list[dict[str, Any]], refused: list[str]) -> None:
    """The faults name calls that the turn has made, and calls that are twice in the plan."""
    made = {"id": "w", "tool": "sim.write", "args": {"value": 7}, "status": "succeeded", "result": {}}
    done = StepResult(**made)

    faults = effects_again(Plan.model_validate({"steps": plan}), [done], REGISTRY)

    assert [(fault.step, fault.code) for fault in faults] == [(name, "repeated_effect") for name in refused]

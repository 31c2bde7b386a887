"""Steps run in virtual time by the rules of the ledger."""

from typing import Any

import pytest

from tests.factories import step
from turnloom.models.contracts.plan import Plan
from turnloom.tools.registry import load_registry
from turnloom.workers.compiling import Columns
from turnloom.workers.replay.tool_results import CallOutcome, PlannedCall
from turnloom.workers.replay.virtual_run import VirtualRun

TOOLS = load_registry(["sim", "hotel"])


class Scripted:
    """Outcomes by step: a duration, or an outcome. Others succeed after 10 ms with their own arguments."""

    def __init__(self, **outcomes: CallOutcome | float | None) -> None:
        self.outcomes = outcomes
        self.calls: list[PlannedCall] = []

    def __call__(self, call: PlannedCall) -> CallOutcome | None:
        self.calls.append(call)
        found = self.outcomes.get(call.step, 10.0)
        if isinstance(found, float):
            return CallOutcome(status="succeeded", result={"value": call.args}, duration_ms=found)
        return found


FAILED = CallOutcome(status="failed", error={"code": "NOT_FOUND", "message": "no"}, duration_ms=10.0)


def run(answer: Scripted, *steps: dict[str, Any], **options: Any) -> VirtualRun:
    plan = Plan.model_validate({"steps": list(steps)})
    columns = Columns(TOOLS)
    made = VirtualRun(TOOLS, answer, **{"cap": None, "on_error": "best_effort", "deadline_ms": 60_000.0} | options)
    made.run([columns.of(each, place) for place, each in enumerate(plan.steps)], 1)
    return made


def statuses(made: VirtualRun) -> dict[str, str]:
    return {name: each.status for name, each in made.steps.items()}


def echo(name: str, *needs: str, **fields: Any) -> dict[str, Any]:
    return step(name, *needs, **{"tool": "sim.echo", "args": {"value": name}} | fields)


def test_independent_steps_run_side_by_side() -> None:
    """The run lasts as long as the critical path."""
    made = run(Scripted(a=100.0, b=40.0, c=30.0), echo("a"), echo("b"), echo("c", "b"))

    assert made.at_ms == 100.0
    assert set(statuses(made).values()) == {"succeeded"}


def test_a_cap_lets_steps_wait() -> None:
    """With one place, steps run one after another in the order of the plan."""
    answer = Scripted()

    made = run(answer, *(echo(name) for name in "abc"), cap=1)

    assert made.at_ms == 30.0
    assert [call.step for call in answer.calls] == ["a", "b", "c"]


def test_references_are_filled_in() -> None:
    """A step gets the results that its arguments refer to."""
    answer = Scripted(a=CallOutcome(status="succeeded", result={"value": 7}))

    run(answer, echo("a"), echo("b", args={"value": {"$from": "a.value"}}))

    assert [call.args for call in answer.calls] == [{"value": "a"}, {"value": 7}]


def test_a_failure_skips_what_needs_it() -> None:
    """Independent steps go on, and so does a step that runs in any case."""
    made = run(Scripted(a=FAILED), echo("a"), echo("b", "a"), echo("c", "a", on_need_error="run"), echo("d"))

    assert statuses(made) == {"a": "failed", "b": "skipped", "c": "succeeded", "d": "succeeded"}


def test_fail_fast_cancels_the_rest() -> None:
    """After a critical failure no step begins; one that is not critical stops nothing."""
    made = run(Scripted(a=FAILED, b=20.0), echo("a"), echo("b"), echo("c", "b"), on_error="fail_fast")
    mild = run(Scripted(a=FAILED, b=20.0), echo("a", critical=False), echo("b"), echo("c", "b"), on_error="fail_fast")

    assert statuses(made) == {"a": "failed", "b": "succeeded", "c": "cancelled"}
    assert statuses(mild) == {"a": "failed", "b": "succeeded", "c": "succeeded"}


def test_a_condition_that_does_not_hold_skips() -> None:
    """`run_if` looks at the result of an earlier step."""
    answer = Scripted(a=CallOutcome(status="succeeded", result={"value": 0}))

    made = run(answer, echo("a"), echo("b", run_if={"$from": "a.value"}), echo("c", "b"))

    assert statuses(made) == {"a": "succeeded", "b": "skipped", "c": "skipped"}


def test_a_fallback_takes_the_place_of_a_failed_call() -> None:
    """Both calls take their time."""
    answer = Scripted()
    outcomes = [FAILED, CallOutcome(status="succeeded", result={"value": 2}, duration_ms=5.0)]
    answer.outcomes["a"] = None
    made = run(lambda call: outcomes.pop(0), echo("a", fallbacks=[{"tool": "sim.echo", "args": {"value": 2}}]))  # type: ignore[arg-type]

    assert (statuses(made), made.at_ms) == ({"a": "succeeded"}, 15.0)


def test_the_same_read_is_made_once() -> None:
    """A copy has the outcome of its original."""
    answer = Scripted(a=FAILED)
    rooms = {"tool": "pms.get_room_types", "args": {"hotel_id": "demo"}}

    made = run(answer, step("a", **rooms), step("b", **rooms))

    assert len(answer.calls) == 1
    assert statuses(made) == {"a": "failed", "b": "failed"}


def test_the_deadline_ends_what_still_runs() -> None:
    """What has ended before stays."""
    made = run(Scripted(a=50.0, b=200.0), echo("a"), echo("b"), echo("c", "b"), deadline_ms=100.0)

    assert (made.is_late, made.at_ms) == (True, 100.0)
    assert statuses(made) == {"a": "succeeded", "b": "cancelled", "c": "cancelled"}


def test_a_call_without_a_result_diverges() -> None:
    """What needs it does not run, not even in any case; what does not need it runs."""
    made = run(Scripted(a=None), echo("a"), echo("b", "a", on_need_error="run"), echo("c"))

    assert statuses(made) == {"a": "diverged", "b": "skipped", "c": "succeeded"}


@pytest.mark.parametrize(("tool", "status"), [("sim.echo", "failed"), ("sim.write", "unknown")])
def test_a_delayed_call_is_given_up(tool: str, status: str) -> None:
    """A call that a fault delays beyond its time has failed; nobody knows what came of one with an effect."""
    slow = CallOutcome(status="succeeded", result={}, duration_ms=5_000.0, is_delayed=True)

    made = run(Scripted(a=slow), echo("a", tool=tool, timeout_ms=1_000))

    assert (statuses(made), made.at_ms) == ({"a": status}, 1_000.0)

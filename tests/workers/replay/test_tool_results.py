"""Recorded results are found by the call, then by its place. Nothing else answers a call."""

from typing import Any

import pytest

from tests.workers.replay.recorded import step
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.contracts.memory import RecalledResult
from turnloom.tools.registry import load_registry
from turnloom.workers.replay.tool_results import LiveReads, PlannedCall, RecordedResults, SimulatedResults

TOOLS = load_registry(["sim", "hotel"])


def call(name: str = "x", tool: str = "sim.echo", /, **args: Any) -> PlannedCall:
    return PlannedCall(name, TOOLS.get(tool), args)


def test_the_same_call_has_its_result() -> None:
    """Whatever the ids and the order of the steps, and however a number is written."""
    found = RecordedResults(
        [step("a", "sim.wait", args={"ms": 1}, result={"ms": 1, "payload": None}), step("b")], (), TOOLS
    )

    outcome = found.of(call("other", value="b"))

    assert outcome is not None
    assert (outcome.recorded, outcome.result, outcome.duration_ms) == ("b", {"value": "b"}, 10.0)
    assert found.of(call("third", "sim.wait", ms=1.0)).recorded == "a"  # type: ignore[union-attr]


def test_another_call_of_the_tool_has_the_result_at_its_place() -> None:
    """First that of the step with its id, then the first that nothing has taken."""
    found = RecordedResults([step("a"), step("b"), step("c")], (), TOOLS)

    taken = [found.of(call(name, value=name.upper())) for name in ("b", "x", "y", "z")]

    assert [each and each.recorded for each in taken] == ["b", "a", "c", None]


def test_a_tool_that_was_not_called_has_no_result() -> None:
    """Neither another tool's result, nor that of a step that did not run, stands in."""
    found = RecordedResults([step("a", status="skipped"), step("b", "their_tool")], (), TOOLS)

    assert found.of(call(value="a")) is None
    assert found.of(call("b", "sim.wait", ms=1)) is None


def test_a_recorded_failure_is_the_outcome() -> None:
    """A failed call fails again, with its error."""
    error = {"code": "NOT_FOUND", "message": "no"}
    outcome = RecordedResults([step("a", status="failed", result=None, error=error)], (), TOOLS).of(call(value="a"))

    assert outcome is not None
    assert (outcome.status, outcome.error) == ("failed", error)


def test_a_result_that_the_tool_no_longer_returns_is_none() -> None:
    """A result of an earlier release, or of another system's tool of this name, does not fit."""
    assert RecordedResults([step("a", result={"other": 1})], (), TOOLS).of(call(value="a")) is None


def test_what_the_conversation_remembers_answers_the_same_read() -> None:
    """As in a live turn: while it holds. Nothing else is remembered."""
    tool, args = "pms.get_room_types", {"hotel_id": "demo"}
    result = TOOLS.get(tool).output.model_construct().model_dump() | {"room_types": []}
    entry = {"tool": tool, "args": args, "result": result, "turn": "t1", "step": "old", "age_s": 5}
    holding = RecordedResults((), [RecalledResult(**entry)], TOOLS)
    doubtful = RecordedResults((), [RecalledResult(**entry, holds=False)], TOOLS)

    assert (holding.of(call("x", tool, **args)) or step("none")).recorded == "old"
    assert doubtful.of(call("x", tool, **args)) is None
    assert holding.of(call("x", value=1)) is None


@pytest.mark.parametrize(("tool", "is_made"), [("sim.echo", True), ("sim.write", False)])
def test_live_reads_call_only_what_reads(tool: str, is_made: bool) -> None:
    """A call with an effect takes its result from the record, or has none."""
    made: list[PlannedCall] = []

    def make(asked: PlannedCall) -> Envelope:
        made.append(asked)
        return Envelope(ok=True, data={"value": "now"})

    outcome = LiveReads(RecordedResults((), (), TOOLS), make).of(call("x", tool, value="v"))

    assert bool(made) is is_made
    assert (outcome is not None) is is_made


def simulated(**fault: Any) -> SimulatedResults:
    steps = [
        step("a"),
        step("b"),
        step("w", "sim.write", effect="write", result={"value": "w", "key": "k", "first": True}),
    ]
    faults = FaultFile.model_validate({"faults": [{"tool": "*"} | fault]})
    return SimulatedResults(RecordedResults(steps, (), TOOLS), faults, "c1/1")


def test_a_simulated_delay() -> None:
    """The call lasts longer and has its result."""
    outcome = simulated(delay_ms=500).of(call(value="a"))

    assert outcome is not None
    assert (outcome.status, outcome.duration_ms, outcome.is_delayed) == ("succeeded", 510.0, True)


def test_a_simulated_failure() -> None:
    """The call of the given number fails with the given error. The others do not."""
    faulty = simulated(nth=2, error={"code": "NOT_FOUND", "message": "gone"})

    outcomes = [faulty.of(call(value=name)) for name in "ab"]

    assert [each and (each.status, each.error) for each in outcomes] == [
        ("succeeded", None),
        ("failed", {"code": "NOT_FOUND", "message": "gone"}),
    ]


def test_nobody_knows_what_came_of_an_effect_that_broke_down() -> None:
    """A malformed answer, too, leaves open whether a write took effect."""
    faulty = simulated(malformed=True)

    read, write = faulty.of(call(value="a")), faulty.of(call("w", "sim.write", value="w"))

    assert read is not None
    assert write is not None
    assert (read.status, write.status) == ("failed", "unknown")


def test_a_fault_makes_no_result() -> None:
    """A call without a recorded result has none, whatever is simulated."""
    assert simulated(delay_ms=1).of(call("x", "sim.wait", ms=1)) is None

"""A turn is run again from one of its steps, with a scripted language model and without any server of ours."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.planner.llm.scripted import Script, says, scripted_server
from tests.workers.replay.recorded import conversation, step, turn
from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.contracts.override import NO_OVERRIDES
from turnloom.models.contracts.recorded import RecordedTurn
from turnloom.models.contracts.replay import ReplayedTurn, StepRecord
from turnloom.models.contracts.replay_request import ReplayOptions
from turnloom.models.errors import Conflict, Invalid, InvalidPlan, NotFound
from turnloom.models.runtime.settings import settings
from turnloom.planner.llm.openai import connect
from turnloom.planner.tenant_texts import tailor
from turnloom.tools.registry import load_registry
from turnloom.workers.replay.rerun import RerunResults, rerun
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import CallOutcome, PlannedCall, RecordedResults
from turnloom.workers.replay.turn_changes import TurnChanges

TOOLS = load_registry(["sim"])
FIRST = str(UUID(int=1))


@pytest.fixture
def script(clean_environment: None) -> Iterator[Script]:
    with scripted_server() as serving:
        yield serving


def run_again(
    script: Script,
    talk: RecordedTurn,
    changes: TurnChanges,
    *,
    keeps: bool = True,
    turn_id: str = FIRST,
    **options: Any,
) -> ReplayedTurn:
    llm = connect(settings().model_copy(update={"openai_base_url": script.url}))
    setting = Setting(tenant_id=uuid4(), tailored=tailor(NO_OVERRIDES), tools=TOOLS, llm=llm, keeps_plans=keeps)
    return rerun(conversation(talk), turn_id, changes, setting, ReplayOptions(**options))


def planned(name: str, value: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a step of a plan that echoes a value, by default its name."""
    return {"id": name, "tool": "sim.echo", "args": {"value": value or name}, **fields}


def chain(**fields: Any) -> RecordedTurn:
    """Return a turn whose step `b` echoes the result of `a`, and whose step `c` stands alone."""
    steps = [planned("a"), planned("b", {"$from": "a.value"}), planned("c")]
    b = step("b", args={"value": "a"}, result={"value": "a"}, needs=["a"])
    return turn(1, step("a"), b, step("c"), plans=[{"steps": steps}], **fields)


def steps_of(made: ReplayedTurn) -> dict[str, StepRecord]:
    assert made.replayed is not None, made.reason
    return {each.id: each for each in made.replayed.steps}


def test_the_recorded_plan_is_kept(script: Script) -> None:
    """Only the reply is written again; nothing differs, although no model has planned."""
    script.behaviours = [says("Again.")]

    made = run_again(script, chain(), TurnChanges(step="b"))

    assert len(script.requests) == 1
    assert made.replayed is not None
    assert (made.replayed.reply, made.differences, made.unused) == ("Again.", [], [])
    assert {name: each.recorded for name, each in steps_of(made).items()} == {"a": "a", "b": "b", "c": "c"}


def test_a_given_result_takes_the_place_of_the_recorded_one(script: Script) -> None:
    """The steps that refer to it are called with it, and the reply is written from it."""
    script.behaviours = [says("Again.")]

    made = run_again(script, chain(), TurnChanges(step="a", results={"a": {"value": "given"}}))

    found = steps_of(made)
    assert (found["a"].result, found["a"].recorded, found["a"].duration_ms) == ({"value": "given"}, None, 10.0)
    assert found["b"].args == {"value": "given"}
    assert "sim.echo.value" in {each.subject for each in made.differences}
    assert "given" in json.dumps(script.requests)


def test_a_changed_plan_runs_with_the_recorded_results(script: Script) -> None:
    """A call of a tool that was never called diverges, and is named."""
    plan = {"steps": [planned("a"), {"id": "w", "tool": "sim.wait", "args": {"ms": 1}, "needs": ["a"]}]}

    made = run_again(script, chain(), TurnChanges(step="b", plan=plan))

    assert (made.outcome, made.reason) == ("diverged", "there is no recorded result for sim.wait (step 'w')")
    assert steps_of(made)["a"].recorded == "a"
    assert script.requests == []


def test_a_changed_plan_with_a_given_result_is_answered(script: Script) -> None:
    """The result may be that of a step that only the new plan has."""
    script.behaviours = [says("Again.")]
    plan = {"steps": [planned("a"), {"id": "w", "tool": "sim.wait", "args": {"ms": 1}, "needs": ["a"]}]}

    made = run_again(script, chain(), TurnChanges(step="b", plan=plan, results={"w": {"ms": 1, "payload": None}}))

    assert made.outcome == "different"
    assert {each.aspect for each in made.differences} >= {"tools"}
    assert made.replayed is not None
    assert made.replayed.reply == "Again."


def test_other_texts_plan_again(script: Script) -> None:
    """Then the language model is asked for a plan, as in a replay."""
    script.behaviours = [says(json.dumps({"steps": [planned("c")]})), says("Again.")]

    made = run_again(script, chain(), TurnChanges(step="a", results={"b": {"value": "x"}}), keeps=False)

    assert list(steps_of(made)) == ["c"]
    assert (len(script.requests), made.unused) == (2, ["b"])


def test_all_revisions_are_kept(script: Script) -> None:
    """A plan that was made again after a round is not made a third time."""
    script.behaviours = [says("Again.")]
    plans = [{"steps": [planned("a")]}, {"steps": [planned("b", {"$from": "a.value"})]}]
    talk = turn(1, step("a"), step("b", args={"value": "a"}, needs=["a"], revision=2), plans=plans, mode="react")

    made = run_again(script, talk, TurnChanges(step="b"))

    assert {name: each.revision for name, each in steps_of(made).items()} == {"a": 1, "b": 2}
    assert len(script.requests) == 1


def test_faults_strike_only_what_runs_again(script: Script) -> None:
    """The other steps keep their recorded results."""
    script.behaviours = [says("Again.")]
    error = {"code": "NOT_FOUND", "message": "gone"}
    faults = FaultFile.model_validate({"faults": [{"tool": "*", "error": error}]})

    made = run_again(script, chain(), TurnChanges(step="a"), tools="simulated", faults=faults)

    assert {name: each.status for name, each in steps_of(made).items()} == {
        "a": "failed", "b": "skipped", "c": "succeeded"
    }  # fmt: skip


def test_a_kept_step_keeps_only_its_own_call() -> None:
    """With other arguments, or of another step, a call is answered by the source."""
    source = CallOutcome(status="succeeded", result="from the source")

    class Source:
        def of(self, call: PlannedCall) -> CallOutcome | None:
            return source

    kept = [step("a")]
    results = RerunResults({}, kept, RecordedResults(kept, (), TOOLS), Source())
    echo = TOOLS.get("sim.echo")

    assert results.of(PlannedCall("a", echo, {"value": "other"})) == source
    assert results.of(PlannedCall("b", echo, {"value": "a"})) == source
    own = results.of(PlannedCall("a", echo, {"value": "a"}))
    assert own is not None
    assert own.recorded == "a"


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        (TurnChanges(step="x"), NotFound, "there is no step 'x'; the steps are: a, b, c"),
        (TurnChanges(step="a", results={"x": {}}), NotFound, "there is no step 'x'; the steps are: a, b, c"),
        (TurnChanges(step="a", results={"a": 7}), Invalid, "the result for step 'a' is none of sim.echo"),
        (TurnChanges(step="a", plan=[]), InvalidPlan, "a plan must be an object"),
    ],
)
def test_a_wrong_change_is_refused(script: Script, changes: TurnChanges, error: type[Exception], said: str) -> None:
    """Nobody is asked for anything."""
    with pytest.raises(error, match=said):
        run_again(script, chain(), changes)
    assert script.requests == []


def test_every_fault_of_a_plan_is_told(script: Script) -> None:
    """It is read as a caller's plan."""
    plan = {"steps": [planned("a", needs=["gone"]), {"id": "b", "tool": "no.tool"}]}

    with pytest.raises(InvalidPlan) as refused:
        run_again(script, chain(), TurnChanges(step="a", plan=plan))

    assert {fault["code"] for fault in refused.value.faults} == {"dangling_need", "unknown_tool"}


@pytest.mark.parametrize(
    ("fields", "said"), [({"author": "Dana"}, "Dana wrote its reply"), ({"status": "cancelled"}, "it is cancelled")]
)
def test_a_turn_without_an_own_end_is_refused(script: Script, fields: dict[str, Any], said: str) -> None:
    """There is no reply of the agent's to compare with."""
    with pytest.raises(Conflict, match=said):
        run_again(script, chain(is_replayed=False, **fields), TurnChanges(step="a"))


def test_an_unknown_turn_is_refused(script: Script) -> None:
    """It names none of the conversation."""
    with pytest.raises(NotFound, match="no turn of that id"):
        run_again(script, chain(), TurnChanges(step="a"), turn_id=str(UUID(int=9)))

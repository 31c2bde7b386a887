"""Conversations are replayed turn by turn, with a scripted language model and without any server of ours."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from tests.planner.llm.scripted import Script, says, scripted_server
from tests.workers.replay.recorded import conversation, step, turn
from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.contracts.override import NO_OVERRIDES
from turnloom.models.contracts.recorded import RecordedConversation
from turnloom.models.contracts.replay import ReplayedTurn
from turnloom.models.runtime.settings import settings
from turnloom.planner.llm.openai import connect
from turnloom.planner.tenant_texts import tailor
from turnloom.tools.registry import load_registry
from turnloom.workers.replay.conversation_replay import replay
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import RecordedResults, SimulatedResults

TOOLS = load_registry(["sim"])


@pytest.fixture
def script(clean_environment: None) -> Iterator[Script]:
    with scripted_server() as serving:
        yield serving


def replayed(script: Script, talk: RecordedConversation, faults: FaultFile | None = None) -> list[ReplayedTurn]:
    llm = connect(settings().model_copy(update={"openai_base_url": script.url}))
    setting = Setting(tenant_id=uuid4(), tailored=tailor(NO_OVERRIDES), tools=TOOLS, llm=llm)

    def results_of(turn: Any, past: Any) -> Any:
        found = RecordedResults(turn.record.steps, past.memory, TOOLS)
        return SimulatedResults(found, faults, f"{turn.seq}") if faults else found

    return replay(talk, setting, results_of)


def plan(*names: str) -> Any:
    steps = [{"id": name, "tool": "sim.echo", "args": {"value": name}, "needs": []} for name in names]
    return says(json.dumps({"steps": steps}))


def prompts(script: Script) -> str:
    return json.dumps(script.requests, ensure_ascii=False)


def test_the_model_is_told_the_recorded_past_and_time(script: Script) -> None:
    """What the replay of an earlier turn has said is no part of it."""
    script.behaviours = [says('{"steps": [], "reply": "Replayed."}')] * 2
    talk = conversation(turn(1, reply="Recorded."), turn(2, person={"timezone": "Asia/Tokyo"}))

    replayed(script, talk)

    told = prompts(script)
    assert "Recorded." in told
    assert "Replayed." not in told
    assert "2026-03-02" in told
    assert datetime.now(UTC).date().isoformat() not in told


def test_a_turn_that_makes_another_call_diverges_alone(script: Script) -> None:
    """The turns after it are replayed as if it had gone as recorded."""
    script.behaviours = [plan("a", "b"), plan("c"), says("Done.")]
    talk = conversation(turn(1, step("a")), turn(2, step("c"), reply="Done."))

    first, second = replayed(script, talk)

    assert (first.outcome, first.reason) == ("diverged", "there is no recorded result for sim.echo (step 'b')")
    assert {each.aspect for each in first.differences} == {"tools"}
    assert second.outcome != "diverged"
    assert [each.recorded for each in second.replayed.steps] == ["c"]  # type: ignore[union-attr]


def test_what_is_not_replayed_is_only_the_past(script: Script) -> None:
    """A turn that a person wrote, or that was stopped, is known to those after it."""
    script.behaviours = [says('{"steps": [], "reply": "Fine."}')]
    talk = conversation(turn(1, reply="I am Dana.", author="Dana", is_replayed=False), turn(2))

    [only] = replayed(script, talk)

    assert only.seq == 2
    assert "I am Dana." in prompts(script)


def test_a_callers_plan_is_run_as_it_is(script: Script) -> None:
    """No language model is asked."""
    steps = [{"id": "a", "tool": "sim.echo", "args": {"value": "a"}}]
    talk = conversation(turn(1, step("a"), submitted_plan={"steps": steps}))

    [only] = replayed(script, talk)

    assert script.requests == []
    assert [each.recorded for each in only.replayed.steps] == ["a"]  # type: ignore[union-attr]


def test_a_plan_that_is_refused_twice_ends_the_turn(script: Script) -> None:
    """As in a live turn, with an apology; the rules that it broke are counted."""
    script.behaviours = [says('{"steps": [{"id": "a", "tool": "no.tool"}]}')] * 2

    [only] = replayed(script, conversation(turn(1)))

    assert only.replayed is not None
    assert (only.outcome, only.replayed.status) == ("different", "failed")
    assert only.replayed.violations == ["plan.repaired", "plan.unknown_tool"]
    assert only.replayed.reply


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"message": " "}, "its message is blank"), ({"agent": "gone"}, "there is no agent 'gone'")],
)
def test_a_turn_that_cannot_be_replayed_says_why(script: Script, fields: dict[str, Any], reason: str) -> None:
    """It ends neither the conversation nor the worker."""
    script.behaviours = [says('{"steps": [], "reply": "Fine."}')]

    first, second = replayed(script, conversation(turn(1, **fields), turn(2)))

    assert first.outcome == "failed"
    assert reason in (first.reason or "")
    assert second.outcome != "failed"


def test_time_is_virtual(script: Script) -> None:
    """A delay beyond the turn's deadline costs no time, and the turn is answered with what there is."""
    script.behaviours = [plan("a", "b")]
    faults = FaultFile.model_validate({"faults": [{"tool": "*", "nth": 2, "delay_ms": 5_000}]})
    talk = conversation(turn(1, step("a"), step("b"), deadline_ms=2_000))

    [only] = replayed(script, talk, faults)

    assert only.replayed is not None
    assert {each.id: each.status for each in only.replayed.steps} == {"a": "succeeded", "b": "cancelled"}
    assert len(script.requests) == 1  # after the deadline no model writes
    assert only.replayed.reply

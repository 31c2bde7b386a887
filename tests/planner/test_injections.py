"""Text inside a tool's result is data. It adds no steps, no tools and no scopes."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.planner.injections import OURS, outside
from tests.planner.llm.scripted import Script, says
from turnloom.models.contracts.memory import RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Mode
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft, planning_messages
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.llm.schema import plan_schema
from turnloom.tools.registry import Registry

Context = Callable[..., PlanningContext]

TEXTS = [pytest.param(text, id=name) for name, text in OURS.items()]
OUTSIDE = [pytest.param(text, id=name) for name, text in outside().items()]
if not OUTSIDE:
    skipped = pytest.mark.skip(reason="TURNLOOM_CASES names no folder of outside cases")
    OUTSIDE = [pytest.param("", id="outside", marks=skipped)]
BLOCK = re.compile(r"<(observations|memory)>\n(.*)\n</\1>", re.DOTALL)
MODES: list[Mode] = ["plan", "react", "adaptive"]


def looked(text: str) -> StepResult:
    """Return a step that brought a text from outside."""
    return StepResult(id="look", tool="travel.format_itinerary", args={}, status="succeeded", result={"notes": [text]})


def told(context: Context, mode: Mode, text: str) -> PlanningContext:
    """Return the planning context after that step, and after an earlier turn with the same text."""
    remembered = RecalledResult(tool="sim.echo", args={}, result={"value": text}, turn="t", step="s", age_s=9)
    return context("Rome?", mode=mode, again="observe", revision=1, done=[looked(text)], memory=[remembered])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", [*TEXTS, *OUTSIDE])
def test_a_text_stays_inside_its_block(text: str, mode: Mode, context: Context) -> None:
    """The rest of the prompt is the same as with a harmless text. The block is JSON that contains the text."""
    harmless, _ = planning_messages(told(context, mode, "Nice."))
    hostile, _ = planning_messages(told(context, mode, text))

    for one, other in zip(harmless, hostile, strict=True):
        assert one["role"] == other["role"]
        assert BLOCK.sub("", str(one["content"])) == BLOCK.sub("", str(other["content"]))
    blocks = [found for message in hostile for found in BLOCK.findall(str(message["content"]))]
    assert {name for name, _ in blocks} == {"observations", "memory"}
    begins = text[:100]  # a long text is cut
    assert all(any(found.startswith(begins) for found in texts_in(json.loads(body))) for _, body in blocks)


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [found for each in (value.values() if isinstance(value, dict) else value) for found in texts_in(each)]
    return [str(value)]


@pytest.mark.parametrize("text", [*TEXTS, *OUTSIDE])
def test_the_tools_do_not_depend_on_results(text: str, context: Context) -> None:
    """The schema of the answer names the agent's tools, and no other."""
    before = context("Rome?")
    after = replace(before, done=[looked(text)], revision=1, again="observe")

    assert after.offered == before.offered
    assert plan_schema(after.offered, 1, after.agent) == plan_schema(before.offered, 1, before.agent)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["sim.write", "network.confirm_meeting", "pms.generate_booking_link", "no.such"])
def test_a_model_that_obeys_is_refused(
    tool: str, mode: Mode, script: Script, llm: OpenAIModel, context: Context, tools: Registry
) -> None:
    """A plan is checked against the agent's tools, whatever made the model write it. A forbidden call is not a step."""
    obeying = {"id": "x", "tool": tool, "args": {}, "needs": []}
    beside = {"id": "w", "tool": "travel.lookup_weather", "args": {"city": "Rome"}, "needs": []}
    hidden = {**beside, "fallbacks": [{"tool": tool, "args": {}}]}
    written = [json.dumps({"thought": "t", "steps": [step]}) for step in (obeying, hidden)]
    script.behaviours = [says(text) for text in written]
    started: list[WrittenStep] = []

    drafted = draft(told(context, mode, OURS["order"]), llm, on_step=started.append)

    assert drafted.plan is None
    assert "unknown_tool" in [fault["code"] for fault in drafted.faults]
    assert all(step.early is None for step in started)


def test_a_tool_that_the_user_has_not_granted_stays_unknown(script: Script, llm: OpenAIModel, context: Context) -> None:
    """A result that claims otherwise grants nothing. A tool that is not offered cannot be planned."""
    meeting = {"id": "m", "tool": "network.confirm_meeting", "args": {"selection_number": 1}, "needs": []}
    given = told(partial_assistant(context), "auto", OURS["system"])
    script.otherwise = says(json.dumps({"thought": "t", "steps": [meeting]}))

    drafted = draft(given, llm)

    assert drafted.plan is None
    assert {fault["code"] for fault in drafted.faults} == {"unknown_tool"}


def partial_assistant(context: Context) -> Context:
    """Return a function that makes the context of an assistant whose user has granted no scope."""

    def make(message: str, **more: Any) -> PlanningContext:
        made = context(message, agent="assistant", **more)
        free = Registry({name: tool for name, tool in made.tools.tools.items() if not tool.scopes})
        assert free.tools.keys() < made.tools.tools.keys()
        return replace(made, tools=free)

    return make

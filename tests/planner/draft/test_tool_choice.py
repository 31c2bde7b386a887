"""An agent with many tools is shown those that fit what was said, and may search for others."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.planner.llm.scripted import Script, says
from turnloom.models.contracts.memory import Exchange
from turnloom.models.errors import Unavailable
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.draft.fewer_tools import with_fewer_tools
from turnloom.planner.draft.planning_prompt import plan_form, planning_messages
from turnloom.planner.draft.tool_choice import choose
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.llm.schema import SEARCH
from turnloom.tools.registry import Registry

Context = Callable[..., PlanningContext]

WEATHER = {"id": "w", "call": {"tool": "travel.lookup_weather", "args": {"city": "Rome"}}, "needs": []}
LOOK = {"id": "s", "call": {"tool": SEARCH, "args": {"words": "weather of a city"}}, "needs": []}


@pytest.fixture
def generic(context: Context, tools: Registry) -> Context:
    """Return a function that makes a context with every shipped tool."""

    def make(message: str, **more: Any) -> PlanningContext:
        asked = context(message, **more)
        agent = asked.agent.model_copy(update={"always_shown": ["dates.*"]})
        return replace(asked, agent=agent, tools=tools)

    return make


def _plan(*steps: dict[str, Any], reply: str | None = None) -> str:
    return json.dumps({"thought": "t", "steps": list(steps), "reply": reply})


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("What is the weather in Rome?", {"travel.lookup_weather"}),
        ("Any notifications?", {"notifications.list"}),
        ("Schedule a meeting with David", {"network.schedule_meeting", "network.confirm_meeting"}),
        ("a room with breakfast for two nights", {"pms.get_availability"}),
    ],
)
def test_tools_that_fit_the_message_are_shown(generic: Context, message: str, wanted: set[str]) -> None:
    """Beside them stand those that the profile always shows. The model may search for others."""
    choice = choose(generic(message))

    assert choice.shown.tools.keys() >= wanted | {"dates.resolve_hint"}
    assert len(choice.shown.tools) <= 8
    assert choice.others


def test_few_tools_are_all_shown(context: Context) -> None:
    """An agent with as many tools as a prompt may show needs no search."""
    asked = context("Hello")

    assert choose(asked).shown.tools == asked.offered.tools
    assert "tools.search" not in planning_messages(asked)[0][0]["content"]


def test_a_conversation_only_adds_tools(generic: Context) -> None:
    """The next turn keeps what the turns before it showed, so that what a provider has cached stays the beginning."""
    first = generic("What is the weather in Rome?")
    second = generic("Any notifications?", history=[Exchange("What is the weather in Rome?", "Sunny.")])

    before, after = set(choose(first).shown.tools), set(choose(second).shown.tools)

    assert before < after
    assert choose(second).shown.tools == choose(second).shown.tools


@pytest.mark.parametrize(
    ("message", "added"),
    [
        ("make it 3 days", set()),
        ("What about Milan instead?", set()),
        ("Any notifications, and the weather in Rome?", {"notifications.list", "notifications.resolve"}),
    ],
)
def test_a_message_that_shown_tools_serve_adds_those_it_names(generic: Context, message: str, added: set[str]) -> None:
    """A common word, such as "make", shows no tool that has nothing to do with the conversation."""
    trip = "Plan a 2-day trip to Rome with its main attractions and the weather"
    before = set(choose(generic(trip)).shown.tools)

    after = set(choose(generic(message, history=[Exchange(trip, "Here it is.")])).shown.tools)

    assert after - before == added


def test_a_search_brings_tools_and_another_answer(script: Script, llm: OpenAIModel, generic: Context) -> None:
    """The model is asked again with what its words found. Nothing of the first answer is run."""
    script.behaviours = [says(_plan(LOOK)), says(_plan(WEATHER))]
    told: list[Any] = []

    drafted = draft(generic("Wie wird es morgen?"), llm, on_step=told.append)

    schemas = [json.dumps(request["response_format"]) for request in script.requests]
    assert drafted.plan is not None
    assert [step.tool for step in drafted.plan.steps] == ["travel.lookup_weather"]
    assert ["travel.lookup_weather" in schema for schema in schemas] == [False, True]
    assert (told, drafted.usage.llm_calls, drafted.repaired) == ([], 2, False)


def test_a_tool_that_is_not_shown_may_still_be_called(script: Script, llm: OpenAIModel, generic: Context) -> None:
    """A model without strict mode may know a tool from an earlier turn."""
    script.behaviours = [says(_plan(WEATHER))]

    drafted = draft(generic("Hi"), llm)

    assert drafted.plan is not None
    assert len(script.requests) == 1


def test_what_is_not_shown_is_named_by_pack(generic: Context) -> None:
    """The rules say how many other tools there are, and of what."""
    asked = generic("Hi")

    assert (
        "Not listed: faq (1), network (4), notifications (2), pms (4), sim ("
        in planning_messages(asked)[0][0]["content"]
    )
    assert SEARCH in json.dumps(plan_form(asked))


def test_the_tools_that_match_best_stay_where_even_few_are_too_many(generic: Context) -> None:
    """Half of the tools stay. What arguments are for counts as much as names and descriptions."""
    asked = replace(generic("Is there one with breakfast?"), shows_few_tools=True)

    fewer = with_fewer_tools(asked, Unavailable("too large", code="schema_too_large"), 5.0)

    assert len(fewer.tools.tools) == len(asked.tools.tools) // 2
    assert "pms.get_availability" in fewer.tools.tools
    assert "notifications.list" not in fewer.tools.tools

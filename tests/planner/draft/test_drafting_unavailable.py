"""The planner knows which tools cannot be used now, and plans around them."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft, planning_messages
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.tools.registry import Registry

Context = Callable[..., PlanningContext]

TRIP = "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights"
DOWN = {"code": "CIRCUIT_OPEN", "service": "open-meteo"}


def without(context: PlanningContext, *names: str) -> Registry:
    return Registry({name: tool for name, tool in context.tools.tools.items() if name not in names})


def test_the_prompt_names_the_tools_that_cannot_be_used(context: Context) -> None:
    """It gives the reason near the message, so that the list of tools before it is the same for all."""
    unavailable = {"travel.lookup_weather": DOWN, "notes.write": {"code": "SCOPES_MISSING", "scopes": ["notes.write"]}}

    before, _ = planning_messages(context(TRIP))
    messages, prompts = planning_messages(context(TRIP, unavailable=unavailable))

    assert messages[0] == before[0]
    (told,) = re.findall(r"<unavailable>\n(.*)\n</unavailable>", messages[-1]["content"])
    assert json.loads(told) == unavailable
    assert any(source.startswith("planning/unavailable@") for source in prompts)


def test_a_step_whose_service_is_down_is_planned_around(context: Context, offline: OpenAIModel) -> None:
    """The rest of the trip is planned as usual."""
    plan = draft(context(TRIP, unavailable={"travel.lookup_weather": DOWN}), offline).plan

    assert plan is not None
    assert [step.tool for step in plan.steps] == [
        "travel.search_attractions",
        "travel.search_hotels",
        "travel.format_itinerary",
    ]
    assert "weather" not in plan.steps[-1].args


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ({"code": "SCOPES_MISSING", "scopes": ["a.read", "a.write"]}, "you have not allowed me to"),
        ({"code": "UNAUTHORIZED"}, "not told who you are"),
        (DOWN, "open-meteo does not answer"),
    ],
)
def test_the_reply_says_why_nothing_can_be_done(
    context: Context, offline: OpenAIModel, why: dict[str, Any], words: str
) -> None:
    asked = context("What is the weather in Kyoto?", unavailable={"travel.lookup_weather": why})
    if why["code"] != "CIRCUIT_OPEN":
        asked = replace(asked, tools=without(asked, "travel.lookup_weather"))

    plan = draft(asked, offline).plan

    assert plan is not None
    assert plan.steps == []
    assert words in (plan.reply or "")

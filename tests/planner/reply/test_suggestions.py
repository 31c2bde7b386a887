"""A reply suggests what to say next, as the agent's profile and the results allow."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.planner.material import make_material
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.agents import load_agents
from turnloom.planner.languages.language import ENGLISH
from turnloom.planner.prompts import shipped
from turnloom.planner.reply.apologies import disambiguation
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.suggestions import openers, suggestions
from turnloom.tools.registry import Registry

HOTEL = load_agents(ROOT / "prompts" / "agents").get("hotel")
LINK, DIFFERENCE, BREAKFAST, *_ = (each.text for each in HOTEL.suggestions)


def suggested(*steps: tuple[str, Any], **material: Any) -> list[str]:
    results = [StepResult(id=tool, tool=tool, args={}, status="succeeded", result=result) for tool, result in steps]
    given = ReplyInput(
        material=make_material(*results, **material),
        agent=HOTEL,
        tools=Registry(),
        prompts=shipped(),
        now=datetime(2026, 11, 20, tzinfo=UTC),
        slots={},
    )
    return suggestions(given)


@pytest.mark.parametrize(
    ("steps", "texts"),
    [
        ([("pms.get_availability", {"options": [{}, {"price_total": 9}]})], [DIFFERENCE]),
        (
            [("pms.get_availability", {"options": [{"price_total": 8}, {"price_total": 9}]})],
            [LINK, DIFFERENCE, BREAKFAST],
        ),
        ([("pms.get_availability", {"options": [{"price_total": 8}]})], [LINK, BREAKFAST]),
        ([("pms.get_availability", {"options": []})], []),
        ([("faq.get_rooms_and_pricing", {})], []),
        ([], openers(HOTEL, ENGLISH)),
    ],
)
def test_results_make_suggestions_apt(steps: list[tuple[str, Any]], texts: list[str]) -> None:
    """A comparison needs two options, a link one. Without results there is what can be said at any time."""
    assert suggested(*steps) == texts


def test_nothing_is_suggested_beside_a_question_or_a_stop() -> None:
    """A question has its own answers, and a stopped turn no follow-up."""
    asks = StepResult(id="d", tool="pms.get_availability", args={}, status="needs_input", asks={"dates": ["a", "b"]})
    given = ReplyInput(
        material=make_material(asks),
        agent=HOTEL,
        tools=Registry(),
        prompts=shipped(),
        now=datetime(2026, 11, 20, tzinfo=UTC),
        slots={},
    )

    assert suggestions(given) == []
    assert suggested(ending="cancelled") == []


@pytest.mark.parametrize(
    "profile", load_agents(ROOT / "prompts" / "agents").profiles.values(), ids=lambda each: each.name
)
def test_what_is_suggested_after_a_tool_can_follow(profile: Any) -> None:
    """Each shipped suggestion waits for a tool that its agent may call, and at most three can be said at any time."""
    openings = [each for each in profile.suggestions if each.after is None]
    tools = {each.after.partition(":")[0] for each in profile.suggestions if each.after}

    assert len(openings) <= 3
    assert all(any(tool.startswith(pattern.removesuffix("*")) for pattern in profile.tools) for tool in tools)


def test_a_plan_that_was_refused_twice_ends_with_a_choice() -> None:
    """The user chooses among what the agent can do, and is not asked to find other words."""
    reply = disambiguation(openers(HOTEL, ENGLISH), shipped()).reply

    assert reply.question is not None
    assert reply.question.choices == {"request": openers(HOTEL, ENGLISH)}
    assert all(choice in reply.text for choice in openers(HOTEL, ENGLISH))

"""The offline model understands a newcomer's first questions in each language that replies have."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.planner.languages.test_completeness import AGENTS, LANGUAGES, SPOKEN
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.tools.registry import load_registry

QUESTIONS = yaml.safe_load((Path(__file__).parent / "offline_questions.yaml").read_text("utf-8"))
"""Agent -> question in English -> the same in other languages."""
FIRST = [(agent, english) for agent, asked in QUESTIONS.items() for english in asked]
SAID = [
    (agent.name, suggestion.text) for agent in AGENTS for suggestion in agent.suggestions if suggestion.after is None
]
NAMING = ("city", "origin", "destination", "topic", "board_filter")


@pytest.fixture
def calls(context: Callable[..., PlanningContext], offline: OpenAIModel) -> Callable[[str, str], list[Any]]:
    """Return a function that plans a message and returns its calls: the tools and what they are asked about."""
    tools = load_registry(["dates", "hotel", "meetings", "notifications", "research", "travel"])

    def plan(agent: str, message: str) -> list[Any]:
        given = context(message, agent=agent)
        drafted = draft(replace(given, tools=tools.allowed(given.agent.tools)), offline)
        assert drafted.plan is not None
        return [(step.tool, {name: str(step.args.get(name)).lower() for name in NAMING}) for step in drafted.plan.steps]

    return plan


@pytest.mark.parametrize(("agent", "english"), FIRST)
def test_a_first_question_is_planned_as_in_english(
    calls: Callable[[str, str], list[Any]], agent: str, english: str
) -> None:
    """The plan has the same tools, for the same place."""
    wanted = calls(agent, english)
    assert wanted

    translated = QUESTIONS[agent][english]
    assert {tag: calls(agent, text) for tag, text in translated.items()} == dict.fromkeys(SPOKEN, wanted)


@pytest.mark.parametrize(("agent", "english"), SAID)
def test_a_suggestion_is_planned_as_in_english(
    calls: Callable[[str, str], list[Any]], agent: str, english: str
) -> None:
    """What a reply suggests to say is understood when it is said."""
    wanted = calls(agent, english)
    assert wanted

    translated = {tag: LANGUAGES.get(tag).messages[english] for tag in SPOKEN}
    assert {tag: calls(agent, text) for tag, text in translated.items()} == dict.fromkeys(SPOKEN, wanted)


@pytest.mark.parametrize(
    ("message", "city"),
    [
        ("תכנן טיול של 3 ימים לנרניה", "נרניה"),
        ("מה מזג האוויר בנרניה מחר?", "נרניה"),
        ("خطط لرحلة لمدة 3 أيام إلى نارنيا", "نارنيا"),
        ("كيف الطقس في نارنيا غدًا؟", "نارنيا"),
        ("ナルニアへの3日間の旅行を計画してください", "ナルニア"),
        ("札幌へ旅行したい", "札幌"),
        ("明日のナルニアの天気は", "ナルニア"),
    ],
)
def test_a_place_that_nobody_knows_is_looked_up(
    calls: Callable[[str, str], list[Any]], message: str, city: str
) -> None:
    """Only the tools can tell that there is no such place. The reply then names it."""
    assert {args["city"] for tool, args in calls("travel", message) if tool.startswith("travel.")} == {city}


@pytest.mark.parametrize(
    "message", ["3 ימים לבד", "טיול של 3 ימים בסוף השבוע", "כמה ימים בקיץ?", "كيف الطقس في يوليو؟", "カップルで3日間"]
)
def test_what_is_no_place_is_not_looked_up(calls: Callable[[str, str], list[Any]], message: str) -> None:
    """A time or a company behind the same words asks for the city."""
    assert calls("travel", message) == []


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("Is there parking, and can I bring pets?", "parking and pets"),
        ("Do you have a pool for the kids?", "pool"),
        ("Is breakfast included? Can I cancel?", "breakfast and cancel"),
        ("¿Hay piscina y aparcamiento?", "pool and parking"),
        ("יש חניה ובריכה?", "parking and pool"),
        ("هل يوجد مسبح وموقف سيارات؟", "pool and parking"),
    ],
)
def test_two_questions_about_the_house_are_both_asked(
    calls: Callable[[str, str], list[Any]], message: str, topic: str
) -> None:
    """One call answers both: the house knows several topics at once."""
    assert [(tool, args["topic"]) for tool, args in calls("hotel", message)] == [("faq.get_rooms_and_pricing", topic)]

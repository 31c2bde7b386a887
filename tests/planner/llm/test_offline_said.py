"""What the offline model says itself is in the user's language, and short answers to a question are understood."""

from collections.abc import Callable
from typing import Any

import pytest

from turnloom.models.contracts.memory import Exchange
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.llm.offline.responses import _judge
from turnloom.planner.llm.openai import OpenAIModel

Context = Callable[..., PlanningContext]
OFFERED = ["Fri 27 Nov 2026 to Sat 28 Nov 2026", "Sat 28 Nov 2026 to Sun 29 Nov 2026"]


@pytest.mark.parametrize(
    ("message", "locale", "said"),
    [
        ("Schreib mir bitte ein Gedicht", None, "Ich verstehe zum Beispiel: "),
        ("asdf", "de-AT", "Ich verstehe zum Beispiel: "),
        ("danke!", None, "Gern geschehen!"),
        ("ありがとう", None, "どういたしまして。"),
        ("thanks", "he", "בשמחה!"),
        ("Plan a trip for 4 days", "es", "¿Para qué ciudad es?"),
    ],
)
def test_what_it_says_itself_is_in_the_users_language(
    context: Context, offline: OpenAIModel, message: str, locale: str | None, said: str
) -> None:
    """That of the prompt, or else that of the message."""
    plan = draft(context(message, user={"locale": locale} if locale else {}), offline).plan

    assert plan is not None
    assert said in (plan.reply or "")


def test_its_examples_are_those_of_the_tools_that_it_is_offered(context: Context, offline: OpenAIModel) -> None:
    """Nobody at a hotel's desk is told of flights."""
    plan = draft(context("Write me a poem", agent="hotel"), offline).plan

    assert plan is not None
    assert "Is there parking?" in (plan.reply or "")
    assert "Rome" not in (plan.reply or "")


@pytest.mark.parametrize(
    ("message", "chosen"), [("the 2nd one pls", 1), ("la deuxième svp", 1), ("das erste", 0), ("the last one", 1)]
)
def test_a_choice_is_taken_by_its_place(context: Context, offline: OpenAIModel, message: str, chosen: int) -> None:
    """The message stands for what the last reply offered there."""
    asked = [{"tool": "pms.get_availability", "args": {}, "needs": {"dates": OFFERED}}]
    history = [Exchange("A room for two", "When would you like to stay?")]

    plan = draft(context(message, agent="hotel", asked=asked, history=history), offline).plan

    assert plan is not None
    calls = {step.tool: step.args for step in plan.steps}
    assert calls["dates.resolve_hint"]["hint"] == OFFERED[chosen]


@pytest.mark.parametrize("message", ["tomorrow for 2 nights", "מחר לשני לילות", "明日から2泊で"])
def test_a_number_of_nights_takes_no_choice(context: Context, offline: OpenAIModel, message: str) -> None:
    """The user names other dates instead."""
    asked = [{"tool": "pms.get_availability", "args": {}, "needs": {"dates": OFFERED}}]

    plan = draft(
        context(
            message, agent="hotel", asked=asked, history=[Exchange("A room for two", "When would you like to stay?")]
        ),
        offline,
    ).plan

    assert plan is not None
    assert {step.tool: step.args for step in plan.steps}["dates.resolve_hint"]["hint"] == "tomorrow for 2 nights"


@pytest.mark.parametrize(
    ("succeeded", "verdict"), [("dates.resolve_hint", "ok"), ("travel.search_attractions", "revise")]
)
def test_its_critic_wants_a_failure_said_beside_what_was_found(succeeded: str, verdict: str) -> None:
    """Where nothing was found, the reply is about the failure, in whatever words."""
    results: list[dict[str, Any]] = [
        {"tool": succeeded, "status": "succeeded", "result": {}},
        {"tool": "travel.search_flights", "status": "failed"},
    ]

    assert _judge("I know nothing called Narnia.", results)["verdict"] == verdict

"""Simulated users send what their file says, when it says so, and answer the question that was asked."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from pydantic import ValidationError

from turnloom.workers.cli.client import Api
from turnloom.workers.evals.conversations import Golden
from turnloom.workers.evals.runner import hold


class Desk:
    """An API that answers each message with the next of its questions, and writes down what was done in which order."""

    def __init__(self, *questions: dict[str, Any] | None, merges: bool = False) -> None:
        self.log: list[str] = []
        self._questions = list(questions)
        self._merges = merges
        self._posted = 0

    def post_turn(self, **request: Any) -> dict[str, Any]:
        self.log.append(f"said {request['message']}")
        self._posted += not (self._merges and self._posted)
        return {"turn_id": str(self._posted)}

    def events(self, turn_id: str) -> Iterator[None]:
        self.log.append(f"awaited {turn_id}")
        return iter(())

    def turn(self, turn_id: str) -> dict[str, Any]:
        question = self._questions.pop(0) if self._questions else None
        reply = {"text": "ok", "artifacts": [], "question": question, "grounded": True}
        return {
            "turn_id": turn_id,
            "status": "succeeded",
            "error": None,
            "steps": [],
            "reply": reply,
            "synthesis_hint": None,
            "usage": {"llm_calls": 1},
            "plans": [],
            "created_at": "2026-11-22T10:00:00.000000Z",
        }

    def trace(self, _: str) -> dict[str, Any]:
        return {"llm_calls": []}


def held(desk: Desk, *turns: dict[str, Any]) -> str | None:
    """Hold a conversation; return its first difference."""
    golden = Golden.model_validate({"name": "a", "about": "b", "agent": "hotel", "turns": turns})
    return hold(cast("Api", desk), golden).difference


def test_an_early_message_does_not_wait() -> None:
    """It is sent before anybody looks at the answer to the message before; the next one waits for both."""
    desk = Desk()

    assert (
        held(desk, {"say": "one"}, {"say": "two", "early": True, "expect": {}}, {"say": "three", "expect": {}}) is None
    )
    assert desk.log == ["said one", "said two", "awaited 1", "awaited 2", "said three", "awaited 3"]


def test_messages_of_one_turn_are_awaited_once() -> None:
    """A message that was merged with the one before it has the same turn."""
    desk = Desk(merges=True)

    assert held(desk, {"say": "one"}, {"say": "two", "early": True, "expect": {}}) is None
    assert desk.log == ["said one", "said two", "awaited 1"]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"fields": ["adults"], "choices": {}}, "2"),
        (
            {"fields": ["dates"], "choices": {"dates": ["Thu 26 - Fri 27 Nov", "Fri 27 - Sat 28 Nov"]}},
            "Thu 26 - Fri 27 Nov",
        ),
        ({"fields": ["adults", "dates", "name"], "choices": {}}, "adults: 2, dates: thu 26"),
        (None, "for two"),
        ({"fields": ["name"], "choices": {}}, "for two"),
    ],
)
def test_a_user_answers_what_is_asked(question: dict[str, Any] | None, message: str) -> None:
    """The answer is the choice that holds the known value, or the value; what is not asked for is not told."""
    desk = Desk(question)

    held(
        desk, {"say": "hi", "expect": {}}, {"answers": {"adults": 2, "dates": "thu 26"}, "say": "for two", "expect": {}}
    )

    assert desk.log[2] == f"said {message}"


def test_a_question_that_is_not_asked_is_a_difference() -> None:
    """Without words to fall back on, the user has nothing to say."""
    told = held(Desk(), {"say": "hi", "expect": {}}, {"answers": {"adults": 2}, "expect": {}})

    assert told == "turn 2 (None): the turn before asks for [], expected adults"


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ([{"say": "one"}], "expect"),
        ([{"say": "one", "early": True, "expect": {}}], "first"),
        ([{"say": "one", "expect": {}}, {"choose": 1, "early": True, "expect": {}}], "early"),
        ([{"expect": {}}], "answers"),
    ],
)
def test_what_makes_no_sense_is_refused(turns: list[dict[str, Any]], why: str) -> None:
    """A message without an expectation or words, or an early one with nothing before it, is a mistake in the file."""
    with pytest.raises(ValidationError, match=why):
        Golden.model_validate({"name": "a", "about": "b", "turns": turns})

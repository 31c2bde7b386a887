"""A turn's trace shows what language models were sent and answered, to whoever may read across the tenant."""

from typing import Any

import pytest
from apiflask import APIFlask

from tests.factories import make_tenant
from tests.models.ledger.recorded import MADE, RULES, erase, finished, made
from tests.web.conftest import KeyMaker
from turnloom.models.ledger.turns import ClaimedTurn


@pytest.fixture
def turn(app: APIFlask) -> ClaimedTurn:
    return finished(make_tenant("ours"), made("hello", answer=None), made("hello", "{}", "repair it"), MADE)


def calls(app: APIFlask, turn: ClaimedTurn, key: dict[str, str]) -> list[dict[str, Any]]:
    answer = app.test_client().get(f"/v1/turns/{turn.id}/trace.json", headers=key)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json["llm_calls"]
    return found


def test_each_call_has_its_prompt_and_answer(app: APIFlask, turn: ClaimedTurn, key: KeyMaker) -> None:
    """The failed one has its error, and one that was not recorded has only its cost."""
    failed, repaired, counted = calls(app, turn, key())

    assert failed["recording"] == {
        "parameters": {"model": "gpt-4o", "temperature": 0.1, "form": "schema"},
        "now": "2026-11-25T21:30:00+02:00",
        "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": "hello"}],
        "response_schema": {"title": "plan"},
        "answer": None,
        "error": "the language model did not answer in time",
    }
    assert [message["role"] for message in repaired["recording"]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert repaired["recording"]["answer"] == "{}"
    assert (counted["recording"], counted["prompt_tokens"]) == (None, 100)


def test_a_key_that_only_reads_turns_sees_no_prompt(app: APIFlask, turn: ClaimedTurn, key: KeyMaker) -> None:
    """Prompts hold the tenant's own texts. The calls and their costs are shown."""
    found = calls(app, turn, key("turns:read"))

    assert [(call["purpose"], call["recording"]) for call in found] == [("plan", None)] * 3


def test_an_erased_conversation_shows_no_prompt(app: APIFlask, turn: ClaimedTurn, key: KeyMaker) -> None:
    """The calls stay, with what they cost."""
    erase(turn.tenant_id, turn.conversation_id)

    assert [call["recording"] for call in calls(app, turn, key())] == [None] * 3

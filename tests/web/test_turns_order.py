"""The API reads the sender's sequence number of a message, and recognises bursts."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from turnloom.models.runtime.settings import settings


def _cause(client: FlaskClient, **request: Any) -> str:
    """Post a message; return the cause for which its turn waits."""
    answer = client.post("/v1/turns", json={"message": "hi", **request})
    assert answer.status_code == 202, answer.text
    found: dict[str, str] = client.get(f"{answer.get_json()['links']['self']}/explain").get_json()
    return found["cause"]


@pytest.mark.parametrize("number", [2, 2**53])
def test_a_message_with_a_later_number_waits(client: FlaskClient, number: int) -> None:
    """Numbers begin at 1. A first message with a higher number waits for those before it."""
    assert _cause(client, metadata={"sequence": number}) == "order_window"


@pytest.mark.parametrize("value", [1, 0, -1, 2**53 + 1, 2.0, "2", True, None, [2], {"of": 2}])
def test_other_values_of_sequence_cause_no_waiting(client: FlaskClient, value: Any) -> None:
    """`metadata` belongs to the caller. A sequence that is not a whole number in range is ignored."""
    assert _cause(client, metadata={"sequence": value}) == "no_worker"


def test_a_turn_waits_for_its_burst_unless_it_has_a_plan(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is never merged with other messages, so its turn need not wait."""
    monkeypatch.setenv("TURNLOOM_BURST_WINDOW_MS", "10000")
    settings.cache_clear()
    plan = {"steps": [{"id": "when", "tool": "dates.resolve_hint", "args": {"hint": "next weekend"}}]}

    assert _cause(client) == "burst_window"
    assert _cause(client, plan=plan) == "no_worker"

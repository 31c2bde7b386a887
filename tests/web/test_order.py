"""The API reads the sender's sequence number of a message, and recognises bursts."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from turnloom.models.runtime.settings import settings


def _cause(client: FlaskClient, **request: Any) -> str:
    """Post a message; return what its turn waits for."""
    answer = client.post("/v1/turns", json={"message": "hi", **request})
    assert answer.status_code == 202, answer.text
    found: dict[str, str] = client.get(f"{answer.get_json()['links']['self']}/explain").get_json()
    return found["cause"]


@pytest.mark.parametrize("number", [2, 2**53])
def test_a_number_says_what_is_missing(client: FlaskClient, number: int) -> None:
    """A conversation is counted from 1: another first message is held for those before it."""
    assert _cause(client, metadata={"sequence": number}) == "order_window"


@pytest.mark.parametrize("value", [1, 0, -1, 2**53 + 1, 2.0, "2", True, None, [2], {"of": 2}])
def test_what_is_no_later_number_waits_for_nothing(client: FlaskClient, value: Any) -> None:
    """The metadata is the caller's. A value that is not a whole number in range is only handed back."""
    assert _cause(client, metadata={"sequence": value}) == "no_worker"


def test_messages_of_a_burst_are_awaited_unless_they_bring_a_plan(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is ever merged into a plan, so it need not wait."""
    monkeypatch.setenv("TURNLOOM_BURST_WINDOW_MS", "10000")
    settings.cache_clear()
    plan = {"steps": [{"id": "when", "tool": "dates.resolve_hint", "args": {"hint": "next weekend"}}]}

    assert _cause(client) == "burst_window"
    assert _cause(client, plan=plan) == "no_worker"

"""Make turns that did not end properly, and list them over HTTP."""

import json
from typing import Any
from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.models.ledger.channel_turns import answered, claim, record
from tests.workers.calling_back import final_turn, send_due
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings


def stranded() -> UUID:
    """Return a turn of a channel whose first part has failed, so that the second was withheld."""
    turn = answered(1, "a", "b")
    record(turn, claim(turn), status="failed", error={"code": "blocked", "message": "…"})
    return turn


def given_up(monkeypatch: pytest.MonkeyPatch) -> UUID:
    """Return a turn whose callback was given up, because its address is not allowed."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))
    settings.cache_clear()
    turn = final_turn("http://127.0.0.1/", conversation_id="called back")
    send_due(turn)
    return turn


def listed(client: FlaskClient, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/v1/dead-letters{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.get_json()["items"]
    return found

"""A message may name the address of a callback, if we may call it."""

import json
from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn
from tests.workers.calling_back import of_turn, send_due
from turnloom.models.runtime.secrets import new_key
from turnloom.models.runtime.settings import settings


@pytest.fixture(autouse=True)
def with_key(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", json.dumps([new_key()]))
    settings.cache_clear()


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1/done", "url_not_allowed"),
        ("http://localhost/done", "url_not_allowed"),
        ("https://169.254.169.254/latest", "url_not_allowed"),
        ("https://10.0.0.1/", "url_not_allowed"),
        ("http://[::1]/", "url_not_allowed"),
        ("http://[::ffff:10.0.0.1]/", "url_not_allowed"),
        ("https://user:secret@example.org/", "url_not_allowed"),
        ("https://93.184.215.14:8443/", "url_not_allowed"),
        ("ftp://example.org/", "invalid"),
        ("https://exam ple.org/", "invalid"),
        ("https:///nowhere", "url_not_allowed"),
        ("", "invalid"),
    ],
)
def test_an_address_that_may_not_be_called_is_refused(client: FlaskClient, url: str, code: str) -> None:
    """The problem names the field. Nothing is recorded."""
    answer = client.post("/v1/turns", json={"message": "hi", "callback_url": url})

    problem = answer.get_json()
    assert (answer.status_code, problem["code"], problem["errors"][0]["field"]) == (422, code, "callback_url")
    assert client.get("/v1/conversations").get_json()["items"] == []


def test_without_a_key_for_secrets_a_callback_is_refused(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """There would be no secret to sign it with. The problem says what to set."""
    monkeypatch.setattr(settings(), "secret_keys", [])

    answer = client.post("/v1/turns", json={"message": "hi", "callback_url": "https://93.184.215.14/"})

    assert (answer.status_code, answer.get_json()["code"]) == (503, "secret_keys_missing")


def test_a_turn_without_a_callback_shows_none(client: FlaskClient) -> None:
    """The trace has `callback: null`, before and after the turn is final."""
    turn_id = client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"]

    assert client.get(f"/v1/turns/{turn_id}/trace.json").get_json()["callback"] is None


def test_the_trace_shows_why_a_callback_waits(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the last error, the attempts, and when the next one is due."""
    monkeypatch.setattr(settings(), "allowed_hosts", ["127.0.0.0/8"])
    body = {"message": "hi", "callback_url": "http://127.0.0.1:1/"}
    turn_id = UUID(client.post("/v1/turns", json=body).get_json()["turn_id"])
    turn = claim_turn(turn_id)
    assert turn is not None
    finish_turn(turn)
    send_due(turn_id)

    shown = client.get(f"/v1/turns/{turn_id}/trace.json").get_json()["callback"]

    assert (shown["status"], shown["attempts"], shown["answer"]) == ("pending", 1, None)
    assert shown["error"]["code"] == "upstream_5xx"
    assert shown["next_at"] is not None
    assert of_turn(turn_id).finished_at is None

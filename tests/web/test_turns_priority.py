"""Turns of both classes are received over HTTP."""

from typing import Any
from uuid import UUID

from flask.testing import FlaskClient

from turnloom.models.connections.database import Transaction, transaction
from turnloom.models.ledger import tenants, turns
from turnloom.models.runtime.settings import settings


def _post(client: FlaskClient, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/turns", json={"message": "hi", **body})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def test_a_batch_turn_has_a_day(client: FlaskClient) -> None:
    """It shows its class, and waits for as long as it needs to unless it names a deadline."""
    batch, hasty, other = (
        _post(client, **asked) for asked in ({"priority": "batch"}, {"priority": "batch", "deadline_ms": 60_000}, {})
    )

    shown = [client.get(turn["links"]["self"]).get_json()["priority"] for turn in (batch, hasty, other)]
    assert shown == ["batch", "batch", "interactive"]
    with transaction() as db:
        rows = [turns.of_tenant(db, _tenant(db), turn["turn_id"]) for turn in (batch, hasty, other)]
        given_s = [round((row.deadline_at - row.created_at).total_seconds()) for row in rows]
    assert given_s == [86_400, 60, round(settings().turn_deadline_ms / 1_000)]


def test_a_class_that_is_said_or_not_is_the_same_message(client: FlaskClient) -> None:
    """`interactive` is the default, so a message that comes again may say it. `batch` is another message."""
    first = _post(client, message_id="m1")

    answers = [
        client.post("/v1/turns", json={"message": "hi", "message_id": "m1", "priority": priority})
        for priority in ("interactive", "batch", "urgent")
    ]

    assert [answer.status_code for answer in answers] == [200, 409, 422]
    assert answers[0].get_json() == first


def _tenant(db: Transaction) -> UUID:
    return tenants.find(db, "ours").id

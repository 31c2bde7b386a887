"""Turns are cancelled over HTTP, and busy conversations get messages."""

from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn, queue_length
from tests.web.conftest import KeyMaker
from turnloom.workers.dispatch import settle


def _post(client: FlaskClient, status: int = 202, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/turns", json={"message": "hi", "conversation_id": "c", **body})
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def test_cancelling(client: FlaskClient) -> None:
    """The answer is 202 and the reply is due. Cancelling again changes nothing."""
    turn_id = _post(client)["turn_id"]

    first, second = (client.post(f"/v1/turns/{turn_id}/cancel") for _ in range(2))

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.get_json() == second.get_json() == {"turn_id": turn_id, "status": "responding"}
    assert queue_length("respond") == 1


def test_cancelling_a_final_turn(client: FlaskClient) -> None:
    """A final turn stays as it is: the answer is 200 with its status."""
    turn_id = _post(client)["turn_id"]
    turn = claim_turn(UUID(turn_id))
    assert turn is not None
    finish_turn(turn)

    answer = client.post(f"/v1/turns/{turn_id}/cancel")

    assert (answer.status_code, answer.get_json()) == (200, {"turn_id": turn_id, "status": "succeeded"})


@pytest.mark.parametrize("turn_id", [None, "01890000-0000-7000-8000-000000000000", "no-id"])
def test_cancelling_an_unknown_turn(app: APIFlask, client: FlaskClient, key: KeyMaker, turn_id: str | None) -> None:
    """Another tenant's turn, an unknown turn and a malformed id get 404, and nothing happens."""
    own = _post(client)["turn_id"]

    answer = app.test_client().post(f"/v1/turns/{turn_id or own}/cancel", headers=key(tenant="theirs"))

    assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")
    assert client.get(f"/v1/turns/{own}").get_json()["status"] == "queued"


def test_cancelling_needs_its_scope(app: APIFlask, client: FlaskClient, key: KeyMaker) -> None:
    """A key that may only read may not cancel."""
    turn_id = _post(client)["turn_id"]

    answer = app.test_client().post(f"/v1/turns/{turn_id}/cancel", headers=key("turns:read"))

    assert (answer.status_code, answer.get_json()["code"]) == (403, "scope_missing")


def test_a_merged_message_is_accepted(client: FlaskClient) -> None:
    """The answer has the turn that the message became a part of, and that turn is sent once. A copy gets 200."""
    first = _post(client)

    merged = _post(client, message="and this", message_id="m2")
    again = _post(client, 200, message="and this", message_id="m2")

    assert first == merged == again
    settle()
    assert queue_length("plan") == 1


def test_an_interrupting_message_is_accepted(client: FlaskClient) -> None:
    """The message opens a new turn, and the reply to the previous turn is due."""
    first = _post(client)

    second = _post(client, on_busy="interrupt")

    shown = client.get(first["links"]["self"]).get_json()
    assert (shown["status"], shown["superseded_by"]) == ("responding", second["turn_id"])
    assert second["seq"] == 2
    assert queue_length("respond") == 1
    settle()
    assert queue_length("plan") == 1

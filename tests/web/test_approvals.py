"""A person approves or rejects a waiting call over HTTP."""

from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.factories import claim_turn, queue_length, record_plan, step
from tests.models.ledger.parking import APPROVED, ask, change
from tests.models.ledger.stopping import claim, close
from tests.web.conftest import KeyMaker


@pytest.fixture
def turn_id(client: FlaskClient) -> str:
    """A turn whose step `w` waits for approval, and whose step `later` does not wait for it yet."""
    opened: str = client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"]
    turn = claim_turn(UUID(opened))
    assert turn is not None
    record_plan(turn, APPROVED, step("later", "w", on_need_error="run"))
    claim(turn.id, "w")
    ask(turn.id)
    return opened


def decide(client: FlaskClient, turn_id: str, decision: str = "approve", step: str = "w", **body: Any) -> Any:
    return client.post(f"/v1/turns/{turn_id}/approvals/{step}", json={"decision": decision, **body})


def step_of(client: FlaskClient, turn_id: str) -> Any:
    return client.get(f"/v1/turns/{turn_id}").get_json()["steps"][0]


def test_a_turn_shows_what_waits_for_approval(client: FlaskClient, turn_id: str) -> None:
    """The turn shows the step, the arguments to be approved and the time at which the approval lapses."""
    turn = client.get(f"/v1/turns/{turn_id}").get_json()

    shown = turn["steps"][0]
    assert (turn["status"], shown["status"], shown["args"]) == ("waiting_approval", "waiting_approval", {"value": 7})
    assert (shown["approval"]["args_hash"], shown["approval"]["decision"]) == ("h", None)
    assert shown["approval"]["asked_at"] < shown["approval"]["lapses_at"]
    assert turn["executed_order"] == []


def test_approving(client: FlaskClient, turn_id: str) -> None:
    """The answer shows the decision, and the turn is queued to continue."""
    answer = decide(client, turn_id, reason="it is needed")

    found = answer.get_json()
    assert (answer.status_code, found["turn_id"], found["step"]) == (200, turn_id, "w")
    assert (found["approval"]["decision"], found["approval"]["reason"]) == ("approve", "it is needed")
    assert found["approval"]["by"] == "test"
    assert step_of(client, turn_id)["status"] == "queued"
    assert queue_length("maintenance") == 1


def test_rejecting(client: FlaskClient, turn_id: str) -> None:
    """The step fails with the code REJECTED and the reason."""
    answer = decide(client, turn_id, "reject", reason="too dear")

    shown = step_of(client, turn_id)
    assert answer.status_code == 200
    assert (shown["status"], shown["error"]) == (
        "failed",
        {"code": "REJECTED", "message": "test rejected it: too dear"},
    )


def test_rejecting_the_last_step(client: FlaskClient, turn_id: str) -> None:
    """If no other step is left, the reply is due at once."""
    change("UPDATE steps SET on_need_error = 'skip'")

    decide(client, turn_id, "reject")

    assert (queue_length("respond"), queue_length("maintenance")) == (1, 0)


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_the_same_decision_again(client: FlaskClient, turn_id: str, decision: str) -> None:
    """A repeated decision gets the same answer and changes nothing; the opposite decision is refused."""
    first, again = (decide(client, turn_id, decision, reason=reason) for reason in ("a", "b"))

    other = decide(client, turn_id, {"approve": "reject", "reject": "approve"}[decision])

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.get_json() == first.get_json()
    assert (other.status_code, other.get_json()["code"]) == (409, "decided_otherwise")
    assert queue_length("maintenance") == 1


REFUSED: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "unknown step": ("nobody", {}, 404, "not_found"),
    "no id of a step": ("%00", {}, 404, "not_found"),
    "a step that has not asked": ("later", {}, 409, "not_waiting"),
    "no decision": ("w", {"decision": "perhaps"}, 422, "invalid"),
    "a decision in capitals": ("w", {"decision": "APPROVE"}, 422, "invalid"),
    "an unknown field": ("w", {"args_hash": "h"}, 422, "invalid"),
    "a reason that is no text": ("w", {"reason": 7}, 422, "invalid"),
    "a reason that is too long": ("w", {"reason": "x" * 2_001}, 422, "invalid"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(client: FlaskClient, turn_id: str, case: str) -> None:
    """Each refusal has its status and code, and leaves the step waiting."""
    name, body, status, code = REFUSED[case]

    answer = client.post(f"/v1/turns/{turn_id}/approvals/{name}", json={"decision": "approve", **body})

    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert step_of(client, turn_id)["status"] == "waiting_approval"


def test_a_stopped_turn_has_nothing_to_decide(client: FlaskClient, turn_id: str) -> None:
    """A stopped turn has cancelled its steps, so that no approval is left to decide."""
    close(UUID(turn_id))

    answer = decide(client, turn_id)

    assert (answer.status_code, answer.get_json()["code"]) == (409, "not_waiting")
    assert "cancelled" in answer.get_json()["detail"]


def test_deciding_needs_its_scope(app: APIFlask, turn_id: str, key: KeyMaker) -> None:
    """A key that may post messages may not approve the calls that follow from them."""
    headers = key("turns:write", "turns:read", "plans:submit", "admin")

    answer = app.test_client().post(f"/v1/turns/{turn_id}/approvals/w", json={"decision": "approve"}, headers=headers)

    assert (answer.status_code, answer.get_json()["code"]) == (403, "scope_missing")


def test_somebody_elses_step(app: APIFlask, client: FlaskClient, turn_id: str, key: KeyMaker) -> None:
    """Another tenant's step does not exist, whatever the body is."""
    stranger = app.test_client()

    for body in ({"decision": "approve"}, {}):
        answer = stranger.post(f"/v1/turns/{turn_id}/approvals/w", json=body, headers=key(tenant="theirs"))
        assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")

    assert step_of(client, turn_id)["status"] == "waiting_approval"

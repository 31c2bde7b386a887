"""Users say what they think of replies."""

from typing import Any
from uuid import UUID

from flask.testing import FlaskClient

from tests.factories import work
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import audit
from turnloom.models.tables.conversations import ConversationRow


def _turn(client: FlaskClient, **body: Any) -> str:
    posted = client.post("/v1/turns", json={"message": "hi", "conversation_id": "c1", **body}).get_json()
    return str(posted["turn_id"])


def _give(client: FlaskClient, turn_id: str, **body: Any) -> Any:
    return client.put(f"/v1/turns/{turn_id}/feedback", json=body)


def _kept(client: FlaskClient, turn_id: str) -> list[tuple[str, str, str | None]]:
    trace = client.get(f"/v1/turns/{turn_id}/trace.json").get_json()
    return [(one["user"], one["rating"], one["comment"]) for one in trace["feedback"]]


def test_the_last_word_of_each_user_counts(client: FlaskClient) -> None:
    """A user who rates again changes the rating, another user adds one, and the trace shows both."""
    turn_id = _turn(client, user={"id": "ada"})

    first = _give(client, turn_id, rating="up")
    _give(client, turn_id, rating="up", user="bob")
    _give(client, turn_id, rating="down", comment="Wrong week.")

    assert first.status_code == 200
    assert (first.get_json()["user"], first.get_json()["rating"]) == ("ada", "up")
    assert sorted(_kept(client, turn_id)) == [("ada", "down", "Wrong week."), ("bob", "up", None)]


def test_feedback_without_a_user(client: FlaskClient) -> None:
    """A turn that names no user has one word."""
    turn_id = _turn(client)

    _give(client, turn_id, rating="up")
    _give(client, turn_id, rating="down")

    assert _kept(client, turn_id) == [("", "down", None)]


def test_feedback_is_audited_and_erased(client: FlaskClient) -> None:
    """The audit chain knows the rating and not the comment. Erasing the conversation erases both."""
    turn_id = _turn(client)
    work(UUID(turn_id))
    _give(client, turn_id, rating="down", comment="Call me on 054-1234567")
    records = client.get("/v1/audit", query_string={"conversation_id": "c1"}).get_json()["items"]

    erased = client.delete("/v1/conversations/c1")

    (record,) = [each for each in records if each["kind"] == "feedback.given"]
    assert (record["turn_id"], record["content"]["rating"]) == (turn_id, "down")
    assert "054-1234567" not in str(record)
    assert erased.status_code == 204
    assert _kept(client, turn_id) == []
    with transaction() as db:
        tenant_id = db.query(ConversationRow.tenant_id).scalar()
        assert audit.verify(db, tenant_id, "c1") == []


def test_bad_feedback(client: FlaskClient) -> None:
    """Another rating, an unknown field and an unknown turn are refused."""
    turn_id = _turn(client)

    answers = [
        _give(client, turn_id, rating="great"),
        _give(client, turn_id, rating="up", stars=5),
        _give(client, "0199c7a0-0000-7000-8000-000000000000", rating="up"),
        _give(client, "x", rating="up"),
    ]

    assert [answer.status_code for answer in answers] == [422, 422, 404, 404]

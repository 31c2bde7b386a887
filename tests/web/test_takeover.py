"""A person takes a conversation over by HTTP: pausing it, writing in it, and handing it back."""

from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.factories import queue_length, work
from tests.models.ledger.channel_turns import item
from tests.models.ledger.stopping import end
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement, transaction
from turnloom.models.ledger import channel_items, tenants
from turnloom.workers.dispatch import settle

_C = "/v1/conversations/c"


@pytest.fixture
def talk(client: FlaskClient) -> FlaskClient:
    """A client, and a conversation `c` in which one message was answered."""
    work(UUID(post(client)["turn_id"]))
    return client


def post(client: FlaskClient, message: str = "hi", **request: Any) -> dict[str, Any]:
    answer = client.post("/v1/turns", json={"message": message, "conversation_id": "c", **request})
    assert answer.status_code == 202, answer.text
    accepted: dict[str, Any] = answer.get_json()
    return accepted


def say(client: FlaskClient, message: str = "Dana here", **fields: Any) -> Any:
    return client.post(f"{_C}/messages", json={"message": message, **fields})


def test_pausing_and_resuming(talk: FlaskClient) -> None:
    """Both show the conversation, and both can be repeated."""
    paused = [talk.post(f"{_C}/pause") for _ in range(2)]
    resumed = [talk.post(f"{_C}/resume") for _ in range(2)]

    assert [answer.status_code for answer in paused + resumed] == [200] * 4
    first, second = (answer.get_json() for answer in paused)
    assert first["paused_at"] is not None
    assert (first["paused_at"], first["paused_by"]) == (second["paused_at"], "test")
    assert {(answer.get_json()["paused_at"], answer.get_json()["paused_by"]) for answer in resumed} == {(None, None)}


def test_a_message_to_a_paused_conversation_is_accepted(talk: FlaskClient) -> None:
    """It is handed to a responder, which makes no call of a language model, and to no planner."""
    talk.post(f"{_C}/pause")
    settle()
    before = queue_length("plan"), queue_length("respond")

    accepted = post(talk, "are you there?")

    settle()
    assert (queue_length("plan") - before[0], queue_length("respond") - before[1]) == (0, 1)
    end(UUID(accepted["turn_id"]), 1)
    explained = talk.get(f"/v1/turns/{accepted['turn_id']}/explain").get_json()
    assert (explained["cause"], explained["status"]) == ("finished", "cancelled")
    assert "a person writes" in explained["message"]


def test_pausing_hands_on_what_was_in_work(talk: FlaskClient) -> None:
    """A turn that nobody has begun yet ends with a word for the user too."""
    turn_id = post(talk)["turn_id"]
    before = queue_length("respond")

    talk.post(f"{_C}/pause")

    assert queue_length("respond") == before + 1
    assert talk.get(f"/v1/turns/{turn_id}").get_json()["status"] == "responding"


def test_what_a_person_writes(talk: FlaskClient) -> None:
    """It is a turn of the conversation, with an author, a reply and events of its own."""
    talk.post(f"{_C}/pause")

    answer = say(talk, author="Dana", message_id="d1")

    accepted = answer.get_json()
    assert (answer.status_code, accepted["status"], accepted["seq"]) == (202, "succeeded", 2)
    assert answer.headers["Location"] == accepted["links"]["self"]
    turn = talk.get(accepted["links"]["self"]).get_json()
    assert (turn["author"], turn["reply"]["text"], turn["status"]) == ("Dana", "Dana here", "succeeded")
    assert turn["deliveries"] == []
    listed = talk.get(f"{_C}/turns").get_json()["items"]
    assert [(each["message"], each["reply"]["text"], each["author"]) for each in listed] == [
        ("hi", "done", None),
        ("", "Dana here", "Dana"),
    ]
    assert "event: reply.done" in talk.get(accepted["links"]["events"]).text
    assert queue_length("deliver") == 0


def test_a_person_without_a_name_is_called_by_the_key(talk: FlaskClient) -> None:
    """Somebody is always named."""
    accepted = say(talk).get_json()

    assert talk.get(accepted["links"]["self"]).get_json()["author"] == "test"


def test_a_persons_message_that_comes_again(talk: FlaskClient) -> None:
    """The header counts like the field. Another body under the same id is refused."""
    first = say(talk, message_id="d1")
    again = talk.post(f"{_C}/messages", json={"message": "Dana here"}, headers={"Idempotency-Key": "d1"})
    other = say(talk, "Good bye", message_id="d1")
    both = talk.post(f"{_C}/messages", json={"message": "x", "message_id": "a"}, headers={"Idempotency-Key": "b"})

    assert (first.status_code, again.status_code, other.status_code, both.status_code) == (202, 200, 409, 422)
    assert first.get_json() == again.get_json()
    assert other.get_json()["code"] == "message_id_reused"
    assert len(talk.get(f"{_C}/turns").get_json()["items"]) == 2


def test_a_persons_message_on_a_channel_is_to_be_sent(talk: FlaskClient, key: KeyMaker) -> None:
    """It is put on the queue `deliver`, and its turn shows how far it has come."""
    with transaction() as db:
        tenant_id = tenants.ensure(db, "ours")
    received = item("message", "1", conversation_id="c", recipient="u1")
    with statement() as db:
        channel_items.keep(db, tenant_id, received)
        db.execute("UPDATE conversations SET channel = 'telegram:desk' WHERE id = 'c'")

    accepted = say(talk).get_json()

    turn = talk.get(accepted["links"]["self"]).get_json()
    assert queue_length("deliver") == 1
    assert (turn["channel"], turn["account"]) == ("telegram", "desk")
    assert [(part["part"], part["status"]) for part in turn["deliveries"]] == [(1, "pending")]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": " \n"},
        {"message": "x" * 8001},
        {"message": "hi", "author": ""},
        {"message": "hi", "author": "a\nb"},
        {"message": "hi", "author": "x" * 101},
        {"message": "hi", "message_id": "a b"},
        {"message": "hi", "agent": "hotel"},
    ],
)
def test_a_wrong_message_of_a_person(talk: FlaskClient, body: dict[str, Any]) -> None:
    """It is refused with the name of the fault, and nothing is recorded."""
    answer = talk.post(f"{_C}/messages", json=body)

    assert answer.status_code == 422
    assert answer.get_json()["errors"]
    assert len(talk.get(f"{_C}/turns").get_json()["items"]) == 1


@pytest.mark.parametrize("part", ["pause", "resume", "messages"])
def test_others_cannot_take_over(talk: FlaskClient, app: APIFlask, key: KeyMaker, part: str) -> None:
    """It needs a scope of its own. To another tenant the conversation does not exist, whatever the body."""
    stranger = app.test_client()
    path, bodies = f"{_C}/{part}", ({"message": "hi"}, {"massage": 1})

    weak = stranger.post(path, json=bodies[0], headers=key("turns:write", "turns:read", "admin"))
    foreign = [stranger.post(path, json=body, headers=key(tenant="theirs")) for body in bodies]
    unknown = talk.post(f"/v1/conversations/none/{part}", json=bodies[0])

    assert (weak.status_code, weak.get_json()["code"]) == (403, "scope_missing")
    assert [answer.status_code for answer in foreign] == [404, 404]
    assert unknown.status_code == 404
    assert talk.get(_C).get_json()["paused_at"] is None


def test_an_erased_conversation_cannot_be_taken_over(talk: FlaskClient) -> None:
    """It can be resumed, which changes nothing."""
    talk.post(f"{_C}/pause")
    assert talk.delete(_C).status_code == 204

    answers = [talk.post(f"{_C}/pause"), say(talk), talk.post(f"{_C}/resume")]

    assert [answer.status_code for answer in answers] == [409, 409, 200]
    assert {answer.get_json()["code"] for answer in answers[:2]} == {"erased"}
    assert talk.get(_C).get_json()["paused_at"] is None


def test_paused_conversations_are_counted(talk: FlaskClient) -> None:
    """A gauge tells how many wait for a person, of all tenants."""
    before = talk.get("/metrics").text
    talk.post(f"{_C}/pause")

    assert "turnloom_paused_conversations 0.0" in before
    assert "turnloom_paused_conversations 1.0" in talk.get("/metrics").text

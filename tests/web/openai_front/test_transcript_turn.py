"""A transcript continues the conversation that it is the whole of, or opens one that begins with it."""

from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.web.openai_front.transcripts import ask, post, said
from turnloom.models.contracts.memory import Exchange
from turnloom.web.openai_front import transcript_turn


def test_the_same_history_continues_its_conversation(client: FlaskClient) -> None:
    """The messages and the reply so far lead to their conversation. Blanks at the ends do not matter."""
    first = ask(client, said("Hi"), reply="Hello!\n")

    second = ask(client, said("Hi ", "Hello!", "And now?"), reply="Now this.")
    third = ask(client, said("Hi", "Hello!", "And now?", "Now this.", "Thanks"))

    assert first.conversation_id == second.conversation_id == third.conversation_id
    assert [one.turn.seq for one in (first, second, third)] == [1, 2, 3]
    assert third.turn.recalled is not None
    told = [(one.message, one.reply) for one in third.turn.recalled.history]
    assert told == [("Hi", "Hello!\n"), ("And now?", "Now this.")]


@pytest.mark.parametrize(
    ("messages", "more"),
    [
        (said("Hi", "Something else.", "And now?"), {}),
        (said("Ho", "Hello!", "And now?"), {}),
        (said("Hi", "Hello!", "And now?"), {"user": "other"}),
        (said("Hi"), {}),
    ],
    ids=["reply", "message", "user", "none"],
)
def test_another_history_opens_a_conversation(client: FlaskClient, messages: list, more: dict) -> None:
    """Whatever differs, the conversation is a new one, and its planner sees the history as earlier turns."""
    first = ask(client, said("Hi"), user="u1")

    other = ask(client, messages, **{"user": "u1", **more})

    assert other.conversation_id != first.conversation_id
    assert other.turn.seq == 1
    assert other.turn.recalled is not None
    told = [message["content"] for message in messages[:-1]]
    assert other.turn.recalled.history == ([Exchange(*told)] if told else [])


def test_a_conversation_that_has_gone_on_is_left_alone(client: FlaskClient) -> None:
    """A client that goes back to an earlier place gets a conversation of its own, which begins there."""
    first = ask(client, said("Hi"))
    ask(client, said("Hi", "Hello!", "One way"), reply="As you like.")

    back = ask(client, said("Hi", "Hello!", "Another way"))

    assert back.conversation_id != first.conversation_id
    assert back.turn.recalled is not None
    assert back.turn.recalled.history == [Exchange("Hi", "Hello!")]
    turns = client.get(f"/v1/conversations/{back.conversation_id}/turns").get_json()["items"]
    assert [turn["message"] for turn in turns] == ["Another way"]


def test_two_clients_continue_the_same_history_at_once(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find the conversation, one gets it, and the other gets one of its own."""
    first = ask(client, said("Hi"))
    found = transcript_turn._conversations
    monkeypatch.setattr(transcript_turn, "_conversations", _late(client, found))

    second = ask(client, said("Hi", "Hello!", "Mine"))

    assert second.conversation_id != first.conversation_id
    assert second.turn.recalled is not None
    assert second.turn.recalled.history == [Exchange("Hi", "Hello!")]


def _late(client: FlaskClient, found):
    """Look as before, and let another message come before the answer."""

    def look(wanted):
        answer = found(wanted)
        (conversation,) = answer.values()
        body = {"message": "Theirs", "conversation_id": conversation.conversation_id}
        assert client.post("/v1/turns", json=body).status_code == 202
        return answer

    return look


def test_a_named_conversation(client: FlaskClient) -> None:
    """`metadata.conversation_id` counts before the history, which only a new conversation takes over."""
    named = {"metadata": {"conversation_id": "c1", "order": "7"}}

    first = ask(client, said("Earlier", "Indeed.", "Hi"), **named)
    second = ask(client, said("Something", "different", "More"), **named)

    assert first.conversation_id == second.conversation_id == "c1"
    assert second.turn.recalled is not None
    told = [(one.message, one.reply) for one in second.turn.recalled.history]
    assert told == [("Earlier", "Indeed."), ("Hi", "Hello!")]
    assert client.get(f"/v1/turns/{first.turn.id}").get_json()["metadata"] == {"order": "7"}


def test_a_retry_gets_the_turn_of_the_first_attempt(client: FlaskClient) -> None:
    """The official client counts its attempts. The same request of a first attempt is another message."""
    ids = [
        post(client, messages, {"X-Stainless-Retry-Count": attempt}).headers["X-Turnloom-Turn-Id"]
        for messages, attempt in ((said("Hi"), "0"), (said("Hi"), "1"), (said("Hi"), "0"), (said("Ho"), "1"))
    ]

    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_an_idempotency_key(client: FlaskClient) -> None:
    """The same key with the same transcript gets the first turn, and with another one 409."""
    first = ask(client, said("Hi"), headers={"Idempotency-Key": "k1"})
    ask(client, said("Hi", "Hello!", "More"), reply="Yes.")

    with post(client, said("Hi"), {"Idempotency-Key": "k1"}) as again:
        text = again.text
    other = post(client, said("Was", "here", "Hi"), {"Idempotency-Key": "k1"})

    assert UUID(again.headers["X-Turnloom-Turn-Id"]) == first.turn.id
    assert "Hello!" in text
    assert (other.status_code, other.get_json()["error"]["code"]) == (409, "message_id_reused")


def test_erasure_removes_what_a_client_brought_along(client: FlaskClient) -> None:
    """An erased conversation has no past, and no history leads to it."""
    first = ask(client, said("Earlier", "Indeed.", "Hi"))
    assert client.delete(f"/v1/conversations/{first.conversation_id}").status_code == 204

    after = ask(client, said("Hello?"), metadata={"conversation_id": first.conversation_id})
    other = ask(client, said("Earlier", "Indeed.", "Hi", "Hello!", "More"))

    assert after.turn.recalled is not None
    assert after.turn.recalled.history == []
    assert other.conversation_id != first.conversation_id

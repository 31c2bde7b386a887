"""Conversations and their audit records are listed, shown and erased over HTTP."""

from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import audit, keys


def _post(client: FlaskClient, conversation_id: str, message: str = "hi") -> UUID:
    body = {"message": message, "conversation_id": conversation_id, "on_busy": "enqueue"}
    answer = client.post("/v1/turns", json=body)
    return UUID(answer.get_json()["turn_id"])


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_of_conversations(client: FlaskClient, limit: int) -> None:
    """Paging shows every conversation once, the most recently changed first."""
    for number in range(5):
        _post(client, f"c{number}")
    _post(client, "c2")
    seen: list[str] = []
    cursor = None

    while True:
        page = client.get("/v1/conversations", query_string={"limit": limit} | ({"cursor": cursor} if cursor else {}))
        assert len(page.get_json()["items"]) <= limit
        seen += [item["conversation_id"] for item in page.get_json()["items"]]
        cursor = page.get_json()["next_cursor"]
        if cursor is None:
            break

    assert seen == ["c2", "c4", "c3", "c1", "c0"]


def test_pages_of_turns(client: FlaskClient) -> None:
    """The turns of a conversation come page by page, oldest first, with their replies."""
    first, *_ = [_post(client, "a/b", f"message {number}") for number in range(3)]
    turn = claim_turn(first)
    assert turn is not None
    finish_turn(turn, text="yes")

    one = client.get("/v1/conversations/a%2Fb/turns?limit=2").get_json()
    two = client.get(f"/v1/conversations/a%2Fb/turns?limit=2&cursor={one['next_cursor']}").get_json()

    assert [item["message"] for item in one["items"] + two["items"]] == ["message 0", "message 1", "message 2"]
    assert [item["status"] for item in one["items"]] == ["succeeded", "queued"]
    assert one["items"][0]["reply"]["text"] == "yes"
    assert two["next_cursor"] is None


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "page=2", "cursor=", "cursor=x", "cursor=%00", "cursor=bnVsbA", "cursor=LTE"],
)
@pytest.mark.parametrize("path", ["/v1/conversations", "/v1/conversations/c/turns", "/v1/audit"])
def test_bad_page(client: FlaskClient, path: str, query: str) -> None:
    """A wrong limit or cursor is refused."""
    _post(client, "c")
    audited = "&conversation_id=c" if path == "/v1/audit" else ""

    answer = client.get(f"{path}?{query}{audited}")

    assert answer.status_code == 422


@pytest.mark.parametrize("conversation_id", ["nothing", "%00", "a%20b", "x" * 200, "%F0%9F%98%80"])
def test_unknown_conversation(client: FlaskClient, conversation_id: str) -> None:
    """Every operation answers 404 for an unknown conversation."""
    path = f"/v1/conversations/{conversation_id}"

    answers = [client.get(path), client.get(f"{path}/turns"), client.delete(path)]

    assert [answer.status_code for answer in answers] == [404, 404, 404]


def test_erased_conversation(client: FlaskClient) -> None:
    """Erasing removes all text. Turns, statuses and an audit chain that verifies remain."""
    turn = claim_turn(_post(client, "c", "my secret"))
    assert turn is not None
    busy = client.delete("/v1/conversations/c")
    finish_turn(turn, text="your secret")

    answer = client.delete("/v1/conversations/c")

    assert (busy.status_code, busy.get_json()["code"]) == (409, "busy")
    assert (answer.status_code, answer.data) == (204, b"")
    assert client.get("/v1/conversations/c").get_json()["erased_at"]
    turns = client.get("/v1/conversations/c/turns")
    assert "secret" not in turns.text
    assert turns.get_json()["items"][0]["status"] == "succeeded"
    assert client.get(f"/v1/turns/{turn.id}").status_code == 200
    assert client.get(f"/v1/turns/{turn.id}/events").status_code == 200
    plain = client.environ_base["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    with transaction() as db:
        caller = keys.recognise(db, keys.digest(plain))
        assert caller is not None
        assert audit.verify(db, caller.tenant_id, "c") == []


def test_audit_records(client: FlaskClient) -> None:
    """The audit chain of a conversation is listed page by page; each record shows its hash."""
    turn = claim_turn(_post(client, "c"))
    assert turn is not None
    finish_turn(turn)

    one = client.get("/v1/audit?conversation_id=c&limit=1").get_json()
    two = client.get(f"/v1/audit?conversation_id=c&limit=1&cursor={one['next_cursor']}").get_json()

    kinds = [item["kind"] for item in one["items"] + two["items"]]
    assert kinds == ["turn.received", "turn.finished"]
    assert len(one["items"][0]["hash"]) == 64
    assert client.get("/v1/audit?conversation_id=").status_code == 422
    assert client.get("/v1/audit?conversation_id=none").status_code == 404


def test_audit_records_of_the_tenant(client: FlaskClient) -> None:
    """Without a conversation, what was done to the tenant itself is listed, and who did it."""
    client.put("/v1/users/noa", json={"name": "Noa Levi", "scopes": ["calendar.read"]})

    one = client.get("/v1/audit?limit=1").get_json()
    more = client.get(f"/v1/audit?limit=9&cursor={one['next_cursor']}").get_json()

    assert one["items"][0]["kind"] == "tenant.created"
    last = more["items"][-1]
    assert (last["kind"], last["content"]["scopes"]) == ("user.set", ["calendar.read"])
    assert last["content"]["key_id"]
    assert more["next_cursor"] is None

"""A provider's webhook: signed, recorded before the answer, each message once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from tests.factories import claim_turn, make_tenant, queue_length
from tests.web.conftest import KeyMaker
from tests.workers.channels.provider import SECRET, Provider, providing, put_account
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import channel_items
from turnloom.models.runtime.settings import settings
from turnloom.workers.dispatch import settle

ADDRESS = "/v1/channels/telegram/front-desk"
CONVERSATION = "telegram:front-desk:u1"


@pytest.fixture
def provider(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with providing(monkeypatch) as provider:
        put_account(make_tenant("ours"), provider)
        yield provider


@pytest.fixture
def reader(client: FlaskClient, provider: Provider) -> Iterator[FlaskClient]:
    yield client
    settle()


def message(number: int, said: str = "hello", **fields: Any) -> dict[str, Any]:
    return {"kind": "message", "id": number, "sender": "u1", "text": said, **fields}


def post(client: FlaskClient, *items: dict[str, Any], address: str = ADDRESS, **headers: str) -> tuple[int, str]:
    answer = client.post(address, json={"items": list(items)}, headers=headers or SECRET)
    return answer.status_code, answer.get_data(as_text=True)


def turns_of(client: FlaskClient, conversation: str = CONVERSATION) -> list[dict[str, Any]]:
    page = client.get(f"/v1/conversations/{conversation}/turns")
    return page.get_json()["items"] if page.status_code == 200 else []


def kept() -> list[tuple[str, str, bytes]]:
    tenant_id = make_tenant("ours")
    with transaction() as db:
        found = channel_items.kept(db, tenant_id, None, 10)
        return [(item.detail["kind"], item.detail["why"], body) for item, body in found]


def test_a_message_becomes_a_turn(reader: FlaskClient) -> None:
    """It is recorded and dispatched, and the turn shows where it came from."""
    assert post(reader, message(7, "I need a room")) == (200, "taken")

    (listed,) = turns_of(reader)
    turn = reader.get(f"/v1/turns/{listed['turn_id']}").get_json()
    assert {name: turn[name] for name in ("conversation_id", "agent", "channel", "account", "deliveries")} == {
        "conversation_id": CONVERSATION,
        "agent": "generic",
        "channel": "telegram",
        "account": "front-desk",
        "deliveries": [],
    }
    settle()
    assert queue_length("plan") == 1


def test_a_handshake_is_answered(reader: FlaskClient) -> None:
    """With what the provider expects; nothing is recorded."""
    answer = reader.get(ADDRESS, headers=SECRET)

    assert (answer.status_code, answer.get_data(as_text=True)) == (200, "here")


@pytest.mark.parametrize("headers", [{"X-Secret": "guessed"}, {"X-Other": "x"}])
def test_a_wrong_signature_is_refused(reader: FlaskClient, headers: dict[str, str]) -> None:
    """A missing one too; a key to the API is none."""
    status, _ = post(reader, message(1), **headers)

    assert status == 401
    assert turns_of(reader) == []


@pytest.mark.parametrize("address", ["/v1/channels/telegram/other", "/v1/channels/pigeon/front-desk"])
def test_an_unknown_account_is_not_found(reader: FlaskClient, address: str) -> None:
    """Nor a channel that does not exist."""
    assert post(reader, message(1), address=address)[0] == 404


def test_a_message_that_comes_again_opens_no_turn(reader: FlaskClient) -> None:
    """However often, and however many at once."""
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: post(reader.application.test_client(), message(1)), range(8)))

    assert answers == [(200, "taken")] * 8
    assert len(turns_of(reader)) == 1


def test_ids_belong_to_their_account(reader: FlaskClient, provider: Provider) -> None:
    """Two accounts of a channel may have messages of the same number."""
    put_account(make_tenant("ours"), provider, "bar")
    post(reader, message(1))
    post(reader, message(1), address="/v1/channels/telegram/bar")

    assert [len(turns_of(reader, name)) for name in (CONVERSATION, "telegram:bar:u1")] == [1, 1]


def test_a_batch_is_taken_item_by_item(reader: FlaskClient) -> None:
    """What cannot be a turn is kept with its body, and takes none of its neighbours with it."""
    status, _ = post(
        reader,
        message(1, sender="a b"),
        message(2),
        {"kind": "poll"},
        {"kind": "edit", "id": "e1"},
        message(3, sender="u2"),
    )

    assert status == 200
    assert [len(turns_of(reader, f"telegram:front-desk:{sender}")) for sender in ("u1", "u2")] == [1, 1]
    assert sorted(kind for kind, _, _ in kept()) == ["edit", "message", "poll"]
    assert all(b'"poll"' in body for _, _, body in kept())


def test_messages_above_a_rate_are_kept_without_an_answer(reader: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider need not post them again. Another sender is not concerned, until the account has had its share."""
    monkeypatch.setattr(settings(), "user_rate", "1/hour")
    monkeypatch.setattr(settings(), "account_rate", "2/hour")
    sent = [post(reader, message(number, sender=who))[0] for number, who in enumerate(("u1", "u1", "u2", "u3"), 1)]

    assert sent == [200] * 4
    assert [len(turns_of(reader, f"telegram:front-desk:{who}")) for who in ("u1", "u2", "u3")] == [1, 1, 0]
    assert [why for _, why, _ in kept()] == ["too many messages came"] * 2


def test_what_is_kept_is_kept_once(reader: FlaskClient) -> None:
    """Though the provider repeats it."""
    for _ in range(2):
        post(reader, {"kind": "poll", "n": 1})

    assert len(kept()) == 1


def test_body_and_turn_are_one_commit(reader: FlaskClient) -> None:
    """The provider's body is kept with the message."""
    post(reader, message(1))

    with transaction() as db:
        rows = db.execute(
            text(
                "SELECT w.body, i.turn_id = t.id FROM webhooks w JOIN channel_items i ON i.webhook_id = w.id"
                " JOIN turns t ON t.message_id = i.provider_id AND t.xmin = w.xmin AND i.xmin = w.xmin"
            )
        ).all()
    assert [(b"hello" in body, is_its) for body, is_its in rows] == [(True, True)]


def test_a_burst_is_one_turn(reader: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparse numbers merge like dense ones; a late older message goes in front."""
    monkeypatch.setattr(settings(), "burst_window_ms", 10_000)
    for number, said in ((20, "b"), (30, "c"), (10, "a")):
        post(reader, message(number, said))

    with transaction() as db:
        assert db.scalars(text("SELECT message FROM turns")).all() == ["a\nb\nc"]
        assert db.scalar(text("SELECT count(DISTINCT turn_id) FROM channel_items")) == 1


def test_a_late_older_message_goes_in_front(reader: FlaskClient) -> None:
    """Where the turn after it has not started, and waits behind another one. One in order waits for nothing."""
    post(reader, message(10, "first"))
    (first,) = turns_of(reader)
    assert claim_turn(UUID(first["turn_id"])) is not None
    with transaction() as db:
        db.execute(text("UPDATE turns SET revision = 1"))
    for number, said in ((30, "x" * 7_999), (20, "late")):
        post(reader, message(number, said))

    with transaction() as db:
        waiting = db.scalars(text("SELECT sequence FROM turns WHERE status = 'queued' ORDER BY sequence")).all()
    assert waiting == [20, 30]


def test_a_full_backlog_asks_the_provider_to_come_again(reader: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider repeats what gets 503; nothing is recorded of it."""
    monkeypatch.setattr(settings(), "tenant_backlog_limit", 1)
    post(reader, message(1))

    assert post(reader, message(2, sender="u2"))[0] == 503
    assert turns_of(reader, "telegram:front-desk:u2") == []
    assert post(reader, message(1))[0] == 200


def test_another_tenant_sees_nothing(reader: FlaskClient, key: KeyMaker) -> None:
    """The webhook's turn belongs to the account's tenant."""
    post(reader, message(1))
    (turn,) = turns_of(reader)

    assert reader.get(f"/v1/turns/{turn['turn_id']}", headers=key(tenant="theirs")).status_code == 404


def test_a_receipt_is_recorded(reader: FlaskClient) -> None:
    """Also one of a message that we do not know."""
    assert post(reader, {"kind": "receipt", "id": "m1", "status": "read"}) == (200, "taken")

    with transaction() as db:
        assert db.execute(text("SELECT kind, provider_id, status FROM channel_items")).all() == [
            ("receipt", "m1", "read")
        ]

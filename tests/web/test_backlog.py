"""The API refuses messages while too many turns are unfinished."""

from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, running_turn, step
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import Transaction, transaction
from turnloom.models.ledger import backlog, keys
from turnloom.models.runtime.settings import settings


@pytest.fixture
def limits(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two turns for each tenant and three in all. The turns are counted again before a message is refused."""
    monkeypatch.setenv("TURNLOOM_TENANT_BACKLOG_LIMIT", "2")
    monkeypatch.setenv("TURNLOOM_BACKLOG_LIMIT", "3")
    monkeypatch.setattr("turnloom.web.backlog._BELIEVED_WHEN_FULL_S", 0.0)
    monkeypatch.setattr("turnloom.web.backlog._TIMES_AS_LONG", 0)
    settings.cache_clear()


def _post(client: FlaskClient, headers: dict[str, str] | None = None, **body: Any) -> Any:
    return client.post("/v1/turns", json={"message": "hi", **body}, headers=headers)


@pytest.mark.usefixtures("limits")
def test_a_full_backlog_refuses_a_new_message(client: FlaskClient) -> None:
    """Over its limit, a tenant gets 503 with a time to come back, and nothing is recorded."""
    accepted = [_post(client).status_code for _ in range(2)]

    refused = _post(client, conversation_id="c")

    assert accepted == [202, 202]
    assert (refused.status_code, refused.get_json()["code"]) == (503, "overloaded")
    assert int(refused.headers["Retry-After"]) > 0
    assert client.get("/v1/conversations/c").status_code == 404


@pytest.mark.usefixtures("limits")
def test_a_repeated_message_is_answered_though_the_backlog_is_full(client: FlaskClient) -> None:
    """An accepted message gets the same answer. A changed one is refused as changed."""
    first, _ = (_post(client, message_id=name) for name in ("m1", "m2"))

    again = _post(client, message_id="m1")
    changed = _post(client, message_id="m1", agent="travel")
    new = _post(client, message_id="m3")

    assert (again.status_code, again.get_json()) == (200, first.get_json())
    assert (changed.status_code, new.status_code) == (409, 503)


@pytest.mark.usefixtures("limits")
def test_one_tenants_backlog_is_not_anothers_until_all_is_full(client: FlaskClient, key: KeyMaker) -> None:
    """Each tenant has a limit of its own, and all tenants together have one."""
    statuses = [_post(client).status_code for _ in range(3)]
    other = key(tenant="theirs")

    statuses += [_post(client, other).status_code for _ in range(2)]

    assert statuses == [202, 202, 503, 202, 503]


@pytest.mark.usefixtures("limits")
def test_a_backlog_takes_messages_again_when_turns_finish(client: FlaskClient) -> None:
    """A finished turn does not count."""
    first = _post(client).get_json()
    _post(client)
    refused = _post(client)
    turn = claim_turn(first["turn_id"])
    assert turn is not None
    finish_turn(turn)

    assert (refused.status_code, _post(client).status_code) == (503, 202)


@pytest.mark.usefixtures("limits")
def test_the_development_key_has_no_limit(app: APIFlask) -> None:
    """The embedded stack's own key is never refused, however many turns wait."""
    with transaction() as db:
        keys.ensure_dev_key(db, "dev")

    statuses = [_post(app.test_client(), {"X-Api-Key": "dev"}).status_code for _ in range(5)]

    assert statuses == [202] * 5


def test_a_count_is_used_for_a_while(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is not asked for each message. Accepted messages are added to the last count."""
    counted = Mock(wraps=backlog.count)
    monkeypatch.setattr(backlog, "count", counted)
    monkeypatch.setattr("turnloom.web.backlog._TIMES_AS_LONG", 1e6)
    monkeypatch.setattr("turnloom.web.backlog._BELIEVED_S", 60.0)
    monkeypatch.setenv("TURNLOOM_TENANT_BACKLOG_LIMIT", "2")
    settings.cache_clear()

    statuses = [_post(client).status_code for _ in range(4)]

    assert (statuses, counted.call_count) == ([202, 202, 503, 503], 1)


def test_a_message_that_opens_no_turn_is_not_counted(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that was let in but opened no turn (refused, repeated, invalid) does not count."""
    monkeypatch.setattr("turnloom.web.backlog._TIMES_AS_LONG", 1e6)
    monkeypatch.setattr("turnloom.web.backlog._BELIEVED_S", 60.0)
    monkeypatch.setenv("TURNLOOM_TENANT_BACKLOG_LIMIT", "2")
    settings.cache_clear()
    _post(client, conversation_id="c", message_id="m1")

    statuses = [_post(client, conversation_id="c", on_busy="reject").status_code for _ in range(2)]
    statuses += [_post(client, conversation_id="c", message_id="m1").status_code for _ in range(2)]
    statuses += [_post(client, agent="nobody").status_code]

    assert statuses == [409, 409, 200, 200, 404]
    assert [_post(client).status_code for _ in range(2)] == [202, 503]


def test_a_slow_count_is_used_no_longer_than_another(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the ledger takes five seconds to count, it is asked again within the second after that."""
    now, count = 0.0, backlog.count

    def count_slowly(db: Transaction, at_most: int) -> dict[UUID, int]:
        nonlocal now
        now += 5.0
        return count(db, at_most)

    counted = Mock(side_effect=count_slowly)
    monkeypatch.setattr(backlog, "count", counted)
    monkeypatch.setattr("turnloom.web.backlog.time.monotonic", lambda: now)
    monkeypatch.setenv("TURNLOOM_TENANT_BACKLOG_LIMIT", "1")
    settings.cache_clear()
    first = _post(client).get_json()
    refused = _post(client).status_code
    turn = claim_turn(first["turn_id"])
    assert turn is not None
    finish_turn(turn)

    now += 1.1

    assert (refused, _post(client).status_code, counted.call_count) == (503, 202, 2)


def test_the_backlog_is_the_unfinished_turns(database: str) -> None:
    """Queued, planning, running and responding turns count, for each tenant, up to a bound."""
    ours, theirs = make_tenant(), make_tenant("theirs")
    finished = claim_turn(open_turn(ours, conversation_id="c0").turn_id)
    assert finished is not None
    finish_turn(finished)
    open_turn(ours, conversation_id="c1")
    open_turn(ours, conversation_id="c1", on_busy="enqueue")
    running_turn(step("a"), conversation_id="c2")
    open_turn(theirs)

    with transaction() as db:
        counted, bounded = (backlog.count(db, at_most) for at_most in (100, 2))

    assert counted == {ours: 3, theirs: 1}
    assert sum(bounded.values()) == 2

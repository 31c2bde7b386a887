"""Turns that are asked for at the same moment are read together, and no request harms another."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from unittest.mock import Mock

import psycopg
import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.factories import finish_turn, make_tenant, open_turn, running_turn, step
from tests.facts import wait_for
from tests.turn_events import recorded_events
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement
from turnloom.models.ledger import events, turn_snapshots
from turnloom.models.runtime.ids import new_id
from turnloom.web import shared_reads

Ask = Callable[[str, dict[str, str]], Future[TestResponse]]


@pytest.fixture
def elsewhere(database: str) -> Iterator[psycopg.Connection]:
    """A connection that can keep readers waiting."""
    with psycopg.connect(database) as connection:
        yield connection


@pytest.fixture
def ask(app: APIFlask) -> Iterator[Ask]:
    """Return a function that asks for a turn and returns the future answer."""
    with ThreadPoolExecutor(12) as callers:

        def send(turn_id: str, headers: dict[str, str]) -> TestResponse:
            return app.test_client().get(f"/v1/turns/{turn_id}", headers=headers)

        yield lambda turn_id, headers: callers.submit(send, turn_id, headers)


def _open(client: FlaskClient) -> str:
    return str(client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"])


def test_requests_that_come_during_a_read_share_the_next(
    ask: Ask, client: FlaskClient, key: KeyMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request gets its own turn. Another tenant's turn and an unknown turn get 404."""
    mine, theirs = key(), key(tenant="theirs")
    turn_ids = [_open(client) for _ in range(8)]
    read, read_together = Mock(wraps=turn_snapshots.read), turn_snapshots.read

    def read_when_all_are_there(*asked: object) -> object:
        if read.call_count == 1:
            wait_for(lambda: shared_reads._reader()._waiting.qsize() >= 10)
        return read_together(*asked)  # type: ignore[arg-type]

    read.side_effect = read_when_all_are_there
    monkeypatch.setattr(turn_snapshots, "read", read)
    first = ask(turn_ids[0], mine)
    wait_for(lambda: read.called)
    answers = [ask(turn_id, mine) for turn_id in turn_ids]
    others = [ask(turn_ids[0], theirs), ask(str(new_id()), mine)]

    assert [each.result().get_json()["turn_id"] for each in [first, *answers]] == [turn_ids[0], *turn_ids]
    assert {each.result().status_code for each in others} == {404}
    assert read.call_count == 2


@pytest.mark.parametrize("turn_id", ["x", "%00", "1" * 5000])
def test_a_malformed_turn_id_is_not_found(client: FlaskClient, turn_id: str) -> None:
    """A malformed id gets 404."""
    assert client.get(f"/v1/turns/{turn_id}").status_code == 404


def test_a_failed_read_fails_its_own_requests_only(
    ask: Ask, client: FlaskClient, key: KeyMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next request is answered."""
    mine, turn_id = key(), _open(client)
    with monkeypatch.context() as patch:
        patch.setattr(turn_snapshots, "read", Mock(side_effect=RuntimeError("a bug")))
        failed = ask(turn_id, mine).result()

    assert (failed.status_code, failed.get_json()["code"]) == (500, "internal_error")
    assert ask(turn_id, mine).result().status_code == 200


def test_a_snapshot_of_a_turn_has_its_parts(database: str) -> None:
    """Each of several turns comes with its plans, its steps in order and its reply. Unknown turns are left out."""
    planned = running_turn(step("b"), step("a", "b"), conversation_id="c1")
    finished = running_turn(step("a"), conversation_id="c2")
    queued = open_turn(make_tenant(), conversation_id="c3").turn_id
    assert queued is not None
    with psycopg.connect(database) as db:
        db.execute("UPDATE turns SET status = 'responding' WHERE id = %s", (finished.id,))
    finish_turn(finished)

    with statement() as connection:
        found = turn_snapshots.read(connection, [planned.id, finished.id, queued, new_id()])

    shown = {
        turn_id: (len(each.plans), [row.id for row in each.steps], each.reply and each.reply["text"])
        for turn_id, each in found.items()
    }
    assert shown == {planned.id: (1, ["b", "a"], None), finished.id: (1, ["a"], "done"), queued: (0, [], None)}


def test_events_are_read_for_many_places_at_once(database: str) -> None:
    """Each place (turn, seq) of an existing turn gets the events after it, several places of one turn as well."""
    first, second = running_turn(step("a"), conversation_id="c1"), running_turn(step("a"), conversation_id="c2")
    places = [(first.id, 0), (first.id, 2), (second.id, 1), (second.id, 3), (new_id(), 0)]

    with statement() as connection:
        found = events.look(connection, places)

    assert [[event.seq for event in found[place].events] for place in places[:-1]] == [[1, 2, 3], [3], [2, 3], []]
    assert {look.stand.last_event for look in found.values()} == {3}
    assert set(found) == set(places[:-1])
    assert found[first.id, 0].events == recorded_events(first.id)

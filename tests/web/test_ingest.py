"""Messages that come together are recorded together, and none delays or breaks the others."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.factories import make_tenant
from tests.facts import wait_for
from tests.web.conftest import KeyMaker
from turnloom.models.connections.database import statement
from turnloom.models.contracts.turn import TurnRequest
from turnloom.models.ledger import turns
from turnloom.models.ledger.turns import NewTurn, OpenedTurn
from turnloom.models.runtime.ids import new_id
from turnloom.web import ingest, request_gate


@pytest.fixture
def elsewhere(database: str) -> Iterator[psycopg.Connection]:
    """A transaction of another client."""
    with psycopg.connect(database) as connection:
        yield connection


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Threads that post at the same time."""
    with ThreadPoolExecutor(12) as callers:
        yield callers


@pytest.fixture
def post(app: APIFlask, key: KeyMaker, threads: ThreadPoolExecutor) -> Callable[[str], Future[TestResponse]]:
    """Return a function that posts a message to a conversation and returns the future answer."""
    headers = key()

    def send(conversation_id: str) -> TestResponse:
        body = {"message": "hi", "conversation_id": conversation_id}
        return app.test_client().post("/v1/turns", json=body, headers=headers)

    return lambda conversation_id: threads.submit(send, conversation_id)


def _message(conversation_id: str, deadline_ms: int = 60_000) -> NewTurn:
    return NewTurn(
        id=new_id(),
        tenant_id=make_tenant(),
        conversation_id=conversation_id,
        channel="api",
        body_hash=b"body",
        default_agent="generic",
        deadline_ms=deadline_ms,
        request=TurnRequest(message="hello"),
    )


def _waits(count: int = 1) -> Callable[[], bool]:
    """Return a function that says whether this many statements wait for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def fact() -> bool:
        with statement() as db:
            return db.execute(waiting).fetchone() == (count,)

    return fact


def _gathered(count: int) -> Callable[[], bool]:
    """Return a function that says whether this many messages wait for the next commit."""
    return lambda: ingest._door()._waiting.qsize() == count


def test_messages_that_come_during_a_commit_share_the_next(
    elsewhere: psycopg.Connection, post: Callable[[str], Future[TestResponse]]
) -> None:
    """While two commits run, ten messages come. They cost at most two further commits, and each is answered."""
    elsewhere.execute("LOCK TABLE conversations IN SHARE MODE")
    names = [f"c{number}" for number in range(12)]
    answers = [post(names[0])]
    wait_for(_waits(1))
    answers += [post(names[1])]
    wait_for(_waits(2))
    answers += [post(name) for name in names[2:]]
    wait_for(_gathered(10))
    elsewhere.commit()
    told = [answer.result() for answer in answers]

    with statement() as db:
        commits = db.execute("SELECT count(DISTINCT xmin::text) FROM turns").fetchone()
    assert [(answer.status_code, answer.get_json()["conversation_id"]) for answer in told] == [
        (202, name) for name in names
    ]
    assert commits in ((3,), (4,))


def test_a_locked_conversation_delays_its_own_messages_only(
    elsewhere: psycopg.Connection, post: Callable[[str], Future[TestResponse]]
) -> None:
    """A message to a locked conversation waits alone; others are answered meanwhile."""
    first = post("held").result()
    elsewhere.execute("SELECT FROM conversations FOR UPDATE")

    waiting = post("held")
    wait_for(_waits())
    others = [post(name).result().status_code for name in ("c1", "c2")]
    was_waiting = not waiting.done()
    elsewhere.commit()

    assert (first.status_code, others, was_waiting) == (202, [202, 202], True)
    assert waiting.result().status_code == 202


@pytest.mark.usefixtures("app")
def test_a_message_that_cannot_be_recorded_fails_alone(
    elsewhere: psycopg.Connection, threads: ThreadPoolExecutor
) -> None:
    """The other messages of the same commit are recorded."""
    elsewhere.execute("LOCK TABLE conversations IN SHARE MODE")
    opened = [threads.submit(ingest.open_turn, _message("c0"))]
    wait_for(_waits(1))
    opened += [threads.submit(ingest.open_turn, _message("c1"))]
    wait_for(_waits(2))
    failing = threads.submit(ingest.open_turn, _message("c2", deadline_ms=2**40))
    opened += [threads.submit(ingest.open_turn, _message(name)) for name in ("c3", "c4", "c5")]
    wait_for(_gathered(4))
    elsewhere.commit()

    assert [each.result().outcome for each in opened] == ["opened"] * 5
    assert isinstance(failing.exception(), psycopg.DataError)


def test_a_commit_of_unknown_outcome_is_not_repeated(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the connection breaks after the commit, the sender gets 503. A second try finds the message recorded once."""
    record = turns.open_turns

    def lose_the_answer(db: psycopg.Connection, news: list[NewTurn], **how: Any) -> list[OpenedTurn]:
        record(db, news, **how)
        monkeypatch.setattr(turns, "open_turns", record)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(turns, "open_turns", lose_the_answer)
    body = {"message": "hi", "message_id": "m1"}
    lost, again = (client.post("/v1/turns", json=body) for _ in range(2))

    assert (lost.status_code, lost.get_json()["code"]) == (503, "database_unavailable")
    assert (again.status_code, again.get_json()["seq"]) == (200, 1)


def test_a_message_that_would_wait_too_long_is_refused_at_once(
    elsewhere: psycopg.Connection, post: Callable[[str], Future[TestResponse]]
) -> None:
    """The sender learns when to come back. The messages accepted before it are recorded later."""
    elsewhere.execute("LOCK TABLE conversations IN SHARE MODE")
    first = post("c1")
    wait_for(_waits())
    request_gate.commits()._moved_at -= 60

    refused = post("c2").result()
    was_waiting = not first.done()
    elsewhere.commit()

    assert (refused.status_code, refused.get_json()["code"]) == (503, "overloaded")
    assert int(refused.headers["Retry-After"]) >= 1
    assert (was_waiting, first.result().status_code) == (True, 202)
    assert post("c2").result().status_code == 202


def test_no_message_waits_for_ever(
    elsewhere: psycopg.Connection, post: Callable[[str], Future[TestResponse]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nothing can be recorded, the sender gets an error in time, and may send the message again."""
    monkeypatch.setattr(ingest, "_PATIENCE_S", 0.3)
    elsewhere.execute("LOCK TABLE conversations IN SHARE MODE")
    answers = [post(name).result() for name in ("c1", "c2", "c3")]
    elsewhere.commit()

    assert {(answer.status_code, answer.get_json()["code"]) for answer in answers} == {(503, "database_unavailable")}
    wait_for(lambda: post("c4").result().status_code == 202)

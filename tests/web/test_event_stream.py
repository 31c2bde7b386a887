"""A turn's events are streamed."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn, record_plan, step
from tests.facts import wait_for
from tests.web.conftest import follow
from turnloom.models.connections.database import statement, transaction
from turnloom.models.connections.redis import announce, append_delta, redis, settle_deltas
from turnloom.models.contracts.event import Event
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import events, turns
from turnloom.models.ledger.turns import Ending
from turnloom.models.runtime.settings import settings
from turnloom.web.event_hub import Hub, hub


@dataclass(frozen=True)
class Told:
    id: str
    type: str
    data: dict[str, Any]


def _read(text: str) -> list[Told]:
    """Read a whole stream as a client does."""
    told = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":") and line)
        if "data" in fields:
            told.append(Told(fields["id"], fields["event"], json.loads(fields["data"])))
    return told


def _open(client: FlaskClient) -> UUID:
    return UUID(client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"])


def _work(turn_id: UUID, deltas: int = 3) -> Iterator[None]:
    """Take a turn through its life, as workers do, one announcement after the other."""
    turn = claim_turn(turn_id)
    assert turn is not None
    announce(turn_id, turn.events)
    yield
    record_plan(turn, step("a"))
    yield
    with statement() as db:
        announce(turn_id, events.note(db, turn_id, "step.retry", {"step": "a"}))
        # Ends the step and the plan without a worker: only the events are of interest here.
        db.execute("UPDATE turns SET status = 'responding' WHERE id = %s", (turn_id,))
    yield
    with transaction() as db:
        row = turns.get(db, turn_id)
        assert row is not None
        last, attempt = row.last_event, row.attempt
    for number in range(1, deltas + 1):
        append_delta(turn_id, last, number, f"word{number} ")
        yield
    settle_deltas(turn_id)
    with statement() as db:
        done = turns.finish(db, turn_id, attempt, Ending("succeeded", Reply(text="word"), {}))
    assert done is not None
    announce(turn_id, done.events)


_TYPES = [
    "turn.queued",
    "plan.started",
    "plan.ready",
    "step.retry",
    "reply.delta",
    "reply.delta",
    "reply.delta",
    "reply.done",
    "turn.succeeded",
]
_IDS = ["1", "2", "3", "4", "4.1", "4.2", "4.3", "5", "6"]


def test_late_joiner_gets_the_whole_turn(client: FlaskClient) -> None:
    """A stream that is opened after the end shows every event in order, and ends."""
    turn_id = _open(client)
    list(_work(turn_id))

    answer = client.get(f"/v1/turns/{turn_id}/events")

    told = _read(answer.text)
    assert answer.content_type == "text/event-stream"
    assert (answer.headers["Cache-Control"], answer.headers["X-Accel-Buffering"]) == ("no-cache, no-transform", "no")
    assert [each.type for each in told] == _TYPES
    assert [each.id for each in told] == _IDS
    assert all(each.data["turn_id"] == str(turn_id) for each in told if each.type != "reply.delta")


def test_redis_keeps_deltas_for_a_minute(client: FlaskClient) -> None:
    """Redis keeps deltas for a minute after the last one, however the process that wrote them ends."""
    turn_id = _open(client)
    list(_work(turn_id))

    kept = {key: redis().ttl(key) for key in redis().scan_iter("turnloom:turn:*")}

    assert list(kept) == [f"turnloom:turn:{turn_id}:deltas".encode()]
    assert all(0 < seconds <= 60 for seconds in kept.values())


@pytest.mark.parametrize("through", ["header", "query"])
def test_resume_at_every_position(client: FlaskClient, through: str) -> None:
    """After any event, no event is missing and none comes twice."""
    turn_id = _open(client)
    list(_work(turn_id))

    for place, last_id in enumerate(_IDS[:-1], start=1):
        headers = {"Last-Event-ID": last_id} if through == "header" else {}
        query = {"last_event_id": last_id} if through == "query" else {}
        answer = client.get(f"/v1/turns/{turn_id}/events", headers=headers, query_string=query)
        assert [each.id for each in _read(answer.text)] == _IDS[place:], last_id


def test_nothing_after_the_end(client: FlaskClient) -> None:
    """After the final event of a final turn the answer is 204, which stops a browser from connecting again."""
    turn_id = _open(client)
    list(_work(turn_id))

    answer = client.get(f"/v1/turns/{turn_id}/events", headers={"Last-Event-ID": _IDS[-1]})

    assert answer.status_code == 204


@pytest.mark.parametrize("last_id", ["x", "-1", "1.", ".1", "1.2.3", "1e3", "٣", "99999999999", "7"])
def test_no_such_event_id(client: FlaskClient, last_id: str) -> None:
    """The id of an event is refused if it is malformed or the event has not happened."""
    turn_id = _open(client)

    answer = client.get(f"/v1/turns/{turn_id}/events", query_string={"last_event_id": last_id})

    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_event_id")


@pytest.mark.parametrize("pauses", range(6))
def test_reader_who_joins_midway(client: FlaskClient, pauses: int) -> None:
    """A reader who joins while the turn runs gets the earlier events, then the new ones, each once."""
    turn_id = _open(client)
    work = _work(turn_id)
    for _ in range(pauses):
        next(work)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: b"".join(follow(turn_id)))
        wait_for(lambda: str(turn_id) in hub()._readers)
        list(work)
        told = _read(reading.result().decode())

    assert [each.id for each in told] == _IDS
    assert str(turn_id) not in hub()._readers


def test_many_readers_of_one_turn(client: FlaskClient) -> None:
    """Readers that leave and come back at the position they have reached miss nothing and get nothing twice."""
    turn_id = _open(client)

    def read_in_pieces(piece: int) -> list[str]:
        seen: list[str] = []
        while not seen or seen[-1] != _IDS[-1]:
            seq, _, number = (seen[-1] if seen else "0").partition(".")
            source, taken = follow(turn_id, (int(seq), int(number or 0))), list[str]()
            for block in source:
                taken += [each.id for each in _read(block.decode())]
                if len(taken) >= piece:
                    break
            source.close()
            seen += taken[:piece]
        return seen

    with ThreadPoolExecutor(4) as pool:
        readings = [pool.submit(read_in_pieces, piece) for piece in (1, 2, 3, 100)]
        list(_work(turn_id))
        seen = [reading.result() for reading in readings]

    assert seen == [_IDS] * 4


def test_lost_announcement(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event whose announcement was lost is sent with the next one, before it."""
    turn_id = _open(client)
    turn = claim_turn(turn_id)
    assert turn is not None
    source = follow(turn_id)
    first = _read(next(source).decode())
    monkeypatch.setattr("turnloom.web.event_hub._POLL_DEAF_S", 60.0)
    monkeypatch.setattr("turnloom.web.event_hub._POLL_HEARING_S", 60.0)
    with statement() as db:
        events.note(db, turn_id, "step.retry", {"number": 1})
        heard = events.note(db, turn_id, "step.retry", {"number": 2})

    timer = threading.Timer(0.1, announce, (turn_id, heard))
    timer.start()
    rest = _read(next(source).decode())
    source.close()
    timer.join()

    assert [each.id for each in first] == ["1", "2"]
    assert [(each.id, each.data["number"]) for each in rest] == [("3", 1), ("4", 2)]


def test_stream_without_redis(client: FlaskClient, new_hub: Callable[[], Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    """While Redis is down, the stream continues from the ledger, without deltas."""
    turn_id = _open(client)
    deaf = new_hub()
    monkeypatch.setattr(deaf, "_listen", threading.Event().wait)
    monkeypatch.setattr("turnloom.web.event_stream.hub", lambda: deaf)
    monkeypatch.setattr("turnloom.web.event_stream.deltas", lambda _: [])
    monkeypatch.setattr("turnloom.web.event_hub._POLL_DEAF_S", 0.05)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: b"".join(follow(turn_id)))
        list(_work(turn_id, deltas=0))
        told = _read(reading.result().decode())

    assert [each.id for each in told] == ["1", "2", "3", "4", "5", "6"]


def test_heartbeat(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quiet stream sends a comment from time to time."""
    turn_id = _open(client)
    monkeypatch.setattr("turnloom.web.event_stream._HEARTBEAT_S", 0.05)
    source = follow(turn_id, (1, 0))

    said = [next(source) for _ in range(3)]
    source.close()

    assert said[0].startswith(b"retry: ")
    assert said[1:] == [b": still here\n\n"] * 2


def test_hub_comes_back(client: FlaskClient, new_hub: Callable[[], Hub]) -> None:
    """A hub whose subscription breaks subscribes again, and its readers get what is announced after that."""
    turn_id, mine = _open(client), new_hub()

    with mine.follow(str(turn_id)) as reader:
        wait_for(lambda: _announced(turn_id, reader))
        assert mine._hears
        redis().client_kill_filter(_type="pubsub")
        wait_for(lambda: _announced(turn_id, reader))

    assert not mine._readers


def test_a_delta_from_a_moment_without_a_subscription_is_sent(
    client: FlaskClient, new_hub: Callable[[], Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader gets the deltas that came while there was no subscription, before later announcements."""
    turn_id, mine = _open(client), new_hub()
    monkeypatch.setattr("turnloom.web.event_stream.hub", lambda: mine)
    work = _work(turn_id, deltas=1)
    for _ in range(3):
        next(work)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: b"".join(follow(turn_id)))
        wait_for(lambda: mine._hears and str(turn_id) in mine._readers)
        redis().client_kill_filter(_type="pubsub")
        wait_for(lambda: not mine._hears)
        next(work)
        settle_deltas(turn_id)
        wait_for(lambda: mine._hears)
        list(work)
        told = _read(reading.result().decode())

    assert [each.id for each in told] == ["1", "2", "3", "4", "4.1", "5", "6"]


def _announced(turn_id: UUID, reader: Any) -> bool:
    announce(turn_id, [Event(seq=1, type="turn.queued", data={})])
    return bool(reader.wait(0.05))


def test_a_key_follows_as_many_streams_as_it_may(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is closed makes room."""
    monkeypatch.setattr(settings(), "api_streams_per_key", 1)
    turn_id = _open(client)
    first = client.get(f"/v1/turns/{turn_id}/events")

    refused = client.get(f"/v1/turns/{turn_id}/events")
    first.close()
    second = client.get(f"/v1/turns/{turn_id}/events")
    second.close()

    assert (refused.status_code, refused.get_json()["code"]) == (429, "too_many_streams")
    assert (first.status_code, second.status_code) == (200, 200)

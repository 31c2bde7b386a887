"""All readers of a process share one subscription and one query of the ledger, and both survive every error."""

import threading
from collections.abc import Callable, Iterator
from itertools import count
from math import inf
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import orjson
import pytest
from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn
from tests.facts import wait_for
from tests.round_trips import counting_round_trips, redis_commands
from tests.web.conftest import follow
from turnloom.models.connections import redis
from turnloom.models.connections.database import close_connections
from turnloom.models.connections.redis import CHANNEL, announce
from turnloom.models.contracts.event import Event
from turnloom.models.ledger import events
from turnloom.models.runtime.counters import Counts
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.ids import new_id
from turnloom.web.event_hub import Hub, Reader

MALFORMED = [
    b"garbage",
    b"\xff\x00",
    b"{}",
    b"[1]",
    b'[["id"]]',
    b'[["id", [["1", "turn.queued"]]]]',
    b'[["id", [["first", "turn.queued", {}]]]]',
    b"[" * 100_000,
]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Counters that start at zero."""
    mine = Counts()
    monkeypatch.setattr("turnloom.web.event_hub.counts", lambda: mine)
    monkeypatch.setattr("turnloom.models.runtime.daemon.counts", lambda: mine)
    return mine


@pytest.fixture
def turn_id(client: FlaskClient) -> UUID:
    return UUID(client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"])


def _total(counted: Counts, *series: str) -> float:
    return sum(amount for name, amount in list(counted._fresh) if name == series)


_numbers = count(1)


def _hears(turn_id: UUID, reader: Reader) -> bool:
    """Return whether the reader hears an announcement made now, not only earlier ones."""
    number = next(_numbers)
    announce(turn_id, [Event(seq=number, type="turn.queued", data={})])
    while (heard := reader.wait(0.05)) != []:
        if heard and heard[0][0] == str(number):
            return True
    return False


@pytest.mark.usefixtures("database")
def test_a_malformed_message_is_skipped(
    counted: Counts, new_hub: Callable[[], Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later announcements on the same subscription are heard, and each malformed message is counted."""
    turn_id, hub, listened = new_id(), new_hub(), Mock(wraps=redis.listen)
    monkeypatch.setattr(redis, "listen", listened)
    with hub.follow(str(turn_id)) as reader:
        wait_for(lambda: _hears(turn_id, reader))
        for message in MALFORMED:
            redis.redis().publish(CHANNEL, message)
        wait_for(lambda: _hears(turn_id, reader))

        assert (hub._hears, listened.call_count) == (True, 1)
    assert _total(counted, "turnloom_news_malformed_total") == len(MALFORMED)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("error", [RuntimeError("a bug"), MemoryError(), SystemExit(1)], ids=repr)
def test_a_listener_that_fails_starts_again(
    error: BaseException, counted: Counts, new_hub: Callable[[], Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is counted. Until the listener hears again, the hub says that it is deaf."""
    turn_id, hub, listen = new_id(), new_hub(), redis.listen
    go_on, may_listen = threading.Event(), threading.Event()

    def break_off() -> Iterator[Any]:
        yield None
        assert go_on.wait(8)
        raise error

    def listen_later() -> Iterator[Any]:
        assert may_listen.wait(8)
        yield from listen()

    sources = iter([break_off(), listen_later()])
    monkeypatch.setattr(redis, "listen", sources.__next__)
    with hub.follow(str(turn_id)) as reader:
        wait_for(lambda: hub._hears)
        go_on.set()
        wait_for(lambda: _total(counted, "turnloom_daemon_failures_total", "live events") == 1)
        was_deaf = not hub._hears
        may_listen.set()
        wait_for(lambda: _hears(turn_id, reader))

    assert (was_deaf, hub._hears) == (True, True)


def test_a_query_that_fails_is_repeated(
    turn_id: UUID, counted: Counts, new_hub: Callable[[], Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed query notifies nobody; the next one notifies the readers."""
    stands, failing = events.stands, iter([True])

    def fail_once(*asked: Any) -> Any:
        if next(failing, False):
            raise RuntimeError("a bug")
        return stands(*asked)

    monkeypatch.setattr(events, "stands", fail_once)
    monkeypatch.setattr("turnloom.web.event_hub._POLL_HEARING_S", 0.05)
    monkeypatch.setattr("turnloom.web.event_hub._POLL_DEAF_S", 0.05)
    with new_hub().follow(str(turn_id)) as reader:
        wait_for(lambda: _total(counted, "turnloom_daemon_failures_total", "live looks") == 1)
        while reader.wait(0.2) is None:
            reader.seen = 1  # the notification that the subscription stands came first
        reader.seen = 0
        wait_for(lambda: reader.wait(0.05) is None)

    assert _total(counted, "turnloom_daemon_failures_total", "live looks") == 1


def test_one_query_serves_all_readers(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The query notifies readers that know less than the ledger, and a reader that waits for the end only of that."""
    turn_ids = [UUID(client.post("/v1/turns", json={"message": "hi"}).get_json()["turn_id"]) for _ in range(3)]
    behind, abreast, waiting = Reader(0), Reader(1), Reader(inf)
    hub, looked = Hub(), Mock(wraps=events.stands)
    for turn_id, reader in zip(turn_ids, (behind, abreast, waiting), strict=True):
        hub._readers[str(turn_id)] = {reader}
    monkeypatch.setattr(events, "stands", looked)
    monkeypatch.setattr("turnloom.web.event_hub._POLL_DEAF_S", 0.0)

    hub._look()
    told = [reader.wait(0) for reader in (behind, abreast, waiting)]
    turn = claim_turn(turn_ids[2])
    assert turn is not None
    finish_turn(turn)
    hub._look()

    assert told == [None, [], []]
    assert waiting.wait(0) is None
    assert looked.call_count == 2


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The hub of streams. It hears only what the test hands on, and never queries the ledger."""
    made = Hub()
    made._looks = Daemon("test", Mock())
    monkeypatch.setattr("turnloom.web.event_stream.hub", lambda: made)
    return made


def test_cost_of_a_stream(turn_id: UUID, quiet: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream costs one round trip to Postgres when it begins, and none for announcements or heartbeats.

    It asks Redis for earlier deltas when there may be some: not if this process has heard everything that Redis keeps,
    and that included no delta of the turn.
    """
    monkeypatch.setattr("turnloom.web.event_stream._HEARTBEAT_S", 0.01)
    close_connections()
    with counting_round_trips(tmp_path) as round_trips:
        costs = _Costs(round_trips)
        next(follow(turn_id))  # from now on the statement is prepared
        source = follow(turn_id)
        costs.begin()
        told = [next(source)]
        begun = costs.begin()
        quiet._hand_on(orjson.dumps([(str(turn_id), [("2", "plan.started", {})])]))
        while not told[-1].startswith(b"id: 2\n"):
            told.append(next(source))
        told += [next(source) for _ in range(20)]
        heard = costs.begin()
        source.close()
        claim_turn(turn_id)
        joined = _cost_to_join(turn_id, costs)
        quiet._hears_since = -inf
        silent = _cost_to_join(turn_id, costs)
        quiet._hand_on(orjson.dumps([(str(turn_id), [("2.1", "reply.delta", {"text": "so"})])]))
        spoken = _cost_to_join(turn_id, costs)

    assert (b"id: 1\n" in told[0], told[-1]) == (True, b": still here\n\n")
    assert {"begun": begun, "heard": heard} == {"begun": (1, 0), "heard": (0, 0)}
    assert [joined, silent, spoken] == [(1, 1), (1, 0), (1, 1)]


def test_turns_with_deltas_are_forgotten_when_redis_drops_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that hears everything remembers which turns had deltas for as long as Redis keeps them."""
    monkeypatch.setattr("turnloom.web.event_hub.DELTAS_TTL_S", 0.0)
    hub = Hub()
    hub._hears_since = -inf
    for turn_id in ("first", "second"):
        hub._hand_on(orjson.dumps([(turn_id, [("2.1", "reply.delta", {"text": "so"})])]))

    assert list(hub._spoken) == ["second"]
    assert not hub.may_have_spoken("first")


def _cost_to_join(turn_id: UUID, costs: "_Costs") -> tuple[int, int]:
    source = follow(turn_id)
    costs.begin()
    next(source)
    source.close()
    return costs.begin()


class _Costs:
    """Counts the round trips to Postgres and the reads of deltas from Redis."""

    def __init__(self, round_trips: Callable[[], int]) -> None:
        self._round_trips = round_trips
        self._before = (0, 0)

    def begin(self) -> tuple[int, int]:
        """Return what has been spent since the last call."""
        now = self._round_trips(), redis_commands().get("xrange", 0)
        spent = now[0] - self._before[0], now[1] - self._before[1]
        self._before = now
        return spent

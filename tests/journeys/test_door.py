"""Many clients that wait, poll or follow at once slow down neither each other nor those that post."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat

import httpx2
import psycopg
import pytest
from redis import Redis

from tests.facts import wait_for
from tests.journeys.following import FINAL, finished, post, wait_step
from turnloom.models.connections.redis import CHANNEL
from turnloom.workers.embedded.servers import DATABASE
from turnloom.workers.embedded.stack import Stack


@pytest.fixture
def crowd(stack: Stack) -> Iterator[httpx2.Client]:
    """A client with many connections."""
    headers = {"Authorization": f"Bearer {stack.dev_key}"}
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=64)
    with httpx2.Client(base_url=stack.url, headers=headers, timeout=40, limits=limits) as client:
        yield client


@pytest.mark.parametrize("pollers", [8, 32])
def test_simultaneous_polls_are_all_answered(crowd: httpx2.Client, pollers: int) -> None:
    """Nobody is refused, however many others poll at that moment."""
    address = post(crowd)["links"]["self"]

    def poll(_: int) -> list[int]:
        return [crowd.get(address).status_code for _ in range(10)]

    with ThreadPoolExecutor(pollers) as threads:
        statuses = Counter(status for found in threads.map(poll, range(pollers)) for status in found)

    assert statuses == {200: pollers * 10}


@pytest.mark.parametrize("waiters", [8, 32])
def test_simultaneous_waiters_all_get_their_turn(crowd: httpx2.Client, waiters: int) -> None:
    """Each client gets its own finished turn."""
    body = {"message": "go", "agent": "generic", "plan": {"steps": [wait_step("a", ms=200)]}}

    def ask(_: object) -> tuple[int, bool]:
        answer = crowd.post("/v1/turns", params={"wait": 30}, json=body)
        return answer.status_code, answer.json()["status"] in FINAL

    with ThreadPoolExecutor(waiters) as threads:
        answers = Counter(threads.map(ask, repeat(None, waiters)))

    assert answers == {(200, True): waiters}


@pytest.mark.parametrize("followers", [8, 32])
def test_simultaneous_followers_all_hear_the_end(crowd: httpx2.Client, followers: int) -> None:
    """Each client gets the events of its own turn, from the first one on."""
    plan = {"steps": [wait_step("a", ms=200)]}

    def follow(_: object) -> tuple[str, str]:
        address = post(crowd, agent="generic", plan=plan)["links"]["events"]
        lines = crowd.get(address).text.splitlines()
        told = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
        return told[0], told[-1]

    with ThreadPoolExecutor(followers) as threads:
        told = Counter(threads.map(follow, repeat(None, followers)))

    assert told == {("turn.queued", "turn.succeeded"): followers}


def test_blocked_readers_keep_no_message_out(stack: Stack, crowd: httpx2.Client) -> None:
    """If all connections for reading are blocked, messages are accepted on connections reserved for them."""
    address = post(crowd)["links"]["self"]
    finished(crowd, address.rpartition("/")[2])
    with (
        psycopg.connect(_superuser(stack)) as elsewhere,
        ThreadPoolExecutor(32) as threads,
    ):
        elsewhere.execute("LOCK TABLE replies IN ACCESS EXCLUSIVE MODE")
        reading = [threads.submit(crowd.get, f"{address}{what}") for what in ("", "/trace.json") for _ in range(16)]
        wait_for(lambda: _waiting_for_locks(stack) >= 3)
        accepted = [crowd.post("/v1/turns", json={"message": "hi"}).status_code for _ in range(10)]
        were_waiting = not any(each.done() for each in reading)
        elsewhere.commit()

        assert (were_waiting, accepted) == (True, [202] * 10)
        assert {each.result().status_code for each in reading} == {200}


def test_too_many_messages_are_refused_at_once_and_the_others_kept(stack: Stack, crowd: httpx2.Client) -> None:
    """While nothing can be recorded, new messages get `overloaded`. Reads are answered; accepted messages are kept."""
    address = post(crowd)["links"]["self"]
    with (
        psycopg.connect(_superuser(stack)) as elsewhere,
        ThreadPoolExecutor(48) as threads,
    ):
        elsewhere.execute("LOCK TABLE conversations IN SHARE MODE")
        waiting = [threads.submit(crowd.post, "/v1/turns", json={"message": "hi"}) for _ in range(4)]
        refused: list[httpx2.Response] = []

        def is_refused() -> bool:
            extra = threads.submit(crowd.post, "/v1/turns", json={"message": "hi"})
            waiting.append(extra)
            with suppress(TimeoutError):
                refused.append(extra.result(0.3))
                waiting.remove(extra)
            return bool(refused)

        wait_for(is_refused)
        read = crowd.get(address).status_code
        elsewhere.commit()

        assert (refused[0].status_code, refused[0].json()["code"], read) == (503, "overloaded", 200)
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert {each.result().status_code for each in waiting} == {202}


def _superuser(stack: Stack) -> str:
    return f"{stack.postgres.url.rpartition('/')[0]}/{DATABASE}"


def _waiting_for_locks(stack: Stack) -> int:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(_superuser(stack)) as db:
        row = db.execute(waiting).fetchone()
        return row[0] if row else 0


def test_a_foreign_message_does_not_stop_live_events(stack: Stack, crowd: httpx2.Client) -> None:
    """A foreign message on the channel of live events is skipped and counted, and readers still get theirs."""
    with Redis.from_url(stack.redis_url) as redis:
        for message in (b"garbage", b"{}", b'[["id", [["no id", "turn.queued", {}]]]]'):
            redis.publish(CHANNEL, message)

    body = {"message": "go", "agent": "generic", "plan": {"steps": [wait_step("a", ms=200)]}}
    answer = crowd.post("/v1/turns", params={"wait": 30}, json=body)

    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    wait_for(lambda: _counter(crowd.get("/metrics").text, "turnloom_news_malformed_total") >= 3)


def _counter(metrics: str, name: str) -> float:
    return next((float(line.split()[1]) for line in metrics.splitlines() if line.startswith(f"{name} ")), 0.0)

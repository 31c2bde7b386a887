"""Each background thread of a worker continues after its work has failed."""

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import psycopg
import pytest

from tests.facts import wait_for
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import workers
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.daemon import FAILURES
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions
from turnloom.workers.dispatch import ALIVE
from turnloom.workers.running import tool_metrics
from turnloom.workers.running.call_threads import Callers
from turnloom.workers.upkeep import admission
from turnloom.workers.upkeep.heartbeat import Heartbeat, leases


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    counts.cache_clear()
    yield
    counts.cache_clear()


def has_failed(daemon: str) -> bool:
    """Return whether a failure of the daemon has been counted."""
    made = counts()
    return (FAILURES, daemon) in {*made._left, *(series for series, _ in tuple(made._fresh))}


def test_a_heartbeat_continues_after_a_lease_that_cannot_be_renewed(database: str) -> None:
    """When the broken lease is released, the worker is listed again."""
    broken = ("no id", "s1", 1)
    leases.hold_step(*broken)  # type: ignore[arg-type]
    heart = Heartbeat("w@host", ["plan"], 1)
    heart.start()
    wait_for(lambda: has_failed("heartbeat"))

    leases.release_step(*broken)  # type: ignore[arg-type]

    def is_listed() -> bool:
        with transaction() as db:
            return "plan" in workers.slots_by_queue(db, ALIVE)

    wait_for(is_listed)
    heart.stop()


def test_release_continues_without_its_function(database: str) -> None:
    """An error of the database does not end the thread."""
    owner_url = settings().owner_database_url
    assert owner_url
    with psycopg.connect(owner_url) as owner:
        functions.drop(owner, functions.installed(owner))
    queues = SimpleNamespace(consume_from=["maintenance"])
    admission._start(SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues))))
    wait_for(lambda: has_failed("release"))

    [daemon] = admission._releasing
    assert daemon.is_alive
    admission._releasing.remove(daemon)
    daemon.stop(5)


def test_counts_are_handed_on_after_one_that_cannot_be_written(redis_url: str) -> None:
    """The thread that hands counts on stays alive."""
    counts().add("turnloom_tool_calls_total", object())  # type: ignore[arg-type]  # no JSON
    tool_metrics._start()
    wait_for(lambda: has_failed("metrics"))

    daemon = tool_metrics._handing_on.pop()

    assert daemon.is_alive
    daemon.stop(5)


def test_a_caller_takes_the_next_call_after_one_that_raises() -> None:
    """The thread continues, whatever the function raised."""
    callers, ended = Callers(), threading.Event()

    def leave() -> None:
        raise SystemExit

    callers.call(leave)
    wait_for(lambda: len(callers._idle) == 1)
    callers.call(ended.set)

    assert ended.wait(5)
    assert has_failed("caller")

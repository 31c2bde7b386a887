"""A daemon goes on whatever its work raises, and counts the failures."""

import threading
from collections.abc import Iterator

import pytest

from tests.facts import wait_for
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.batching import Gatherer
from turnloom.models.runtime.counters import Counts, counts
from turnloom.models.runtime.daemon import FAILURES, Daemon
from turnloom.models.runtime.logging import log


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    counts.cache_clear()
    yield
    counts.cache_clear()


def failures(of: Counts) -> dict[str, float]:
    found: dict[str, float] = {}
    of.hand_on(lambda counted: found.update({series[1]: n for series, n in counted.items() if series[0] == FAILURES}))
    return found


@pytest.mark.parametrize("error", [RuntimeError("boom"), Unavailable("out"), SystemExit(1), RecursionError()])
def test_a_daemon_survives_what_its_work_raises(error: BaseException) -> None:
    """It runs the work again, and counts the failure under its name."""
    times: list[int] = []

    def work() -> None:
        times.append(1)
        if len(times) == 1:
            raise error

    daemon = Daemon("test", work, every_s=0.01).start()
    wait_for(lambda: len(times) > 2)
    daemon.stop(5)

    assert not daemon.is_alive
    assert failures(counts()) == {"test": 1}


def test_a_daemon_survives_a_log_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk under the log ends no thread."""
    times: list[int] = []

    def work() -> None:
        times.append(1)
        raise RuntimeError("boom")

    def unwritable(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(log, "error", unwritable)
    daemon = Daemon("test", work, every_s=0.01).start()
    wait_for(lambda: len(times) > 2)
    daemon.stop(5)

    assert failures(counts())["test"] > 2


def test_a_gatherer_goes_on_after_a_failure() -> None:
    """It hands on later items, and releases those who wait for the failed ones."""
    handed_on: list[str] = []

    def hand_on(items: list[str]) -> None:
        if "bad" in items:
            raise ValueError("bad")
        handed_on.extend(items)

    gatherer = Gatherer("test", hand_on, moment_s=0)
    gatherer.put("bad")
    gatherer.settle(5)
    gatherer.put("good")
    gatherer.settle(5)

    assert handed_on == ["good"]
    assert failures(counts()) == {"test": 1}


def test_a_stopped_daemon_ends_between_two_times() -> None:
    """`stop` waits no longer than it is asked to."""
    going, go_on = threading.Event(), threading.Event()

    def work() -> None:
        going.set()
        go_on.wait(10)

    daemon = Daemon("test", work).start()
    going.wait(5)
    daemon.stop(0)
    was_alive = daemon.is_alive
    go_on.set()
    daemon.stop(5)

    assert (was_alive, daemon.is_alive) == (True, False)

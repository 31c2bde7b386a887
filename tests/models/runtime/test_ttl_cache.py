"""A value that was looked up once is trusted for a while."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.facts import wait_for
from turnloom.models.runtime.ttl_cache import TtlCache


class _Clock:
    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    """The clock that a cache uses."""
    clock = _Clock()
    monkeypatch.setattr("turnloom.models.runtime.ttl_cache.time.monotonic", lambda: clock.now)
    return clock


def _memory(look: Callable[[str, int | None], int | None], at_most: int = 10) -> TtlCache[str, int]:
    return TtlCache(look, fresh_s=2.0, kept_s=4.0, at_most=at_most)


def test_a_value_is_looked_up_when_it_is_no_longer_fresh(clock: _Clock) -> None:
    """The lookup gets the previous value, so that it may return it again."""
    memory = _memory(lambda _, before: (before or 0) + 1)

    found = []
    for clock.now in (0.0, 1.9, 2.0, 3.9, 4.0):
        found.append(memory.get("a"))

    assert found == [1, 1, 2, 2, 3]


def test_an_unknown_key_is_looked_up_each_time() -> None:
    """It takes no room in the cache."""
    asked: list[str] = []
    memory = _memory(lambda key, _: asked.append(key))

    assert [memory.get("a"), memory.get("a")] == [None, None]
    assert (asked, len(memory._kept), len(memory._looks)) == (["a", "a"], 0, 0)


def test_only_so_many_are_kept() -> None:
    """The value that was looked up longest ago goes first."""
    asked: list[str] = []

    def look(key: str, _: int | None) -> int:
        asked.append(key)
        return 1

    memory = _memory(look, at_most=2)
    for key in ("a", "b", "c", "b", "a"):
        memory.get(key)

    assert asked == ["a", "b", "c", "a"]


@pytest.mark.parametrize(("age_s", "old"), [(3.0, 1), (5.0, 2)])
def test_while_one_looks_the_others_get_the_old_value_for_a_while(clock: _Clock, age_s: float, old: int) -> None:
    """Later they wait for the new value. One lookup is made."""
    looking, go_on = threading.Event(), threading.Event()
    values = iter([1, 2])

    def look(_key: str, before: int | None) -> int:
        if before is not None:
            looking.set()
            assert go_on.wait(8)
        return next(values)

    memory = _memory(look)
    memory.get("a")
    clock.now = age_s
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(memory.get, "a")
        wait_for(looking.is_set)
        others = [threads.submit(memory.get, "a") for _ in range(3)]
        if old == 1:
            wait_for(lambda: all(each.done() for each in others))
        go_on.set()

        assert [each.result() for each in others] == [old] * 3
        assert first.result() == 2


def test_waiting_callers_share_the_failure_of_a_lookup() -> None:
    """They do not try one after the other. The next caller tries again."""
    failing, go_on = threading.Event(), threading.Event()

    def look(_key: str, _before: int | None) -> int:
        if not go_on.is_set():
            failing.set()
            assert go_on.wait(8)
            raise OSError("out of reach")
        return 1

    memory = _memory(look)
    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(memory.get, "a")]
        wait_for(failing.is_set)
        shared = memory._looks["a"]._condition
        asked += [threads.submit(memory.get, "a") for _ in range(2)]
        wait_for(lambda: len(shared._waiters) == 2)  # type: ignore[attr-defined]  # where a condition keeps its waiters
        go_on.set()
        outcomes = [type(each.exception()) for each in asked]

    assert outcomes == [OSError] * 3
    assert memory.get("a") == 1

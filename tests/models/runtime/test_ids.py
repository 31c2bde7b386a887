"""The ids of a process ascend in the order in which they are made, whatever its threads, forks and clock do."""

import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.facts import wait_for
from turnloom.models.runtime.ids import first_id, new_id


def test_ids_of_a_process_sort_as_they_were_made() -> None:
    """This also holds within a millisecond, and within a thread beside others that make ids."""

    def make(_: int) -> list[uuid.UUID]:
        return [new_id() for _ in range(2_000)]

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(make, range(8)))

    assert [ids == sorted(ids) for ids in made] == [True] * 8
    assert len({each for ids in made for each in ids}) == 16_000


@given(moves=some.lists(some.integers(-2_000_000, 2_000_000), min_size=2, max_size=50))
def test_no_move_of_the_clock_changes_the_order(moves: list[int]) -> None:
    """A clock that stops, jumps or goes back still gives ascending ids, each of version 7."""
    now = time.time_ns()
    made = []
    with pytest.MonkeyPatch.context() as patch:
        for move in moves:
            now += move
            patch.setattr(time, "time_ns", lambda at=now: at)
            made.append(new_id())

    assert made == sorted(set(made))
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}


def test_an_id_tells_when_it_was_made() -> None:
    """It does so to the millisecond, so that the ids of a span of time are a range."""

    def is_of_now() -> bool:
        before, made, after = datetime.now(UTC), new_id(), datetime.now(UTC) + timedelta(milliseconds=1)
        return first_id(before) <= made < first_id(after)

    wait_for(is_of_now)


def test_a_clock_that_was_far_ahead_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has been corrected, ids tell the right time again."""
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda real=time.time_ns: real() + 3_600 * 10**9)
        new_id()

    assert new_id() < first_id(datetime.now(UTC) + timedelta(minutes=1))


_FORKING = """
import os
from turnloom.models.runtime.ids import new_id
new_id()
is_child = os.fork() == 0
made = [new_id() for _ in range(200)]
is_child or os.wait()
print(*made)
"""


def test_a_forked_process_makes_ids_of_its_own() -> None:
    """A parent and its child, forked at one moment, never make the same id."""
    made = subprocess.run([sys.executable, "-c", _FORKING], capture_output=True, text=True, check=True).stdout.split()

    assert (len(made), len(set(made))) == (400, 400)

"""A gate lets a limited number of requests through at a time, and refuses those that would wait too long."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.facts import wait_for
from turnloom.models.errors import Unavailable
from turnloom.web.request_gate import Gate


@contextmanager
def _held(gate: Gate, by: int) -> Iterator[None]:
    """Keep this many threads in the gate, or waiting at it, until the block ends."""
    end = threading.Event()

    def stay() -> None:
        with gate.passed():
            assert end.wait(8)

    with ThreadPoolExecutor(by) as threads:
        staying = [threads.submit(stay) for _ in range(by)]
        wait_for(lambda: gate._here == by)
        try:
            yield
        finally:
            end.set()
    for each in staying:
        each.result()


def _refusal(gate: Gate) -> Unavailable:
    with pytest.raises(Unavailable) as refused, gate.passed():
        """Not reached."""
    return refused.value


def test_a_limited_number_is_let_through_at_a_time() -> None:
    """The gate lets only its number through. The others wait until one leaves."""
    gate, inside, most = Gate(2, 8.0), 0, 0
    lock = threading.Lock()

    def work(_: int) -> None:
        nonlocal inside, most
        with gate.passed():
            with lock:
                inside += 1
                most = max(most, inside)
            threading.Event().wait(0.01)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(24)))

    assert (most, gate._here) == (2, 0)


def test_a_request_that_would_wait_too_long_is_refused_at_once() -> None:
    """If work takes a second and six wait for one place, a seventh would wait too long."""
    gate = Gate(1, 5.0)
    for _ in range(100):
        gate.note(1.0)

    with _held(gate, by=6):
        refusal = _refusal(gate)

    assert (refusal.code, refusal.status) == ("overloaded", 503)
    assert refusal.retry_after_s


def test_a_gate_that_nobody_leaves_lets_nobody_in() -> None:
    """If nobody leaves, the gate refuses newcomers. Those that already wait stay."""
    gate = Gate(2, 1.0)

    with _held(gate, by=1):
        gate._moved_at -= 10
        assert _refusal(gate).code == "overloaded"


def test_an_empty_gate_lets_anybody_in() -> None:
    """An empty gate refuses nobody, however long work took before."""
    gate = Gate(1, 1.0)
    for _ in range(100):
        gate.note(60.0)
    gate._moved_at -= 1000

    with gate.passed():
        assert gate._here == 1
    assert gate._here == 0

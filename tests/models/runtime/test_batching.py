"""A gatherer passes a single item on at once, and gathers items that follow closely into batches."""

import threading
import time

import pytest

from tests.facts import wait_for
from turnloom.models.runtime.batching import Gatherer

LONG_S = 60.0
"""A pause that outlasts every test."""


class Hands:
    """A gatherer and the batches that it has handed on."""

    def __init__(self, moment_s: float = LONG_S) -> None:
        self.batches: list[list[str]] = []
        self.gatherer = Gatherer("test", self.batches.append, moment_s=moment_s)

    def put(self, *items: str, urgent_for: str | None = None) -> None:
        """Put items. The last one is urgent if `urgent_for` names a turn."""
        for item in items[:-1]:
            self.gatherer.put(item)
        self.gatherer.put(items[-1], urgent_for=urgent_for)

    def wait_for(self, batches: int) -> None:
        wait_for(lambda: len(self.batches) == batches)


@pytest.fixture
def hands() -> Hands:
    """A gatherer that has just handed on its first item."""
    made = Hands()
    made.put("first")
    made.wait_for(1)
    return made


def test_an_item_that_comes_alone_goes_at_once(hands: Hands) -> None:
    """It does not wait for others that may not come."""
    assert hands.batches == [["first"]]


def test_followers_wait_and_go_together() -> None:
    """Items that come within a moment of the last batch go in one batch, in order."""
    hands = Hands(0.5)
    hands.put("first")
    hands.wait_for(1)
    hands.put("a", "b", "c")
    hands.wait_for(2)

    assert hands.batches == [["first"], ["a", "b", "c"]]


def test_an_urgent_item_takes_along_what_waits(hands: Hands) -> None:
    """It goes at once, after the items that were put before it."""
    hands.put("a", "b", "end", urgent_for="x")
    hands.wait_for(2)

    assert hands.batches == [["first"], ["a", "b", "end"]]


def test_urgent_items_of_one_do_not_wait_for_each_other(hands: Hands) -> None:
    """The next urgent item of the same turn goes at once too."""
    hands.put("a", urgent_for="x")
    hands.wait_for(2)
    hands.put("b", urgent_for="x")
    hands.wait_for(3)

    assert hands.batches == [["first"], ["a"], ["b"]]


def test_urgent_items_of_many_go_together(hands: Hands) -> None:
    """Within a moment only the first goes at once. The others wait, so that batches stay large."""
    hands.put("a", urgent_for="x")
    hands.wait_for(2)
    for name in ("y", "z", "w"):
        hands.put(name, urgent_for=name)
    hands.put("b", urgent_for="x")
    hands.wait_for(3)

    assert hands.batches == [["first"], ["a"], ["y", "z", "w", "b"]]


def test_settling_hands_on_waiting_items_at_once(hands: Hands) -> None:
    """If no item waits, settling returns at once."""
    hands.put("a", "b")
    hands.gatherer.settle(8, urgent_for="x")
    settled = list(hands.batches)
    hands.gatherer.settle(8, urgent_for="y")

    assert settled == [["first"], ["a", "b"]]
    assert hands.batches == settled


def test_batches_under_load_are_a_moment_apart() -> None:
    """Many urgent items do not make batches much more frequent than one per moment."""
    moment_s = 0.02
    hands, stop = Hands(moment_s), threading.Event()
    began, count = time.monotonic(), 0
    while time.monotonic() - began < 20 * moment_s:
        hands.put(f"{count}", urgent_for=f"turn {count}")
        count += 1
        stop.wait(0.001)
    hands.gatherer.settle(8)
    took_s = time.monotonic() - began

    assert sum(map(len, hands.batches)) == count
    assert len(hands.batches) <= 2 * took_s / moment_s

"""Batching: items that many threads hand over within a moment share one round trip."""

import threading
import time
from collections.abc import Callable, Hashable
from math import inf
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from turnloom.models.runtime.daemon import Daemon

_MOMENT_S = 0.01

Item = TypeVar("Item")


class Gatherer(Generic[Item]):
    """A thread that hands on the items that it is given, in order. A forked process needs its own.

    An item that comes alone is handed on at once. One that comes within a moment of the last batch waits for another
    moment, and items that arrive meanwhile go with it. An urgent item ends that wait.

    With `moment_s=0` it hands on at once, then the items that arrived meanwhile as one batch. With several threads the
    first free one does so, and there is no order.
    """

    def __init__(
        self,
        name: str,
        hand_on: Callable[[list[Item]], None],
        *,
        moment_s: float = _MOMENT_S,
        at_most: float = inf,
        threads: int = 1,
    ) -> None:
        """Start the threads. If `hand_on` raises, its items are lost. `at_most`: items in a batch."""
        self._hand_on = hand_on
        self._moment_s = moment_s
        self._at_most = at_most
        self._waiting: SimpleQueue[Item | threading.Event] = SimpleQueue()
        self._handed_on_at = -inf
        self._hurry = threading.Event()
        self._hurried: tuple[Hashable, float] = (None, -inf)
        """The last `urgent_for`, and when it came."""
        for _ in range(threads):
            Daemon(name, self._gather).start()

    def put(self, item: Item, *, urgent_for: Hashable = None) -> None:
        """Leave an item; return at once.

        `urgent_for` names who waits for the item. It goes at once, unless another urgent item came within the last
        moment: many urgent items go together.
        """
        self._waiting.put(item)
        self._hasten(urgent_for)

    def settle(self, within_s: float, *, urgent_for: Hashable = None) -> None:
        """Wait until all earlier items have been handed on, or the time is over. `urgent_for` is as in `put`."""
        settled = threading.Event()
        self._waiting.put(settled)
        self._hasten(urgent_for)
        settled.wait(within_s)

    def _hasten(self, whom: Hashable) -> None:
        if whom is None:
            return
        last, at = self._hurried
        now = time.monotonic()
        if whom == last or now - at >= self._moment_s:
            self._hurried = whom, now
            self._hurry.set()

    def _gather(self) -> None:
        while isinstance(first := self._waiting.get(), threading.Event):
            first.set()  # every earlier item has been handed on
        if time.monotonic() - self._handed_on_at < self._moment_s:
            self._hurry.wait(self._moment_s)
        self._hurry.clear()  # before the rest is taken, because an urgent item is put before its signal is set
        items, settled = [first], []
        while len(items) < self._at_most:
            try:
                each = self._waiting.get_nowait()
            except Empty:
                break
            if isinstance(each, threading.Event):
                settled.append(each)
            else:
                items.append(each)
        try:
            self._hand_on(items)
        finally:
            self._handed_on_at = time.monotonic()
            for event in settled:
                event.set()

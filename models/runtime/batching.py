"""Gather what many threads hand over, and deal with it together: one round trip for all that came within a moment."""

import threading
import time
from collections.abc import Callable, Hashable
from math import inf
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from models.runtime.daemon import Daemon

_MOMENT_S = 0.01

Item = TypeVar("Item")


class Gatherer(Generic[Item]):
    """A thread that hands on what is put, in order. A forked process needs its own.

    An item that comes alone is handed on at once. One that comes within a moment of the last batch waits for another
    moment, and all that come meanwhile go with it. Something urgent ends that wait.

    Without a moment it hands on at once, and then together what has come meanwhile. With several threads the first that
    is free does so, and there is no order.
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
        """`hand_on` loses what it is given when it raises: nobody waits to be told. `at_most`: items at a time."""
        self._hand_on = hand_on
        self._moment_s = moment_s
        self._at_most = at_most
        self._waiting: SimpleQueue[Item | threading.Event] = SimpleQueue()
        self._handed_on_at = -inf
        self._hurry = threading.Event()
        self._hurried: tuple[Hashable, float] = (None, -inf)
        """Who was in a hurry last, and when."""
        for _ in range(threads):
            Daemon(name, self._gather).start()

    def put(self, item: Item, *, urgent_for: Hashable = None) -> None:
        """Leave an item; return at once.

        `urgent_for`: who waits for the item. It goes at once, unless somebody else was in a hurry within the last
        moment: where many are, their items go together.
        """
        self._waiting.put(item)
        self._hasten(urgent_for)

    def settle(self, within_s: float, *, urgent_for: Hashable = None) -> None:
        """Return when all that was put before has been handed on, or the time is over; `urgent_for` as in `put`."""
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
            first.set()  # nothing that was put before it is left
        if time.monotonic() - self._handed_on_at < self._moment_s:
            self._hurry.wait(self._moment_s)
        self._hurry.clear()  # before the rest is taken, because whoever hurries has put first
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

"""Gather what many threads hand over, and deal with it together: one round trip for all that came within a moment."""

import threading
import time
from collections.abc import Callable
from math import inf
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from models.daemon import Daemon

_MOMENT_S = 0.01

Item = TypeVar("Item")


class Gatherer(Generic[Item]):
    """A thread that hands on what is put, in order, a moment later. A forked process needs its own.

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
        for _ in range(threads):
            Daemon(name, self._gather).start()

    def put(self, item: Item) -> None:
        """Leave an item; return at once."""
        self._waiting.put(item)

    def settle(self, within_s: float) -> None:
        """Return when all that was put before has been handed on, or the time is over."""
        settled = threading.Event()
        self._waiting.put(settled)
        settled.wait(within_s)

    def _gather(self) -> None:
        gathered = [self._waiting.get()]
        time.sleep(self._moment_s)
        while len(gathered) < self._at_most:
            try:
                gathered.append(self._waiting.get_nowait())
            except Empty:
                break
        try:
            if items := [each for each in gathered if not isinstance(each, threading.Event)]:
                self._hand_on(items)
        finally:
            for settled in gathered:
                if isinstance(settled, threading.Event):
                    settled.set()

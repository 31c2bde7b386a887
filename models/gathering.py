"""Gather what many threads hand over, and deal with it together: one round trip for all that came within a moment."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

_MOMENT_S = 0.01

Item = TypeVar("Item")


class Gatherer(Generic[Item]):
    """A thread that hands on what is put, in order, a hundredth of a second later. A forked process needs its own."""

    def __init__(self, name: str, hand_on: Callable[[list[Item]], None]) -> None:
        """`hand_on` raises nothing: there is nobody to tell."""
        self._hand_on = hand_on
        self._waiting: SimpleQueue[Item | threading.Event] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def put(self, item: Item) -> None:
        """Leave an item; return at once."""
        self._waiting.put(item)

    def settle(self, within_s: float) -> None:
        """Return when all that was put before has been handed on, or the time is over."""
        settled = threading.Event()
        self._waiting.put(settled)
        settled.wait(within_s)

    def _run(self) -> None:
        while True:
            gathered = [self._waiting.get()]
            time.sleep(_MOMENT_S)
            while not self._waiting.empty():
                gathered.append(self._waiting.get())
            if items := [each for each in gathered if not isinstance(each, threading.Event)]:
                self._hand_on(items)
            for settled in gathered:
                if isinstance(settled, threading.Event):
                    settled.set()

"""Threads that call tools, so that a call that overruns its time can be given up."""

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any


class Callers:
    """Threads that call tools: as many as there are calls at a time, kept for the next ones.

    A pool of a fixed size would be blocked by tools that never return, and the standard one waits for them at the end.
    """

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def call(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function, which raises nothing, in a thread of its own."""
        try:
            calls = self._idle.pop()
        except IndexError:
            calls = SimpleQueue()
            threading.Thread(target=self._serve, args=(calls,), name="caller", daemon=True).start()
        calls.put(partial(function, *args))

    def _serve(self, calls: "SimpleQueue[Callable[[], None]]") -> None:
        while True:
            calls.get()()
            self._idle.append(calls)


callers = Callers()

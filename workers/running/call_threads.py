"""Threads that call tools, so that a call that overruns its time can be given up."""

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

from models.runtime.daemon import Daemon


class Callers:
    """Threads that call tools: as many as there are calls at a time, kept for the next ones.

    A pool of a fixed size would be blocked by tools that never return, and the standard one waits for them at the end.
    """

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def call(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function in a thread of its own. What it raises is logged: nobody waits for it here."""
        try:
            calls = self._idle.pop()
        except IndexError:
            calls = SimpleQueue()
            Daemon("caller", partial(self._serve, calls)).start()
        calls.put(partial(function, *args))

    def _serve(self, calls: "SimpleQueue[Callable[[], None]]") -> None:
        try:
            calls.get()()
        finally:
            self._idle.append(calls)


callers = Callers()

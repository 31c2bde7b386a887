"""Tools are called in threads, so that a call that overruns its time can be given up."""

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

from turnloom.models.runtime.daemon import Daemon


class Callers:
    """Threads that call tools: one for each current call, kept for later ones.

    Tools that never return would block a pool of a fixed size, and the standard pool waits for them at exit.
    """

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def call(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function in its own thread. Its exceptions are logged, because nobody waits for it."""
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

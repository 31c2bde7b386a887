"""Daemons are threads that work in the background for as long as their process lives. No exception ends one."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.logging import log

FAILURES = "turnloom_daemon_failures_total"
_PAUSE_S = 0.1
"""The pause after a failure, so that a lasting failure does not keep the processor busy."""


class Daemon:
    """A daemon thread that repeats its work. Exceptions of the work are logged and counted.

    After a fork the daemons live in the parent only: the child starts its own.
    """

    def __init__(
        self, name: str, work: Callable[[], object], *, every_s: float = 0.0, stopping: threading.Event | None = None
    ) -> None:
        """`every_s`: the pause before each time; 0 if the work itself waits for something to do.

        `stopping`: the event that asks it to stop, if its owner has one.
        """
        self.name = name
        self._work = work
        self._every_s = every_s
        self._stopping = stopping or threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._thread.is_alive()

    def start(self) -> Self:
        """Start it, once."""
        self._thread.start()
        return self

    def ask_to_stop(self) -> None:
        """Ask the daemon to end after its current work. Returns at once."""
        self._stopping.set()

    def stop(self, within_s: float) -> None:
        """Ask the daemon to end after its current work, and wait for that, at most `within_s`."""
        self._stopping.set()
        self._thread.join(within_s)

    def _run(self) -> None:
        pause_s = self._every_s
        while not self._stopping.wait(pause_s):
            pause_s = self._every_s
            try:
                self._work()
            # A thread that raises SystemExit ends silently.
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it was, the next time must come
                note_failure(self.name, error)
                pause_s = max(self._every_s, _PAUSE_S)


def note_failure(daemon: str, error: BaseException) -> None:
    """Log and count an exception of a daemon's work. Raises nothing itself, even if logging fails."""
    counts().add(FAILURES, daemon)
    with suppress(Exception):
        if isinstance(error, Unavailable):
            log.warning("daemon.missed", daemon=daemon, error=error.code)
        else:
            log.error("daemon.failed", daemon=daemon, exc_info=error)

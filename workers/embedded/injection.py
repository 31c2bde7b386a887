"""Injection lets a running stack go wrong as a fault file says: processes die, and messages come twice.

What goes wrong within a process, such as a tool call, is up to the process: it reads the same file.
"""

import random
import threading
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from turnloom.models.contracts.fault_file import FaultFile, Restart
from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.crash_points import CRASH_POINTS
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log
from turnloom.workers.broker.queues import QUEUES
from turnloom.workers.embedded.process import Process
from turnloom.workers.embedded.repeated_messages import RepeatedMessages

_ENDING_S = 5.0


class Injection:
    """The faults of a running stack, while the context is open."""

    def __init__(self, file: FaultFile, processes: Mapping[str, Process], redis_url: str, crash_at: Path) -> None:
        """`crash_at`: the file that TURNLOOM_CRASH_AT names in the processes. It exists.

        Raises:
            Misconfigured: the file names a process, a queue or a crash point that there is none of.
        """
        check_names(file, processes)
        self._file = file
        self._processes = processes
        self._redis_url = redis_url
        self._crash_at = crash_at
        self._stopping = threading.Event()
        self._daemons: list[Daemon] = []

    def __enter__(self) -> Self:
        if self._file.crash_points:
            self._crash_at.write_text("".join(f"{point}\n" for point in self._file.crash_points))
        works: dict[str, Callable[[], None]] = {
            f"restart {place}": partial(self._kill, restart, random.Random(f"{self._file.seed}|restarts-{place}"))  # noqa: S311 - the same each time
            for place, restart in enumerate(self._file.restarts)
            if restart.process
        }
        if any(each.queue for each in self._file.duplicates):
            works["repeated messages"] = RepeatedMessages(self._file, self._redis_url, self._stopping).listen
        self._daemons = [Daemon(name, work, stopping=self._stopping).start() for name, work in works.items()]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        for daemon in self._daemons:
            daemon.stop(_ENDING_S)
        if self._file.crash_points and (left := self._crash_at.read_text().splitlines()):
            self._crash_at.write_text("")
            log.warning("crash_points.not_reached", points=left)

    def _kill(self, restart: Restart, rng: random.Random) -> None:
        """Kill a process when its time comes."""
        pause_s = restart.after_s if restart.every_s is None else rng.uniform(*restart.every_s)
        if self._stopping.wait(pause_s):
            return
        name = rng.choice(_matching(self._processes, restart.process))
        log.warning("process.struck", process=name)
        self._processes[name].kill()
        if restart.every_s is None:
            self._stopping.wait()


def check_names(file: FaultFile, processes: Collection[str]) -> None:
    """Refuse a file for a stack with these processes if it names others, or queues or crash points that there are not.

    Raises:
        Misconfigured: the message names the place in the file, and what there is.
    """
    named = {
        **{f"restarts.{place}.process": (each.process, processes) for place, each in enumerate(file.restarts)},
        **{f"duplicates.{place}.queue": (each.queue, QUEUES) for place, each in enumerate(file.duplicates)},
        **{f"restarts.{place}.at": (_ours(each.at), CRASH_POINTS) for place, each in enumerate(file.restarts)},
    }
    for place, (pattern, known) in named.items():
        if pattern is not None and not _matching(known, pattern):
            raise Misconfigured(f"the fault file is wrong: {place}: {pattern} is none of {', '.join(known)}")


def check_servers(given: Collection[str]) -> None:
    """Refuse faults for a stack whose servers may have other processes, too. `given`: the settings that are set.

    Raises:
        Misconfigured: a setting names a server.
    """
    if names := [name.upper() for name in ("database_url", "redis_url") if name in given]:
        which = " and ".join(names)
        raise Misconfigured(f"faults may strike only the stack's own servers: unset {which}, or leave out --faults")


def _ours(point: str | None) -> str | None:
    """Return a crash point, unless a pack may have it."""
    words = {each.partition(".")[0] for each in CRASH_POINTS}
    return point if point and point.partition(".")[0] in words else None


def _matching(names: Collection[str], pattern: str | None) -> list[str]:
    return [name for name in names if fnmatchcase(name, str(pattern))]

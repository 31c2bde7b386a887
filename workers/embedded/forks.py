"""Forks of a process that has loaded what workers and beat need: the supervisor's side of `preloader`.

They save the start of a stack a third of its CPU, and are only for the first start of a process. If there is none, for
whatever reason, the process is started like any other.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_LOADING_S = 60.0


class ForkedProcess:
    """A process that waits to become a worker or beat. Then it has those methods of `subprocess.Popen` that we use."""

    def __init__(self, connection: socket.socket) -> None:
        self.pid = 0
        self._connection = connection
        self._has_ended = False
        # The lock is re-entrant: a signal handler may kill while we hold it.
        self._lock = threading.RLock()

    def become(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        """Become what `command` runs, which is a Celery program. Waits until the preloader has loaded.

        Raises:
            OSError: there is no fork. Start the command instead.
        """
        _python, _m, _celery_program, *arguments = command
        wanted = {"name": name, "arguments": arguments, "environment": dict(environment), "log": str(log)}
        with self._connection, self._connection.makefile("r") as lines:
            pid = lines.readline()
            if not pid:
                raise ConnectionError("the preloader has failed")
            self.pid = int(pid)
            self._connection.sendall(f"{json.dumps(wanted)}\n".encode())

    def wait(self) -> int:
        """Wait until the process ends, and return its exit code; for a signal, its number below 0."""
        # Until we take its status the process id is not given to another process.
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._has_ended = True
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def send_signal(self, number: int) -> None:
        """Signal the process, unless it has ended."""
        with self._lock:
            if not self._has_ended:
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        self.send_signal(signal.SIGKILL)


class Preloader:
    """A process that loads, then makes forks."""

    def __init__(self, process: subprocess.Popen[bytes], forks: list[ForkedProcess]) -> None:
        self._process = process
        self._forks = forks

    def fork(self, environment: Mapping[str, str], log_path: Path) -> list[ForkedProcess]:
        """Return the forks. They wait for the preloader, which gets these settings only now, and this log."""
        assert self._process.stdin
        # If it has failed, the forks say so.
        with suppress(OSError), self._process.stdin as given:
            given.write(json.dumps({"environment": dict(environment), "log": str(log_path)}).encode())
        return self._forks


@contextmanager
def preloading(count: int, environment: Mapping[str, str]) -> Iterator[Preloader | None]:
    """Preload in this environment. The forks, `count` of them, have to begin within the block. None without Linux."""
    if sys.platform != "linux":
        yield None
        return
    with ExitStack() as stack:
        stack.enter_context(_adopting())
        pairs = [socket.socketpair() for _ in range(count)]
        for ours, _ in pairs:
            ours.settimeout(_LOADING_S)
            stack.enter_context(ours)
        process = stack.enter_context(_start([theirs for _, theirs in pairs], environment))
        stack.callback(process.kill)
        yield Preloader(process, [ForkedProcess(ours) for ours, _ in pairs])


@contextmanager
def _adopting() -> Iterator[None]:
    """Be the parent of what our children leave behind when they end. After the block, init is, as usual."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _start(sockets: Sequence[socket.socket], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    numbers = [each.fileno() for each in sockets]
    command = [sys.executable, "-m", "turnloom.workers.embedded.preloader", *map(str, [os.getpid(), *numbers])]
    with ExitStack() as stack:
        for each in sockets:
            stack.enter_context(each)
        return subprocess.Popen(  # noqa: S603 - our own command
            command,
            env={**os.environ, **environment},
            pass_fds=numbers,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

"""Keep an operating-system process alive: start it again when it dies, end it with us, and log it to a file."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log
from turnloom.workers.embedded.forks import ForkedProcess
from turnloom.workers.embedded.notify_socket import SILENCE_S, NotifySocket
from turnloom.workers.embedded.pid_files import record, signal_group

_LAUNCH = Path(__file__).with_name("launch.py")
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.1, 5.0
_STEADY_S = 10.0
_TRIES_AT_START = 3
_REAPING_S = 30.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.3
_LOG_TAIL_LINES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run, and the way to stop it."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to our own environment."""
    stop_signal: signal.Signals = signal.SIGTERM
    """Signal that asks the program to finish its work and end."""
    death_signal: signal.Signals = signal.SIGKILL
    """Signal that the kernel sends when we are gone. It must end the program's children, too."""
    unprivileged: Path | None = None
    """Directory whose owner the program runs as, so that it never runs as root."""
    is_watched: bool = False
    """Whether the program reports every few seconds that it lives. If it stops reporting, it is killed."""
    files: Sequence[int] = ()
    """Numbers of the open files that the program inherits."""
    fork: ForkedProcess | None = None
    """A fork that becomes the program at its first start."""


class Process:
    """A program that is kept running from `start` to `stop`.

    One thread starts the program, waits for it, and starts it again with growing delays when it dies. The same thread
    does all of it, because the parent-death signal of Linux follows the thread, not the process. Another thread kills
    the program when it goes silent: it is frozen, or caught in a loop that lets no other thread run.

    Attributes: set `is_watched` to False while the program is meant to stand still.
    """

    def __init__(self, program: Program, *, records: Path, logs: Path, silence_s: float = SILENCE_S) -> None:
        self.name = program.name
        self.is_watched = program.is_watched
        self.log_path = logs / f"{program.name}.log"
        self.restarts = 0
        self._program = program
        self._record = records / f"{program.name}.pid"
        # The lock is re-entrant: a second Ctrl-C kills from a signal handler, perhaps while we hold the lock.
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._delay_s = _FIRST_DELAY_S
        self._keeper: Daemon | None = None
        self._fork = program.fork
        self._child: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._silence_s = silence_s
        self._notify_socket: NotifySocket | None = None
        self._watcher: Daemon | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None while the program does not run."""
        child = self._child
        return child.pid if child else None

    def start(self) -> None:
        """Start the program and return at once. Use `wait_until` to wait until it is ready."""
        self._stopping.clear()
        self.restarts = 0
        self._delay_s = _FIRST_DELAY_S
        if self._program.is_watched:
            self._notify_socket = NotifySocket(self.name, self._silence_s)
            self._watcher = Daemon(f"watch of {self.name}", self._end_when_silent, stopping=self._stopping).start()
        self._keeper = Daemon(f"keeper of {self.name}", self._live_once, stopping=self._stopping).start()

    def wait_until(self, check: Callable[[], object], *, timeout_s: float) -> None:
        """Wait until `check` no longer raises Unavailable.

        Raises:
            Unavailable: the program is not ready in time, or keeps dying; the message has the end of its log.
        """
        deadline = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                check()
            except Unavailable as error:
                if time.monotonic() > deadline or self.restarts >= _TRIES_AT_START:
                    raise Unavailable(f"{self.name} did not start: {error}\n{self._log_tail()}") from error
                # Check often at first, then rarely: the check itself uses the machine.
                time.sleep(pause_s)
                pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
            else:
                return

    def ask_to_stop(self) -> None:
        """Ask the program to finish, and do not start it again. Returns at once."""
        with self._lock:
            self._stopping.set()
            if self._child:
                # Popen's own send_signal never signals a process id that has been freed.
                self._child.send_signal(self._program.stop_signal)

    def stop(self, timeout_s: float) -> None:
        """Ask the program to finish and wait for its end. Kill it after `timeout_s`."""
        self.ask_to_stop()
        if self._keeper is None:
            return
        self._keeper.stop(timeout_s)
        if self._keeper.is_alive:
            log.warning("process.killed", process=self.name, waited_s=timeout_s)
            self.kill()
            self._keeper.stop(_REAPING_S)
        if self._watcher:
            self._watcher.stop(_REAPING_S)

    def kill(self) -> None:
        """Kill the program and its children at once. It is started again unless it has been asked to stop."""
        with self._lock:
            if self._child:
                signal_group(self._child.pid, signal.SIGKILL)

    def _end_when_silent(self) -> None:
        """Kill the program whenever it goes silent, until it is asked to stop."""
        assert self._notify_socket
        try:
            while not self._stopping.is_set():
                if self._notify_socket.is_silent() and self.is_watched:
                    log.warning("process.silent", process=self.name)
                    self._notify_socket.begin()
                    self.kill()
        finally:
            self._notify_socket.close()

    def _live_once(self) -> None:
        """Run the program until it ends, then wait until it may be started again."""
        started = time.monotonic()
        end = self._run_once()
        if self._stopping.is_set():
            return
        delay_s = _FIRST_DELAY_S if time.monotonic() - started > _STEADY_S else self._delay_s
        self._delay_s = min(delay_s * 2, _LONGEST_DELAY_S)
        self.restarts += 1
        log.warning("process.died", process=self.name, end=end, restart_in_s=delay_s)
        self._stopping.wait(delay_s)

    def _run_once(self) -> str:
        """Run the program until it ends, and return how it ended."""
        try:
            child = self._spawn()
        except OSError as error:  # out of processes, files or space: try again, as after a death
            return str(error)
        if child is None:
            return "asked to stop"
        exit_code = child.wait()
        self._forget(child)
        return f"exit code {exit_code}"

    def _spawn(self) -> subprocess.Popen[bytes] | ForkedProcess | None:
        """Start the program; None if it was asked to stop. With the lock, a stop comes first or finds the child."""
        with self._lock:
            if self._stopping.is_set():
                return None
            if self._notify_socket:
                self._notify_socket.begin()
            # The children inherit our environment, because the user's settings apply to them.
            watched = self._notify_socket.environment if self._notify_socket else {}
            environment = {**os.environ, **self._program.environment, **watched}
            child = self._take_fork(environment) or self._execute(environment)
            try:
                record(self._record, child.pid, self._program.death_signal)
            except OSError:
                child.kill()
                child.wait()
                raise
            self._child = child
            return child

    def _take_fork(self, environment: Mapping[str, str]) -> ForkedProcess | None:
        """Let the fork become the program. None if there is none, as after the first start."""
        fork, self._fork = self._fork, None
        if fork is None:
            return None
        try:
            fork.become(self.name, self._program.command, environment, self.log_path)
        except OSError as error:
            log.warning("fork.missing", process=self.name, error=str(error))
            return None
        return fork

    def _execute(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        program = self._program
        with self.log_path.open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - our own command
                launch_command(program.command, program.death_signal, program.unprivileged),
                env=environment,
                pass_fds=program.files,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _forget(self, child: subprocess.Popen[bytes] | ForkedProcess) -> None:
        with self._lock:
            # Children that a killed parent left behind must not work beside its successor.
            signal_group(child.pid, signal.SIGKILL)
            self._child = None
            with suppress(FileNotFoundError):
                self._record.unlink()

    def _log_tail(self) -> str:
        with suppress(OSError):
            return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
        return ""


def launch_command(
    command: Sequence[str], death_signal: signal.Signals = signal.SIGKILL, unprivileged: Path | None = None
) -> list[str]:
    """Return the command line that runs `command` while we live; with `unprivileged`, it does not run as root."""
    launcher = [sys.executable, "-I", "-S", str(_LAUNCH)]
    return [*launcher, str(int(death_signal)), str(os.getpid()), str(unprivileged or ""), *command]

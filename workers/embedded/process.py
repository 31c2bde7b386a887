"""One operating-system process that is kept alive: started again when it dies, ended with us, logged to a file."""

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

from models.errors import Unavailable
from models.runtime.daemon import Daemon
from models.runtime.logging import log
from workers.embedded.records import record, signal_group
from workers.embedded.watch import SILENCE_S, Watch

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
    """Asks it to finish what it does and end."""
    death_signal: signal.Signals = signal.SIGKILL
    """Sent by the kernel when we are gone; must end its children too."""
    unprivileged: Path | None = None
    """Never run as root, but as the owner of this directory."""
    is_watched: bool = False
    """It says every few seconds that it lives; when it falls silent it is killed."""
    files: Sequence[int] = ()
    """Open files that it inherits, under these numbers."""


class Process:
    """Keeps one program running, from `start` to `stop`.

    A thread per process starts it and waits for it, and starts it again when it dies, with growing delays. The same
    thread does both, because the parent-death signal of Linux follows the thread, not the process. Another one kills it
    when it is silent: frozen, or caught in a loop that lets no other thread run.

    Attributes: `is_watched` may be set to False for as long as it is to stand still.
    """

    def __init__(self, program: Program, *, records: Path, logs: Path, silence_s: float = SILENCE_S) -> None:
        self.name = program.name
        self.is_watched = program.is_watched
        self.log_path = logs / f"{program.name}.log"
        self.restarts = 0
        self._program = program
        self._record = records / f"{program.name}.pid"
        # Re-entrant: a second Ctrl-C kills from a signal handler, maybe while we hold it.
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._delay_s = _FIRST_DELAY_S
        self._keeper: Daemon | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._silence_s = silence_s
        self._watch: Watch | None = None
        self._watcher: Daemon | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None while it does not run."""
        child = self._child
        return child.pid if child else None

    def start(self) -> None:
        """Start the program and return at once; `wait_until` tells when it is ready."""
        self._stopping.clear()
        self.restarts = 0
        self._delay_s = _FIRST_DELAY_S
        if self._program.is_watched:
            self._watch = Watch(self.name, self._silence_s)
            self._watcher = Daemon(f"watch of {self.name}", self._end_when_silent, stopping=self._stopping).start()
        self._keeper = Daemon(f"keeper of {self.name}", self._live_once, stopping=self._stopping).start()

    def wait_until(self, check: Callable[[], object], *, timeout_s: float) -> None:
        """Wait until `check` no longer raises Unavailable.

        Raises:
            Unavailable: it is not ready in time, or dies again and again; the end of its log is in the message.
        """
        deadline = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                check()
            except Unavailable as error:
                if time.monotonic() > deadline or self.restarts >= _TRIES_AT_START:
                    raise Unavailable(f"{self.name} did not start: {error}\n{self._log_tail()}") from error
                # Soon for what is quick, rarely for what is slow: the check itself takes its share of the machine.
                time.sleep(pause_s)
                pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
            else:
                return

    def ask_to_stop(self) -> None:
        """Ask the program to finish, and start it no more. Returns at once."""
        with self._lock:
            self._stopping.set()
            if self._child:
                # Popen's own send_signal, so that a number that has been freed is never signalled.
                self._child.send_signal(self._program.stop_signal)

    def stop(self, timeout_s: float) -> None:
        """Ask the program to finish and wait for its end; after `timeout_s` kill it."""
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
        """End the program and what it started, at once. It comes back, unless it has been asked to stop."""
        with self._lock:
            if self._child:
                signal_group(self._child.pid, signal.SIGKILL)

    def _end_when_silent(self) -> None:
        """Kill the program whenever it falls silent, until it is to stop."""
        assert self._watch
        try:
            while not self._stopping.is_set():
                if self._watch.is_silent() and self.is_watched:
                    log.warning("process.silent", process=self.name)
                    self._watch.begin()
                    self.kill()
        finally:
            self._watch.close()

    def _live_once(self) -> None:
        """Run the program until it ends, and wait until it may be started again."""
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
        """Run the program until it ends; return how it ended."""
        try:
            child = self._spawn()
        except OSError as error:  # no process, no file, no space: try again, as after a death
            return str(error)
        if child is None:
            return "asked to stop"
        exit_code = child.wait()
        self._forget(child)
        return f"exit code {exit_code}"

    def _spawn(self) -> subprocess.Popen[bytes] | None:
        """Start the program; None where it is to stop. Under the lock: a stop comes before it, or finds the child."""
        program = self._program
        with self._lock, self.log_path.open("ab") as output:
            if self._stopping.is_set():
                return None
            if self._watch:
                self._watch.begin()
            child = subprocess.Popen(  # noqa: S603 - our own command
                launch_command(program.command, program.death_signal, program.unprivileged),
                # The children see our environment: their settings are the user's.
                env={**os.environ, **program.environment, **(self._watch.environment if self._watch else {})},
                pass_fds=program.files,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                record(self._record, child.pid, program.death_signal)
            except OSError:
                child.kill()
                child.wait()
                raise
            self._child = child
            return child

    def _forget(self, child: subprocess.Popen[bytes]) -> None:
        with self._lock:
            # What a killed parent left behind in its group must not work beside its successor.
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
    """Return the command line that runs `command` as long as we live, and not as root where `unprivileged` is given."""
    launcher = [sys.executable, "-I", "-S", str(_LAUNCH)]
    return [*launcher, str(int(death_signal)), str(os.getpid()), str(unprivileged or ""), *command]

"""PID files record a stack's living processes, so that the next start finds those that a kill -9 left behind."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from turnloom.models.errors import Unavailable

_PATIENCE_S = 5.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""This exists on Linux only; elsewhere `ps` tells when a process started."""


def record(path: Path, pid: int, death_signal: int) -> None:
    """Record that `pid` is ours, and which signal ends it together with its children."""
    path.write_text(f"{pid} {int(death_signal)} {_identity(pid)}")


def sweep(directory: Path) -> None:
    """End every process that is recorded in `directory` and still alive, and delete all records.

    A process counts as ours only if it started when the recorded one did: its id may belong to another process by now.

    Raises:
        Unavailable: a process does not end.
    """
    for path in sorted(directory.glob("*.pid")):
        pid, death_signal, identity = _read(path)
        if identity and _identity(pid) == identity:
            _end(path.stem, pid, death_signal, identity)
        path.unlink()


def signal_group(pid: int, number: int) -> None:
    """Signal the process and its children, if any are left. Each of our processes leads its own process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _end(name: str, pid: int, death_signal: int, identity: str) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, death_signal)
    if not _gone(pid, identity):
        signal_group(pid, signal.SIGKILL)
        if not _gone(pid, identity):
            raise Unavailable(f"{name} (process {pid}) from an earlier start does not end; kill it and start again")
    signal_group(pid, signal.SIGKILL)


def _gone(pid: int, identity: str) -> bool:
    deadline = time.monotonic() + _PATIENCE_S
    while _identity(pid) == identity:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _read(path: Path) -> tuple[int, int, str]:
    try:
        pid, death_signal, identity = path.read_text().split(" ", 2)
        return int(pid), int(death_signal), identity
    except ValueError:  # we were killed while we wrote the record
        return 0, 0, ""


def _identity(pid: int) -> str:
    """Return when a process started, which tells it from others with the same id. Empty if it has ended."""
    if _BOOT.exists():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in "ZX" else f"{_BOOT.read_text().strip()}:{fields[19]}"
    command = ["/bin/ps", "-o", "lstart=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - a number

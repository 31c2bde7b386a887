"""Wait for facts with a deadline, instead of sleeping, and read what other processes write."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _LONGER = 0.005, 0.05, 1.3
"""The pauses between two looks at a fact. Looking costs the processes that make it true their time."""


def wait_for(fact: Callable[[], object], within_s: float = 8.0) -> None:
    """Wait until `fact` is true."""
    deadline, pause_s = time.monotonic() + within_s, _FIRST_PAUSE_S
    while not fact():
        assert time.monotonic() < deadline, "it did not become true in time"
        threading.Event().wait(pause_s)
        pause_s = min(pause_s * _LONGER, _LONGEST_PAUSE_S)


def whole_lines(log: Path) -> list[str]:
    """Return the lines of a file that others are writing, without a last one that is not whole yet."""
    text = log.read_text()
    return text[: text.rfind("\n") + 1].splitlines()


def is_alive(pid: int) -> bool:
    """Return whether a process runs. One that has ended but is not reaped does not run."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self").exists()  # the process is gone meanwhile, or this system has no such files

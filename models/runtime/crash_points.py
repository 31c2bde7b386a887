"""Crash points: places between two commits, or between a commit and a message, where a drill lets a process die.

TURNLOOM_CRASH_AT names a file, and the file's first line a point. The process that reaches it takes the line out and
kills itself, so that the process that comes after it goes on, or dies at the point of the next line.
tests/chaos/test_crash_points.py dies at each of them, and at those of a pack its own tests do.
"""

import fcntl
import os
import signal

from models.runtime.settings import settings


def reach(point: str) -> None:
    """Die here, where a drill asks for it; otherwise do nothing."""
    path = settings().crash_at
    if path is None:
        return
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        first, _, rest = file.read().partition("\n")
        if first == point:
            file.seek(0)
            file.truncate()
            file.write(rest)
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)

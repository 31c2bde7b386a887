"""Crash points are places between two commits, or a commit and a message, where a drill lets a process die.

TURNLOOM_CRASH_AT names a file, and the file's first line names a point. The process that reaches this point removes the
line and kills itself. The process after it goes on, or dies at the point of the next line. A number behind a point says
how often it must be reached, by whichever process.
tests/chaos/test_crash_points.py crashes at each of them; a pack's own tests crash at the pack's points.
"""

import fcntl
import os
import signal

from turnloom.models.runtime.settings import settings


def reach(point: str) -> None:
    """Die here if a drill asks for it; otherwise do nothing."""
    path = settings().crash_at
    if path is None:
        return
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        first, _, rest = file.read().partition("\n")
        name, _, times = first.partition(" ")
        if name != point:
            return
        left = int(times or 1) - 1
        file.seek(0)
        file.truncate()
        file.write(f"{point} {left}\n{rest}" if left else rest)
        file.flush()
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

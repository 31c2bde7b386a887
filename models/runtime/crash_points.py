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

CRASH_POINTS = (
    *("turn.opened", "turns.taken", "turns.released", "plan_turn.sent", "turn.claimed", "turn.requeued"),
    *("read.begun_early", "read.ended_early", "reads.kept", "step.started_early", "early_steps.dropped"),
    *("plan.drafted", "plan.recorded", "run_steps.sent", "plan.published", "turn.reclaimed"),
    *("read.looked_at", "read.claimed", "read.claimed_late", "read.returned", "write.claimed", "write.returned"),
    *("spend.claimed", "spend.returned", "effect.begun", "effect.given_up", "step.delayed", "steps.recorded"),
    *("approval.asked", "approval.decided", "resume.sent", "chord.complete", "context.learned", "turn.planned_again"),
    *("reply.due", "reply.taken_over", "respond.sent", "reply.composed", "turn.finished", "turn.closed"),
    *("deliver.sent", "delivery.rendered", "delivery.claimed", "delivery.sent", "message.written"),
    *("call_back.sent", "callback.claimed", "callback.answered"),
)
"""The points of a turn's lifecycle. A pack may have points of its own, whose first word is none of these."""


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

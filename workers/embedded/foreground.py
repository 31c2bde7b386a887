"""Run a stack from a terminal, and end it on Ctrl-C, SIGTERM or a closed window."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from turnloom.workers.embedded.progress import Told, tell_nobody
from turnloom.workers.embedded.stack import Stack, StackOptions
from turnloom.workers.upkeep.preflight import check_parts

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def foreground(options: StackOptions, told: Told = tell_nobody) -> Iterator[Stack]:
    """Run a stack while the block runs. `told` is called for each part that comes up. Call this from the main thread.

    The first SIGINT, SIGTERM or SIGHUP raises KeyboardInterrupt in the block, which ends the stack in an orderly way. A
    further one kills processes that are still finishing their work. Under `nohup`, SIGHUP has no effect.

    Raises:
        TurnloomError: a setting, or something that a setting names, is missing or wrong.
    """
    # Report what is missing or wrong once, here, before five processes fail because of it.
    check_parts()
    stack = Stack(options, told)
    interrupted = False

    def react(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted or stack.closing:
            stack.hurry()
        else:
            interrupted = True
            raise KeyboardInterrupt

    wanted = [number for number in _SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, react) for number in wanted}
    try:
        with stack:
            yield stack
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

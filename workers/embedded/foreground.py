"""A stack that a terminal holds: what Ctrl-C, SIGTERM and a closed window do to it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from workers.embedded.progress import Told, tell_nobody
from workers.embedded.stack import Stack, StackOptions
from workers.upkeep.preflight import check_parts

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def foreground(options: StackOptions, told: Told = tell_nobody) -> Iterator[Stack]:
    """Run a stack while the block runs; `told` hears of each part that comes up. Call it from the main thread.

    The first SIGINT, SIGTERM or SIGHUP raises KeyboardInterrupt in the block, which ends the stack in an orderly way;
    a further one kills what still finishes its work. Under `nohup` SIGHUP stays without effect.

    Raises:
        TurnloomError: a setting, or something that one names, is missing or broken.
    """
    # What is missing or broken is told once, here, before five processes fail over it.
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

"""Become another program, one that ends with the process that started it.

In: `python -I -S tied.py PARENT_PID PROGRAM ARG…`.  Out: PROGRAM, under the same process id.

On Linux the kernel kills it as soon as the thread that started us ends, even by kill -9; elsewhere it sees the end of
its input. The standard library only, so that it costs no time.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Tie our life to the parent's, and become `command`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the parent ended before its child had begun")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command of the operator's file
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

"""Replace this process by a program that ends with its parent.

In: `python -I -S tied.py PARENT_PID PROGRAM ARG…`.  Out: PROGRAM, under the same process id.

On Linux the kernel kills the program as soon as the thread that started it ends, even by kill -9. On other systems the
program sees the end of its input. This module uses only the standard library, so that it starts fast.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Tie this process to its parent, then replace it by `command`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the parent process ended before its child started")
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command of the operator's file
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

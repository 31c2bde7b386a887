"""A process can run behind the others on its machine, as one that only replays does."""

import os
from contextlib import suppress
from pathlib import Path

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_fixed

NICENESS = 10
"""Not the most: where others want all of the processor, leases and signs of life must still be renewed in seconds."""
_SESSION = Path("/proc/self/autogroup")


def yield_to_others() -> None:
    """Let this process run behind the others on its machine from now on.

    Where Linux shares out the processor among sessions, as it does unless control groups have it otherwise, niceness
    counts only within a session. So the session becomes nice, too, if it is this process's own. One that a shell began
    is left as it is: what else was started there would become slow.
    """
    niceness = os.nice(NICENESS)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # this kernel has no such sessions, or does not let us
            _make_session_nice(niceness)


@retry(retry=retry_if_exception_type(BlockingIOError), stop=stop_after_attempt(5), wait=wait_fixed(0.1), reraise=True)
def _make_session_nice(niceness: int) -> None:
    """Write it for the session. Without privileges, the kernel takes one such change in a tenth of a second."""
    _SESSION.write_text(str(niceness), "ascii")

"""A worker that only replays is behind all others, also where the processor is shared out among sessions."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from turnloom.workers.replay.priority import NICENESS

NICER = min(19, os.nice(0) + NICENESS)
SESSION = Path("/proc/self/autogroup")
YIELDING = (
    "import os\n"
    "from turnloom.workers.replay.priority import yield_to_others\n"
    "yield_to_others()\n"
    "print(os.nice(0), open('/proc/self/autogroup').read())\n"
)

pytestmark = pytest.mark.skipif(not SESSION.exists(), reason="this kernel shares nothing out among sessions")


def nicenesses(*command: str) -> tuple[int, int]:
    """Run a command in a new session. Return the niceness that it prints, and that of the session."""
    told = subprocess.run(command, start_new_session=True, capture_output=True, text=True, check=True).stdout
    found = re.fullmatch(r"(-?\d+) /autogroup-\d+ nice (-?\d+)\s*", told)
    assert found, told
    return int(found[1]), int(found[2])


def test_its_own_session_becomes_nice() -> None:
    """Niceness alone would only count within the session, where nobody else is."""
    own, session = nicenesses(sys.executable, "-c", YIELDING)

    assert own == session == NICER


def test_the_session_of_a_shell_stays_as_it_is() -> None:
    """What else was started there is not made slow."""
    own, session = nicenesses("/bin/sh", "-c", '"$0" -c "$1"; true', sys.executable, YIELDING)

    assert own == NICER > session

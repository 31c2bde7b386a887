"""The steps that follow a commit that changes a turn."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
from contextlib import suppress
from uuid import UUID
from turnloom.workers.turns.turn_events import committing

def commit(answer, error=None):
    with suppress(LookupError), committing(UUID(int=0), "turn.changed") as committed:
        if error:
            raise error
        committed(answer)
        print("committed", answer, flush=True)

commit(None)
commit(False)
commit([], LookupError())
commit([])
"""


def test_the_crash_point_is_reached_after_a_commit_that_changed_something(tmp_path: Path) -> None:
    """The point is not reached if the ledger changed nothing, or if the commit failed."""
    crash_at = tmp_path / "crash_at"
    crash_at.write_text("turn.changed\n")
    environment = {"TURNLOOM_CRASH_AT": str(crash_at)}

    died = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)

    assert (died.returncode, died.stdout) == (-9, "committed None\ncommitted False\ncommitted []\n"), died.stderr
    assert crash_at.read_text() == ""

"""A crash point may have to be reached several times. The drills are in tests/chaos/test_crash_points.py."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_a_process_dies_when_a_point_is_reached_for_the_given_time(tmp_path: Path) -> None:
    """The file counts, so that the processes before it count, too."""
    crash_at = tmp_path / "crash_at"
    crash_at.write_text("a 3\nb\n")
    load = "from turnloom.models.runtime.crash_points import reach"
    environment = {"TURNLOOM_CRASH_AT": str(crash_at), "PYTHONPATH": str(ROOT)}
    scripts = [f"{load}; reach('a'); reach('b')", f"{load}; reach('a'); print('here', flush=True); reach('a')"]

    died = [
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
        for script in scripts
    ]

    assert [(each.returncode, each.stdout) for each in died] == [(0, ""), (-9, "here\n")]
    assert crash_at.read_text() == "b\n"

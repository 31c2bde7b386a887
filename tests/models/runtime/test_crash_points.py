"""Crash points are listed, and may have to be reached more than once. The drills are in tests/chaos/."""

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from turnloom.models.runtime.crash_points import CRASH_POINTS

ROOT = Path(__file__).resolve().parents[3]

_POINT = re.compile(r'(?:reach\(|(?:committing|follow)\(.*, )f?"([^"]+)"\)')


def reached() -> set[str]:
    """Return the points that the code names, without those of packs; `*` stands for a part that differs."""
    modules = [path for package in ("models", "web", "workers") for path in (ROOT / package).rglob("*.py")]
    named = {name for path in modules for name in _POINT.findall(path.read_text("utf-8"))}
    return {re.sub(r"\{[^}]+\}", "*", name) for name in named}


def test_the_list_has_what_the_code_reaches() -> None:
    """A fault file that names another one is refused. A point of a message names a task that there is."""
    patterns = reached()
    programs = [path.read_text("utf-8") for path in (ROOT / "workers").rglob("*.py")]
    tasks = {name for program in programs for name in re.findall(r'@app\.task\(name="(\w+)"', program)}

    unlisted = {pattern for pattern in patterns if not any(fnmatch(point, pattern) for point in CRASH_POINTS)}
    unreached = [point for point in CRASH_POINTS if not any(fnmatch(point, pattern) for pattern in patterns)]

    assert (unlisted, unreached) == (set(), [])
    assert {point.removesuffix(".sent") for point in CRASH_POINTS if point.endswith(".sent")} <= {*tasks, "delivery"}


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

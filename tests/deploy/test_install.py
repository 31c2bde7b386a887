"""Test what a person sees during `make setup`. The interpreter is a stand-in, and nothing is installed."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """#!/bin/sh
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-c "*) cat "$0.base" 2>/dev/null || true ;;
  "-m pip") echo "Collecting something"; while [ ! -e "$RELEASED" ]; do :; done; exit "$STATUS" ;;
esac
"""


@pytest.fixture
def setup(tmp_path: Path) -> list[str]:
    """Return the command `make setup` with the stand-in, on a PATH without uv."""
    python = tmp_path / "python"
    python.write_text(STAND_IN)
    python.chmod(0o755)
    released, path = tmp_path / "released", os.defpath
    return [
        "env",
        f"PATH={path}",
        f"RELEASED={released}",
        "STATUS=0",
        "make",
        "-C",
        str(ROOT),
        f"PYTHON={python}",
        f"VENV={tmp_path / 'venv'}",
        "setup",
    ]


def test_a_terminal_shows_what_is_being_done_and_for_how_long(setup: list[str], tmp_path: Path) -> None:
    """A first line says what will be done. Then a clock and the installer's work are shown, but no commands."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(setup, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while b" s  Collecting something" not in seen:
            seen += os.read(ours, 1024)
        (tmp_path / "released").touch()
        assert process.wait(20) == 0
    os.close(ours)

    assert b"Installing" in seen
    assert b"packages into" in seen
    assert b"command -v" not in seen


def test_elsewhere_there_are_two_plain_lines(setup: list[str], tmp_path: Path) -> None:
    """One says what will be done, the other how long it took."""
    (tmp_path / "released").touch()

    done = subprocess.run(setup, capture_output=True, text=True, check=True)

    lines = [line for line in done.stdout.splitlines() if not line.startswith("make")]
    assert [line.split()[0] for line in lines] == ["Installing", "Installed"]
    assert done.stderr == ""


def test_a_failure_shows_the_end_of_the_log(setup: list[str], tmp_path: Path) -> None:
    """It also names the file of the whole log."""
    (tmp_path / "released").touch()

    failing = [part.replace("STATUS=0", "STATUS=1") for part in setup]
    done = subprocess.run(failing, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "Collecting something" in done.stderr
    assert "install.log" in done.stderr


@pytest.mark.parametrize("is_there", [True, False])
def test_the_interpreter_of_the_environment_makes_it_again(setup: list[str], tmp_path: Path, is_there: bool) -> None:
    """Once it is gone, the first one on the PATH does, as at the first time."""
    (tmp_path / "released").touch()
    (tmp_path / "venv").mkdir()
    first = shutil.copy(tmp_path / "python", tmp_path / "python3")
    named = tmp_path / ("python" if is_there else "gone")
    (tmp_path / "venv/pyvenv.cfg").write_text(f"home = {tmp_path}\nexecutable = {named}\n")
    Path(first).write_text(STAND_IN + "# the first one on the PATH\n")
    command = [part.replace("PATH=", f"PATH={tmp_path}:") for part in setup if not part.startswith("PYTHON=")]

    subprocess.run(command, capture_output=True, check=True)

    made_by = (tmp_path / "venv/bin/python").read_text()
    assert made_by.endswith("# the first one on the PATH\n") is not is_there


@pytest.mark.parametrize(("base", "stays"), [("3.11", True), ("3.12", False)])
def test_what_another_python_installed_is_removed(setup: list[str], tmp_path: Path, base: str, stays: bool) -> None:
    """It would mix with what this one installs. What the same one installed is used again."""
    (tmp_path / "released").touch()
    venv, installed = tmp_path / "venv", tmp_path / "venv/lib/installed"
    for folder in (venv / "bin", venv / "lib"):
        folder.mkdir(parents=True)
    shutil.copy(tmp_path / "python", venv / "bin/python")
    for path, value in {venv / "bin/python.base": "3.11", tmp_path / "python.base": base, installed: ""}.items():
        path.write_text(value)

    subprocess.run(setup, capture_output=True, check=True)

    assert installed.exists() is stays

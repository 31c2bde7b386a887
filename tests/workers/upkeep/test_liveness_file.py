"""The probe reads the liveness files of processes."""

import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.facts import wait_for
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.workers.upkeep.liveness_file import LivenessFile, check

HOST = socket.gethostname()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for liveness files, which does not exist yet."""
    monkeypatch.setenv("TURNLOOM_RUN_DIR", str(tmp_path / "run"))
    settings.cache_clear()
    return tmp_path / "run"


def make_old(file: Path) -> None:
    os.utime(file, (0, 0))


def refused(look: Callable[[], object]) -> str:
    with pytest.raises(Unavailable) as refusal:
        look()
    return str(refusal.value)


def test_a_worker_whose_file_is_touched_lives(folder: Path) -> None:
    """A worker is found by its name, or as one of all workers on this machine. Beat is not one of them."""
    for kind, name in (("worker", "plan"), ("worker", "io"), ("beat", "beat")):
        LivenessFile(kind, f"{name}@{HOST}").start()  # type: ignore[arg-type]

    assert (check("worker", "plan"), check("worker"), check("beat")) == (1, 2, 1)


def test_touching_continues(folder: Path) -> None:
    """The file is touched again and again, and is created again if somebody removes it."""
    LivenessFile("worker", f"plan@{HOST}").start()
    (folder / f"plan@{HOST}.worker").unlink()

    wait_for((folder / f"plan@{HOST}.worker").exists)


def test_a_worker_without_a_sign_of_life_is_named(folder: Path) -> None:
    """The worker may have stopped, never have started, or be silent for too long."""
    none = refused(lambda: check("worker"))
    silent, stopped = LivenessFile("worker", f"silent@{HOST}"), LivenessFile("worker", f"stopped@{HOST}")
    silent.start()
    stopped.start()
    stopped.stop()
    silent._daemon.stop(5)
    make_old(folder / f"silent@{HOST}.worker")

    assert "no worker has started here" in none
    assert f"stopped@{HOST} does not run here" in refused(lambda: check("worker", "stopped"))
    assert f"silent@{HOST} has shown no sign of life for" in refused(lambda: check("worker"))


def test_a_folder_of_somebody_else_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If others could have files there, a process runs without a file."""
    folder.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: -1)

    LivenessFile("worker", f"plan@{HOST}").start()

    assert list(folder.iterdir()) == []


def test_the_probe_is_cheap(folder: Path) -> None:
    """The probe loads neither Celery nor the ledger, and takes less CPU time than a worker's start."""
    LivenessFile("worker", f"plan@{HOST}").start()
    probe = "import sys; from turnloom.workers.cli import main; main(['worker', '--check'], standalone_mode=False);"
    loaded = "print(*(name in sys.modules for name in ('celery', 'kombu', 'sqlalchemy', 'psycopg', 'redis')))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    done = subprocess.run(
        [sys.executable, "-c", f"{probe} {loaded}"],
        env={**os.environ, "TURNLOOM_RUN_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )

    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.split() == ["alive:", "1", "worker", *["False"] * 5]
    # More would be a hang, or an import of everything.
    assert (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime) < 5

"""Workers and beat begin as forks of a process that has already loaded their modules."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.facts import is_alive, wait_for
from turnloom.models.runtime.settings import ROOT
from turnloom.workers.embedded.forks import ForkedProcess, preloading
from turnloom.workers.embedded.process import Process, Program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every process is started by itself")

EXAMPLE = """
import os, signal, sys
print(os.environ["WORD"], "WORK" in os.environ, *sys.argv[1:], os.getsid(0) == os.getpid(), flush=True)
if sys.argv[2] == "beat":
    signal.pause()
sys.exit(3)
"""
"""A Celery application that ends its process when it is loaded, or waits if beat loads it."""
PRELOADED = """
from pathlib import Path
from turnloom.models.runtime.settings import settings
from turnloom.workers.embedded import preloader
before = {path.name for path in Path("/proc/self/fd").iterdir()}
preloader.load_without_settings()
unread = settings.cache_info().misses == 0
preloader.load()
after = {path.name for path in Path("/proc/self/fd").iterdir()}
print(len([*Path("/proc/self/task").iterdir()]), after - before, unread)
"""
SUPERVISOR = """
import sys
from pathlib import Path
from tests.workers.embedded.test_forks import become
from turnloom.workers.embedded.forks import preloading
here = Path(sys.argv[1])
with preloading(1, {"PYTHONPATH": str(here)}) as preloader:
    [fork] = preloader.fork({}, here / "preloader.log")
    become(fork, here, "beat")
print(fork.pid, flush=True)
fork.wait()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the application `example`."""
    folder = tmp_path_factory.mktemp("forks")
    (folder / "example.py").write_text(EXAMPLE)
    return folder


@pytest.fixture(scope="module")
def waiting(folder: Path) -> Iterator[list[ForkedProcess]]:
    """Two forks that find the application."""
    with preloading(3, {"PYTHONPATH": str(folder)}) as preloader:
        assert preloader
        yield preloader.fork({"WORK": "1"}, folder / "preloader.log")


def become(fork: ForkedProcess, folder: Path, program: str) -> None:
    command = [sys.executable, "-m", "turnloom.workers.broker.celery_program", "example", program]
    fork.become("example-process", command, {"WORD": "hello"}, folder / f"{program}.log")


def test_a_fork_becomes_the_program(waiting: list[ForkedProcess], folder: Path) -> None:
    """A fork has its own arguments, environment, session and log, and its exit code is known."""
    fork = waiting.pop()

    become(fork, folder, "worker")
    exit_code = fork.wait()

    assert (folder / "worker.log").read_text() == "hello False example worker True\n"
    assert exit_code == 3


def test_the_signal_that_ends_a_fork_is_known(waiting: list[ForkedProcess], folder: Path) -> None:
    """The exit code is the negative number of the signal, as with `subprocess`. The other forks continue."""
    ended, other = waiting.pop(), waiting.pop()
    for each in (ended, other):
        become(each, folder, "beat")

    ended.kill()

    assert ended.wait() == -signal.SIGKILL
    assert is_alive(other.pid)
    ended.kill()
    wait_for(lambda: Path(f"/proc/{other.pid}/comm").read_text() == "example-process\n")
    other.send_signal(signal.SIGTERM)
    assert other.wait() == -signal.SIGTERM


def test_a_process_starts_without_its_fork(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """If the preloader fails, the command itself is started."""
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('no preloader')")
    with preloading(1, {"PYTHONPATH": str(tmp_path)}) as preloader:
        assert preloader
        [fork] = preloader.fork({}, tmp_path / "preloader.log")
        command = [sys.executable, "-c", "import signal; signal.pause()"]
        process = Process(Program(name="p", command=command, fork=fork), records=tmp_path, logs=tmp_path)
        process.start()
        wait_for(lambda: process.pid, within_s=30)

    restarts = process.restarts
    process.stop(5)
    assert "no preloader" in capfd.readouterr().err
    assert restarts == 0


def test_an_unused_fork_ends(tmp_path: Path) -> None:
    """A stack that does not come up leaves no fork behind."""
    with preloading(1, {}) as preloader:
        assert preloader
        [fork] = preloader.fork({"TURNLOOM_OFFLINE_MODEL": "true"}, tmp_path / "preloader.log")
        pid = int(fork._connection.recv(16, 0x2))  # MSG_PEEK

    wait_for(lambda: not is_alive(pid), within_s=30)


def test_forks_end_with_a_supervisor_that_is_killed(folder: Path) -> None:
    """kill -9 of the supervisor ends them, although another process forked them."""
    command = [sys.executable, "-c", SUPERVISOR, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout
        pid = int(supervisor.stdout.readline())

        supervisor.kill()

    wait_for(lambda: not is_alive(pid))


def test_a_fork_inherits_no_thread_and_no_connection() -> None:
    """The modules that the preloader loads start no thread, not even in a C library, and open no file.

    What it loads before it gets the settings reads none.
    """
    environment = {**os.environ, "TURNLOOM_OFFLINE_MODEL": "true"}

    done = subprocess.run(
        [sys.executable, "-c", PRELOADED], capture_output=True, text=True, check=True, env=environment
    )

    assert done.stdout == "1 set() True\n"

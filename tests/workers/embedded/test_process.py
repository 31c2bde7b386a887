"""A program is kept running."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.facts import is_alive, wait_for
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.daemon import FAILURES
from turnloom.workers.embedded.pid_files import record, sweep
from turnloom.workers.embedded.process import Process, Program

SLEEP = [sys.executable, "-c", "import signal; signal.pause()"]
STUBBORN = [
    sys.executable,
    "-c",
    """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
""",
]
PARENT = [
    sys.executable,
    "-c",
    f"""
import signal, subprocess
print(subprocess.Popen({SLEEP!r}).pid, flush=True)
signal.pause()
""",
]
SPEAKING = [
    sys.executable,
    "-c",
    """
import logging, sys, time
from gunicorn.systemd import sd_notify
for pause_s in map(float, sys.argv[1:]):
    time.sleep(pause_s)
    sd_notify("WATCHDOG=1", logging.getLogger())
print("silent", flush=True)
time.sleep(60)
""",
]
"""A program that reports after each of these pauses, and then no more."""
KEEPER = f"""
import signal, sys
from pathlib import Path
from turnloom.workers.embedded.process import Process, Program
here = Path(sys.argv[1])
process = Process(Program(name="p", command={SLEEP!r}), records=here, logs=here)
process.start()
while not process.pid:
    pass
print(process.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[[list[str]], Process]]:
    """A function that makes processes, which end with the test."""
    kept: list[Process] = []

    def make(command: list[str]) -> Process:
        kept.append(Process(Program(name=f"p{len(kept)}", command=command), records=tmp_path, logs=tmp_path))
        return kept[-1]

    yield make
    for process in kept:
        process.stop(0)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """A function that makes processes that are killed when they are silent for a second."""
    kept: list[Process] = []

    def make(*pauses_s: float) -> Process:
        program = Program(name="w", command=[*SPEAKING, *map(str, pauses_s)], is_watched=True)
        kept.append(Process(program, records=tmp_path, logs=tmp_path, silence_s=1.0))
        kept[-1].start()
        return kept[-1]

    yield make
    for process in kept:
        process.stop(0)


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets")
def test_a_process_that_falls_silent_is_killed(watched: Callable[..., Process]) -> None:
    """A process that has reported and then falls silent is started again."""
    process = watched(0)

    wait_for(lambda: process.restarts == 1)


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets")
def test_a_slow_start_is_no_silence(watched: Callable[..., Process]) -> None:
    """The watch begins with the first report, and ends nothing while reports come."""
    process = watched(1.5, *[0.1] * 20)

    wait_for(lambda: "silent" in process.log_path.read_text() if process.log_path.exists() else False)
    assert process.restarts == 0


def test_killed_process_comes_back(keep, tmp_path):
    """A process that dies is started again, and its record names the new one."""
    process = keep(SLEEP)
    process.start()
    wait_for(lambda: process.pid)
    first = process.pid

    process.kill()

    wait_for(lambda: process.pid not in (None, first))
    assert process.restarts == 1
    assert (tmp_path / "p0.pid").read_text().startswith(f"{process.pid} ")


def test_keeper_survives_a_command_that_cannot_start(keep):
    """A command that does not exist ends neither its keeper nor a request to stop it."""
    process = keep([SLEEP])
    process.start()
    wait_for(lambda: (FAILURES, "keeper of p0") in counted())

    assert process._keeper.is_alive
    process.stop(5)
    assert not process._keeper.is_alive


def counted() -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    counts().hand_on(found.update)
    return found


def test_stopped_process_stays_away(keep, tmp_path):
    """A process that was asked to stop ends, and leaves no record."""
    process = keep(SLEEP)
    process.start()
    wait_for(lambda: process.pid)
    pid = process.pid

    process.stop(5)

    assert process.pid is None
    assert not is_alive(pid)
    assert list(tmp_path.glob("*.pid")) == []


def test_process_that_ignores_the_request_is_killed(keep):
    """The wait for a process that ignores the request to stop is limited."""
    process = keep(STUBBORN)
    process.start()
    wait_for(lambda: process.log_path.exists() and "ready" in process.log_path.read_text())
    pid = process.pid

    process.stop(0.1)

    assert not is_alive(pid)


def test_children_of_a_killed_process_do_not_work_beside_its_successor(keep):
    """The children of a killed process end with it."""
    process = keep(PARENT)
    process.start()
    wait_for(lambda: process.log_path.exists() and process.log_path.read_text().strip())
    grandchild = int(process.log_path.read_text().split()[0])

    os.kill(process.pid, signal.SIGKILL)

    wait_for(lambda: not is_alive(grandchild))


def test_process_that_cannot_start_says_why(keep):
    """If a process ends at once, the start fails with the end of its log in the message."""
    process = keep([sys.executable, "-c", "raise SystemExit('the reason')"])

    def never_ready() -> None:
        raise Unavailable("no answer")

    process.start()

    with pytest.raises(Unavailable, match=r"(?s)p0 did not start: no answer.*the reason"):
        process.wait_until(never_ready, timeout_s=8)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    """kill -9 of the parent ends its processes without further help."""
    with subprocess.Popen([sys.executable, "-c", KEEPER, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())

        parent.kill()

    wait_for(lambda: not is_alive(pid))


def test_sweep_ends_leftover_processes(tmp_path):
    """A recorded process that is still alive is ended at the next start."""
    with subprocess.Popen(SLEEP, start_new_session=True) as left:
        record(tmp_path / "left.pid", left.pid, signal.SIGKILL)

        sweep(tmp_path)

        assert left.wait(5) == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_sweep_spares_a_stranger_with_the_same_number(tmp_path):
    """A process that has a recorded number but another start time is not ours."""
    with subprocess.Popen(SLEEP, start_new_session=True) as stranger:
        (tmp_path / "old.pid").write_text(f"{stranger.pid} 9 another-boot:1")
        (tmp_path / "torn.pid").write_text("12")

        sweep(tmp_path)

        assert stranger.poll() is None
        stranger.kill()
    assert list(tmp_path.iterdir()) == []

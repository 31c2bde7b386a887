"""One command starts and stops the whole service."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.facts import is_alive, wait_for
from turnloom.workers.cli.up import banner
from turnloom.workers.embedded.servers import EmbeddedServers
from turnloom.workers.embedded.stack import Stack


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """A function that runs `turnloom up` with these arguments and returns when it is ready. The test's end kills it."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        few = ["--webs", "1", "--planners", "1", "--workers", "1"]
        command = [sys.executable, "-m", "turnloom.workers.cli", "up", "--port", "0", *few, *arguments]
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        started.append(process)
        assert process.stdout
        assert "ready in" in process.stdout.readline()
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def recorded(home: Path) -> dict[str, int]:
    """Return the processes that a stack has recorded: name -> process id."""
    return {path.stem: int(path.read_text().split()[0]) for path in (home / "run").glob("*.pid")}


def test_killed_worker_comes_back(stack: Stack):
    """A worker process that is killed is replaced; the others stay."""
    before = {name: process.pid for name, process in stack.processes.items()}

    stack.processes["worker-io-1"].kill()

    wait_for(lambda: stack.processes["worker-io-1"].pid not in (None, before["worker-io-1"]))
    after = {name: process.pid for name, process in stack.processes.items()}
    assert {name for name in before if before[name] != after[name]} == {"worker-io-1"}


def test_stack_has_the_processes_that_were_asked_for(stack: Stack):
    """Two workers serve tools that wait, one those that compute, one plans; Flower runs. The API needs a key."""
    answer = httpx2.get(f"{stack.url}/v1/tools")

    workers = {"worker-plan", "worker-io-1", "worker-io-2", "worker-cpu", "worker-replay"}
    assert set(stack.processes) == {"web", "beat", "flower", *workers}
    assert answer.status_code == 401


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every process is started by itself")
def test_workers_and_beat_begin_as_forks(stack: Stack):
    """Only a fork has the name of its process; a process that was started again has Python's."""
    processes = [each for name, each in stack.processes.items() if name.startswith(("worker", "beat"))]
    at_first = [each for each in processes if each.restarts == 0]

    names = [Path(f"/proc/{each.pid}/comm").read_text().strip() for each in at_first]

    assert len(processes) == 6
    assert names == [each.name for each in at_first]


@pytest.mark.drill
def test_sigterm_ends_everything(up, tmp_path):
    """SIGTERM stops an ephemeral stack with exit code 0 and leaves no process and no directory."""
    process = up("--ephemeral")
    [home] = tmp_path.glob("turnloom-*")
    pids = recorded(home)

    process.send_signal(signal.SIGTERM)

    with suppress(subprocess.TimeoutExpired):
        process.wait(15)
    assert (process.poll(), [name for name, pid in pids.items() if is_alive(pid)]) == (0, [])
    assert len(pids) == 8
    assert list(tmp_path.iterdir()) == []


def test_commands_find_the_stack_and_the_key_in_use(stack: Stack, tmp_path: Path):
    """In the stack's directory a command needs no option. Elsewhere the banner's line works, even with a given key."""
    (tmp_path / ".turnloom").symlink_to(stack.servers.home.path)
    (tmp_path / "elsewhere").mkdir()
    banner_lines = str(banner(stack, ready_in_s=1.0)).splitlines()
    [line] = [line.removeprefix("another shell ") for line in banner_lines if line.startswith("another shell ")]

    def said(*command: str, cwd: Path) -> str:
        done = subprocess.run(command, cwd=cwd, input="hi\n", capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    here = said(sys.executable, "-m", "turnloom.workers.cli", "chat", cwd=tmp_path)
    there = said("sh", "-c", line, cwd=tmp_path / "elsewhere")

    assert ["succeeded" in here, "succeeded" in there] == [True, True], here + there


@pytest.mark.drill
def test_kill_9_loses_nothing(up, tmp_path):
    """After kill -9, every process ends by itself or at the next start, and committed data is there."""
    home = tmp_path / "data"
    process = up("--data-dir", str(home))
    pids = recorded(home)

    process.kill()
    process.wait()

    servers = EmbeddedServers(home)
    try:
        with psycopg.connect(servers.owner_url) as connection:
            tenants = connection.execute("SELECT name FROM tenants").fetchall()
        assert tenants == [("development",)]
        assert [name for name, pid in pids.items() if is_alive(pid)] == []
    finally:
        servers.close()

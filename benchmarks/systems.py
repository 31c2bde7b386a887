"""Run the systems that are measured without HTTP, on the stack's servers: our workers, and message consumers."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import cast

import psycopg

from benchmarks.cpu_times import HasPid
from benchmarks.drivers.orders import READY, Order, Report
from benchmarks.processes import running
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import Placement
from turnloom.workers.broker.command_lines import queues_of_threads, worker_command
from turnloom.workers.embedded.process import Process, launch_command
from turnloom.workers.embedded.stack import Stack

_ROOT = Path(__file__).resolve().parent.parent
_START_TIMEOUT_S = 60.0
_MESSAGE_REDIS_DATABASES = {"ours": 2, "defaults": 3}


class Driver:
    """A program of `benchmarks.drivers`, which takes orders on its stdin."""

    def __init__(self, of: Stack, name: str, environment: Mapping[str, str]) -> None:
        self._log = (of.servers.home.logs / f"driver-{name}.log").open("ab")
        self._child = subprocess.Popen(
            launch_command([sys.executable, "-m", f"benchmarks.drivers.{name}"]),
            env={"PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        if self._line() != READY:
            raise RuntimeError(f"the driver {name} did not start: see its log")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    def run(self, order: Order) -> Report:
        """Send an order, and return the report of it."""
        assert self._child.stdin
        self._child.stdin.write(json.dumps(asdict(order)) + "\n")
        self._child.stdin.flush()
        return Report(**json.loads(self._line()))

    def close(self) -> None:
        """End the program."""
        assert self._child.stdin
        self._child.stdin.close()
        self._child.wait(timeout=20)
        self._log.close()

    def _line(self) -> str:
        assert self._child.stdout
        line = self._child.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"a driver has ended: {Path(self._log.name).read_text(errors='replace')[-2000:]}")
        return line


@dataclass(frozen=True)
class System:
    """A running system that carries out turns."""

    driver: Driver
    groups: Mapping[str, Sequence[HasPid]]
    """The system's processes by their purpose, without the servers."""


@contextmanager
def our_workers(of: Stack, settings: Mapping[str, str]) -> Iterator[dict[str, Process]]:
    """Run our workers with other settings, and yield them when they are ready. Stop the stack's own workers first."""
    placement = cast("Placement", settings["TURNLOOM_PLACEMENT"])
    threads = queues_of_threads(1, of.options.tool_workers, placement)
    commands = {
        f"bench-{name}": worker_command(queues, name=f"bench-{name}", pool="threads", concurrency=16)
        for name, queues in threads.items()
    }
    with running(of, commands, settings) as workers, psycopg.connect(of.database_url, autocommit=True) as ledger:
        for name, worker in workers.items():
            worker.wait_until(partial(_check_alive, ledger, name), timeout_s=_START_TIMEOUT_S)
        yield workers


@contextmanager
def turnloom(of: Stack, settings: Mapping[str, str]) -> Iterator[System]:
    """Run our workers, and a driver that opens turns without HTTP."""
    with our_workers(of, settings) as workers, _driver(of, "turnloom", {**of.environment, **settings}) as driver:
        tools = [process for name, process in workers.items() if name != "bench-plan"]
        yield System(driver, {"planner": [workers["bench-plan"]], "tools": tools, "feeder": [driver]})


def default_worker(app: str) -> list[str]:
    """Return the command line of a Celery worker as Celery's documentation gives it."""
    return [sys.executable, "-m", "celery", "-A", app, "worker", "--loglevel", "WARNING"]


@contextmanager
def messages(of: Stack, kind: str, worker: Sequence[str]) -> Iterator[System]:
    """Run a consumer and a publisher of no-op messages, in their own Redis database."""
    url = f"{of.redis_url.rpartition('/')[0]}/{_MESSAGE_REDIS_DATABASES[kind]}"
    environment = {**of.environment, "REDIS_URL": url, "MESSAGES": kind}
    with (
        running(of, {f"messages-{kind}": worker}, environment) as processes,
        _driver(of, "messages", environment) as driver,
    ):
        yield System(driver, {"worker": list(processes.values()), "publisher": [driver]})


@contextmanager
def _driver(of: Stack, name: str, environment: Mapping[str, str]) -> Iterator[Driver]:
    driver = Driver(of, name, environment)
    try:
        yield driver
    finally:
        driver.close()


def _check_alive(ledger: psycopg.Connection, name: str) -> None:
    if not ledger.execute("SELECT 1 FROM workers WHERE name LIKE %s", (f"{name}@%",)).fetchone():
        raise Unavailable(f"the worker {name} has not registered")

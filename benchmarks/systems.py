"""The systems that are compared, as running processes on the stack's servers: ours in three settings, and peers."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

import psycopg
from psycopg import sql

from benchmarks.drivers.orders import READY, Order, Report
from benchmarks.measuring import HasPid
from benchmarks.processes import running, superuser_url
from models.settings import Placement
from workers.commands import queues_of_threads, worker_command
from workers.embedded import Stack
from workers.embedded.process import launch_command

_ROOT = Path(__file__).resolve().parent.parent
_DRIVERS = 2
"""Processes of a system that runs inside its caller: as many as there are cores."""
_CELERY_REDIS_DATABASE = 1
_MESSAGE_REDIS_DATABASES = {"ours": 2, "defaults": 3}


class Driver:
    """One program of `benchmarks.drivers`, told what to do on its stdin."""

    def __init__(self, of: Stack, name: str, environment: Mapping[str, str], python: str = sys.executable) -> None:
        self._log = (of.servers.home.logs / f"driver-{name}.log").open("ab")
        self._child = subprocess.Popen(
            launch_command([python, "-m", f"benchmarks.drivers.{name}"]),
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
        """The process."""
        return self._child.pid

    def begin(self, order: Order) -> None:
        """Hand over an order, and do not wait."""
        assert self._child.stdin
        self._child.stdin.write(json.dumps(asdict(order)) + "\n")
        self._child.stdin.flush()

    def report(self) -> Report:
        """Wait until the order is carried out."""
        return Report(**json.loads(self._line()))

    def close(self) -> None:
        """End it."""
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
    """One that carries out turns."""

    drivers: Sequence[Driver]
    groups: Mapping[str, Sequence[HasPid]] = field(default_factory=dict)
    """Its processes by what they are for, without the servers."""

    def run(self, order: Order) -> Report:
        """Share an order out among the drivers; a turn at a time needs one of them only."""
        sharing = self.drivers[: order.at_once]
        parts = len(sharing)
        share = Order(order.needs, order.turns // parts, order.at_once // parts)
        began = time.perf_counter()
        for driver in sharing:
            driver.begin(share)
        latencies = [latency for driver in sharing for latency in driver.report().latencies_s]
        assert len(latencies) in (1, order.turns), "the drivers cannot share this order evenly"
        return Report(latencies, time.perf_counter() - began)


@contextmanager
def turnloom(of: Stack, settings: Mapping[str, str]) -> Iterator[System]:
    """Run our workers with other settings in place of the stack's own, which must stand still."""
    placement = cast("Placement", settings["TURNLOOM_PLACEMENT"])
    threads = queues_of_threads(1, of.options.tool_workers, placement)
    commands = {
        f"bench-{name}": worker_command(queues, name=f"bench-{name}", pool="threads", concurrency=16)
        for name, queues in threads.items()
    }
    environment = {**of.environment, **settings}
    with running(of, commands, settings) as processes, _driver(of, "turnloom", environment) as driver:
        tools = [process for name, process in processes.items() if name != "bench-plan"]
        yield System([driver], {"planner": [processes["bench-plan"]], "tools": tools, "feeder": [driver]})


@contextmanager
def celery_waves(of: Stack) -> Iterator[System]:
    """Run hand-written Celery: one worker, whose pool has a process per core, Celery's default."""
    environment = {
        "REDIS_URL": f"{of.redis_url.rpartition('/')[0]}/{_CELERY_REDIS_DATABASE}",
        "DATABASE_URL": _database(of, "celery_waves"),
    }
    with (
        running(of, {"waves": default_worker("benchmarks.drivers.celery_waves")}, environment) as processes,
        _driver(of, "celery_waves", environment) as driver,
    ):
        yield System([driver], {"tools": [processes["waves"]], "feeder": [driver]})


def default_worker(app: str) -> list[str]:
    """Return the command line of a Celery worker as its documentation has it."""
    return [sys.executable, "-m", "celery", "-A", app, "worker", "--loglevel", "WARNING"]


@contextmanager
def messages(of: Stack, kind: str, worker: Sequence[str]) -> Iterator[System]:
    """Run a consumer and a publisher of no-op messages, in a Redis database of their own."""
    url = f"{of.redis_url.rpartition('/')[0]}/{_MESSAGE_REDIS_DATABASES[kind]}"
    environment = {**of.environment, "REDIS_URL": url, "MESSAGES": kind}
    with (
        running(of, {f"messages-{kind}": worker}, environment) as processes,
        _driver(of, "messages", environment) as driver,
    ):
        yield System([driver], {"worker": list(processes.values()), "publisher": [driver]})


@contextmanager
def library(of: Stack, name: str, python: str) -> Iterator[System]:
    """Run a system that is a library in its caller's process, in an environment of its own."""
    environment = {"DATABASE_URL": _database(of, name)}
    with ExitStack() as open_drivers:
        drivers = [open_drivers.enter_context(_driver(of, name, environment, python)) for _ in range(_DRIVERS)]
        yield System(drivers, {"tools": drivers})


@contextmanager
def _driver(of: Stack, name: str, environment: Mapping[str, str], python: str = sys.executable) -> Iterator[Driver]:
    driver = Driver(of, name, environment, python)
    try:
        yield driver
    finally:
        driver.close()


def _database(of: Stack, name: str) -> str:
    """Make a database on the stack's Postgres; return its URL, the superuser's."""
    with psycopg.connect(of.postgres.url, autocommit=True) as db:
        db.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return superuser_url(of, name)

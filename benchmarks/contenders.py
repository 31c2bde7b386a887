"""Run the systems that are compared over HTTP: ours in both placements, and the peers.

All of them use the stack's Postgres and Valkey, and the same language-model endpoint.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import psycopg
from psycopg import sql
from redis import Redis

from benchmarks.cpu_times import HasPid
from benchmarks.llm_endpoint import Plans
from benchmarks.processes import running, superuser_url
from benchmarks.systems import default_worker, our_workers
from turnloom.models.runtime.settings import Placement
from turnloom.workers.embedded.process import Process
from turnloom.workers.embedded.servers import DATABASE, free_port, is_free
from turnloom.workers.embedded.stack import Stack

_ROOT = Path(__file__).resolve().parent.parent
_PROCESSES = 2
"""Processes of a system that runs inside its API: one per core."""
_CELERY = "celery_turns"
_CELERY_REDIS_DATABASE = 1
_START_TIMEOUT_S = 60.0
_LOOK_S = 0.05


@dataclass(frozen=True)
class Contender:
    """A running system."""

    urls: Sequence[str]
    """The URLs of its API. A client uses only one of them."""
    key: str
    groups: Mapping[str, Sequence[HasPid]]
    """The system's processes by kind, without the servers."""
    database: str


@contextmanager
def llm_endpoint(of: Stack, plans: Plans) -> Iterator[str]:
    """Run an endpoint that writes these plans, and yield its URL."""
    path = of.servers.home.path / "plans.json"
    path.write_bytes(orjson.dumps(plans))
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.llm_endpoint", str(port), str(path)]
    with running(of, {"llm-endpoint": command}, OURS_ON_PATH):
        wait_for_server(port)
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def turnloom(of: Stack, llm_url: str, placement: Placement) -> Iterator[Contender]:
    """Run our workers in a placement, beside the stack's web server and beat. Pause the stack's own workers first."""
    settings = {"OPENAI_BASE_URL": llm_url, "OPENAI_API_KEY": "none", "TURNLOOM_PLACEMENT": placement}
    with our_workers(of, settings) as workers:
        groups = {"web": [of.processes["web"]], "workers": list(workers.values()), "beat": [of.processes["beat"]]}
        yield Contender([of.url], of.dev_key, groups, DATABASE)


@contextmanager
def peer(of: Stack, llm_url: str, program: Sequence[str], python: str) -> Iterator[Contender]:
    """Run a system that works in the processes of its API. `program`: a module of `benchmarks.peers`, arguments."""
    environment = {**OURS_ON_PATH, "LLM_URL": llm_url, "DATABASE_URL": _database(of, program[0])}
    module, *arguments = program
    workers: list[Process] = []
    ports = [free_port() for _ in range(_PROCESSES)]
    with ExitStack() as open_processes:
        # They start one after the other, because the first one creates the tables.
        for port in ports:
            command = [python, "-m", f"benchmarks.peers.{module}", *arguments, str(port)]
            workers += open_processes.enter_context(running(of, {f"{module}-{port}": command}, environment)).values()
            wait_for_server(port)
        yield Contender(_urls(ports), "", {"workers": workers}, program[0])


@contextmanager
def celery(of: Stack, llm_url: str) -> Iterator[Contender]:
    """Run hand-written Celery: an API, and a worker with one process per core, which is Celery's default."""
    url = f"{of.redis_url.rpartition('/')[0]}/{_CELERY_REDIS_DATABASE}"
    with Redis.from_url(url) as redis:
        redis.flushdb()
    environment = {**OURS_ON_PATH, "LLM_URL": llm_url, "REDIS_URL": url, "DATABASE_URL": _database(of, _CELERY)}
    port = free_port()
    commands = {
        "celery-api": [sys.executable, "-m", f"benchmarks.peers.{_CELERY}", str(port)],
        "celery-worker": default_worker(f"benchmarks.peers.{_CELERY}"),
    }
    with running(of, commands, environment) as processes:
        wait_for_server(port)
        groups = {"web": [processes["celery-api"]], "workers": [processes["celery-worker"]]}
        yield Contender(_urls([port]), "", groups, _CELERY)


OURS_ON_PATH = {"PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def _database(of: Stack, name: str) -> str:
    """Create a database on the stack's Postgres, and return its URL for the superuser."""
    with psycopg.connect(of.postgres.url, autocommit=True) as db:
        db.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return superuser_url(of, name)


def _urls(ports: Sequence[int]) -> list[str]:
    return [f"http://127.0.0.1:{port}" for port in ports]


def wait_for_server(port: int) -> None:
    """Wait until a server listens at a port.

    Raises:
        RuntimeError: that takes too long.
    """
    deadline = time.monotonic() + _START_TIMEOUT_S
    while is_free(port):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no server listens on port {port} after {_START_TIMEOUT_S:.0f} s")
        time.sleep(_LOOK_S)

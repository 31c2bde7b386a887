"""Run further processes beside the stack, on its servers, and prepare the databases that they use."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import httpx2
import psycopg

from benchmarks.bare_route import TABLE
from turnloom.models.errors import Unavailable
from turnloom.workers.broker.command_lines import web_command
from turnloom.workers.embedded.process import Process, Program
from turnloom.workers.embedded.servers import DATABASE, free_port
from turnloom.workers.embedded.stack import Stack

_HOST = "127.0.0.1"
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 20.0


@contextmanager
def bare_route(stack: Stack) -> Iterator[tuple[str, Process]]:
    """Serve the bare route as our own API is served, and yield its URL and its process."""
    with psycopg.connect(stack.servers.owner_url) as db:
        db.execute(TABLE)
    port = free_port()
    url = f"http://{_HOST}:{port}/"
    ours = web_command(bind=f"{_HOST}:{port}", processes=1)
    command = [part.replace("turnloom.web.app:", "benchmarks.bare_route:") for part in ours]
    with running(stack, {"bare-web": command}, {"DATABASE_URL": stack.servers.owner_url}) as processes:
        process = processes["bare-web"]
        process.wait_until(lambda: _answers(url), timeout_s=_START_TIMEOUT_S)
        yield url, process


@contextmanager
def running(
    stack: Stack, commands: Mapping[str, Sequence[str]], environment: Mapping[str, str]
) -> Iterator[dict[str, Process]]:
    """Run commands with the stack's settings and the given ones."""
    home = stack.servers.home
    settings = {**stack.environment, **environment}
    processes = {
        name: Process(Program(name=name, command=command, environment=settings), records=home.records, logs=home.logs)
        for name, command in commands.items()
    }
    try:
        for process in processes.values():
            process.start()
        yield processes
    finally:
        stop(processes.values())


@contextmanager
def without_workers(stack: Stack) -> Iterator[None]:
    """Stop the stack's workers while the block runs, so that others do the work."""
    workers = [process for name, process in stack.processes.items() if name.startswith("worker-")]
    stop(workers)
    try:
        yield
    finally:
        for process in workers:
            process.start()


def stop(processes: Iterable[Process]) -> None:
    """Let processes finish their work, and end them."""
    ending = list(processes)
    for process in ending:
        process.ask_to_stop()
    for process in ending:
        process.stop(_STOP_TIMEOUT_S)


def analyze(stack: Stack, database: str) -> None:
    """Gather the statistics of a database's tables, as autovacuum does later. Without them, queries read more rows."""
    with psycopg.connect(superuser_url(stack, database), autocommit=True) as db:
        db.execute("ANALYZE")


def superuser_url(stack: Stack, database: str = DATABASE) -> str:
    """Return the URL of a database on the stack's Postgres for the superuser."""
    return f"{stack.postgres.url.rpartition('/')[0]}/{database}"


def _answers(url: str) -> None:
    try:
        httpx2.get(url)
    except httpx2.HTTPError as error:
        raise Unavailable(f"{url} does not answer: {error}") from error


def turnloom(stack: Stack, *arguments: str, given: str = "") -> str:
    """Run a command of ours on the stack, with `given` as its input, and return what it prints."""
    command = [sys.executable, "-m", "turnloom.workers.cli", *arguments]
    environment = {**os.environ, **stack.environment}
    done = subprocess.run(command, env=environment, input=given, stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout

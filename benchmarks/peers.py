"""The baselines as running processes, beside the stack and on its servers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import httpx2
import psycopg
from celery import Celery
from redis import Redis

from benchmarks.bare_celery import DONE
from benchmarks.bare_route import TABLE
from benchmarks.measuring import paused
from models.errors import Unavailable
from workers.commands import PLANNING_QUEUES, web_command, worker_command
from workers.embedded import Stack
from workers.embedded.process import Process, Program
from workers.embedded.servers import free_port

_HOST = "127.0.0.1"
_START_TIMEOUT_S = 30.0
_DRAIN_TIMEOUT_S = 120.0
_POLL_S = 0.005


@contextmanager
def bare_route(stack: Stack) -> Iterator[tuple[str, Process]]:
    """Serve the bare route as our own door is served; yield its URL and its process."""
    with psycopg.connect(stack.servers.owner_url) as db:
        db.execute(TABLE)
    port = free_port()
    url = f"http://{_HOST}:{port}/"
    command = _instead(web_command(host=_HOST, port=port, processes=1), "web.app:", "benchmarks.bare_route:")
    with _running(stack, {"bare-web": command}, {"DATABASE_URL": stack.servers.owner_url}) as processes:
        process = processes["bare-web"]
        process.wait_until(lambda: _answers(url), timeout_s=_START_TIMEOUT_S)
        yield url, process


class BareCelery:
    """Hand-written waves: one process that starts plans, and as many for their steps as the stack has."""

    def __init__(self, processes: Mapping[str, Process], redis_url: str) -> None:
        self.processes = processes
        self._app = Celery("publisher", broker=redis_url)
        self._redis = Redis.from_url(redis_url)
        self._redis.delete(DONE)

    def drain(self, plans: int, widths: Sequence[int]) -> float:
        """Let a backlog pile up, then work it off; return the seconds that this took."""
        goal = self._done() + plans
        with paused(self.processes["bare-plan"]):
            self._send(plans, widths)
        return self._wait(goal)

    def warm_up(self) -> None:
        """Run a few plans, and so wait until the processes are there."""
        self._send(20, [4])
        self._wait(20)

    def close(self) -> None:
        """Close the connections."""
        self._app.close()
        self._redis.close()

    def _send(self, plans: int, widths: Sequence[int]) -> None:
        for _ in range(plans):
            self._app.send_task("wave", (list(widths),), queue="plan", ignore_result=True)

    def _wait(self, goal: int) -> float:
        began = time.perf_counter()
        while self._done() < goal:
            if (waited_s := time.perf_counter() - began) > _DRAIN_TIMEOUT_S:
                raise RuntimeError(f"{self._done()} of {goal} bare plans came to their end in {waited_s:.0f} s")
            time.sleep(_POLL_S)
        return time.perf_counter() - began

    def _done(self) -> int:
        return int(self._redis.get(DONE) or 0)


@contextmanager
def bare_celery(stack: Stack) -> Iterator[BareCelery]:
    """Run hand-written Celery waves with the stack's pools and number of processes."""
    url = f"{stack.redis_url.rpartition('/')[0]}/1"
    workers: dict[str, tuple[str, ...]] = {"bare-plan": PLANNING_QUEUES}
    workers |= {f"bare-io-{number}": ("tools.io",) for number in range(1, stack.options.tool_workers + 1)}
    commands = {
        name: _instead(
            worker_command(queues, name=name, pool="threads", concurrency=16), "workers.app", "benchmarks.bare_celery"
        )
        for name, queues in workers.items()
    }
    with _running(stack, commands, {"REDIS_URL": url}) as processes:
        peer = BareCelery(processes, url)
        try:
            peer.warm_up()
            yield peer
        finally:
            peer.close()


@contextmanager
def _running(
    stack: Stack, commands: Mapping[str, Sequence[str]], environment: Mapping[str, str]
) -> Iterator[dict[str, Process]]:
    home = stack.servers.home
    settings = {**stack.environment, **environment}
    processes = {
        name: Process(
            Program(name=name, command=command, environment=settings), records=home.records, logs=home.logs
        )
        for name, command in commands.items()
    }
    try:
        for process in processes.values():
            process.start()
        yield processes
    finally:
        for process in processes.values():
            process.ask_to_stop()
        for process in processes.values():
            process.stop(timeout_s=10)


def _instead(command: Sequence[str], ours: str, bare: str) -> list[str]:
    """Return our own command line with the baseline's application in it."""
    return [part.replace(ours, bare) for part in command]


def _answers(url: str) -> None:
    try:
        httpx2.get(url)
    except httpx2.HTTPError as error:
        raise Unavailable(f"{url} does not answer: {error}") from error

"""Break one part of a stack for a drill, and repair it unless it repairs itself."""

import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx2
import psycopg
import pytest
from redis import Redis
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from tests.chaos.drills import LONG, Disturbance, Ground
from tests.facts import wait_for
from turnloom.models.contracts.fault_file import read_fault_file
from turnloom.models.schema.roles import APPLICATION_ROLE
from turnloom.workers.embedded.servers import EmbeddedServer

AWAY_S = 10.0 if LONG else 2.0
"""The time for which a stopped server stays down."""

Action = Callable[[Ground, random.Random], object]
"""A function that breaks something, and returns when that is repaired or repairs itself."""


def once(action: Action, after_s: float = 0.5) -> Disturbance:
    """Return a disturbance that does one thing after a while."""

    def disturb(ground: Ground, rng: random.Random, stopping: threading.Event) -> None:
        stopping.wait(after_s)
        action(ground, rng)

    return disturb


def again(every_s: tuple[float, float], *actions: Action) -> Disturbance:
    """Return a disturbance that does one of these things at random, at random intervals between the two bounds."""

    def disturb(ground: Ground, rng: random.Random, stopping: threading.Event) -> None:
        while not stopping.wait(rng.uniform(*every_s)):
            rng.choice(actions)(ground, rng)

    return disturb


def by_file(text: str) -> Disturbance:
    """Return a disturbance in which processes die, and messages come twice, as a fault file says."""
    file = read_fault_file(text)

    def disturb(ground: Ground, _: random.Random, stopping: threading.Event) -> None:
        with ground.stack.inject(file):
            stopping.wait()

    return disturb


def kill_worker(ground: Ground, rng: random.Random) -> None:
    """Kill a worker, with its children."""
    ground.stack.processes[rng.choice(_workers(ground))].kill()


def stop_worker(ground: Ground, rng: random.Random) -> None:
    """Ask a worker to finish its work and end, as a deployment does."""
    if pid := ground.stack.processes[rng.choice(_workers(ground))].pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def kill_web(ground: Ground, rng: random.Random) -> None:
    """Kill the API after it has worked for a while, whatever it is doing."""
    _let_web_work(ground, rng)
    ground.stack.processes["web"].kill()


def kill_web_before_it_sends(ground: Ground, rng: random.Random) -> None:
    """Let the API work for a while, then die at the next message between its commit and the queue."""
    _let_web_work(ground, rng)
    ground.crash_at.write_text("turn.opened\n")


def flush(ground: Ground, _: random.Random) -> None:
    """Remove everything from Redis: queues and chord counters."""
    with Redis.from_url(ground.stack.redis_url) as client:
        client.flushall()


def stop_redis(ground: Ground, _: random.Random) -> None:
    """Stop the broker for a while."""
    _take_away(ground.stack.redis)


def stop_postgres(ground: Ground, _: random.Random) -> None:
    """Stop Postgres for a while."""
    _take_away(ground.stack.postgres)


def crash_postgres(ground: Ground, _: random.Random) -> None:
    """Kill all processes of Postgres at the same moment. The part of its log that was not yet written is lost."""
    postmaster = ground.stack.postgres.process.pid
    assert postmaster
    os.kill(postmaster, signal.SIGSTOP)  # it neither starts children nor notices their deaths
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    for pid in [*map(int, children), postmaster]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: _answers(ground), 60)


def refuse_connections(ground: Ground, _: random.Random) -> None:
    """Make Postgres refuse the application's connections: existing ones end, and few new ones begin."""
    with closing(ground.admin()) as db:
        db.execute(f"ALTER ROLE {APPLICATION_ROLE} CONNECTION LIMIT 2")
        try:
            db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [APPLICATION_ROLE])
            threading.Event().wait(AWAY_S)
        finally:
            db.execute(f"ALTER ROLE {APPLICATION_ROLE} CONNECTION LIMIT -1")


@contextmanager
def small_disk(ground: Ground, folder: Path) -> Iterator[Action]:
    """Move the ledger to a disk of its own. Yield an action that fills that disk for a while.

    Skips the test if no file system may be mounted.
    """
    folder.mkdir()
    with ground.admin() as db:
        used = db.execute("SELECT pg_database_size(current_database()) / 1048576").fetchone()
    assert used
    size = f"size={used[0] + 24}m,mode=0755"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("the test mounts a small disk, which only root may do")
    try:
        volume = folder / "tablespace"
        volume.mkdir()
        owner = (ground.stack.servers.home.path / "postgres").stat()
        os.chown(volume, owner.st_uid, owner.st_gid)
        with closing(ground.admin()) as db:
            db.execute(f"CREATE TABLESPACE small LOCATION '{volume}'")
            _move(db, "pg_default", "small")
            yield lambda *_: _fill(folder / "ballast")
            _move(db, "small", "pg_default")
            db.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _workers(ground: Ground) -> list[str]:
    return [name for name in ground.stack.processes if name.startswith("worker")]


def _take_away(server: EmbeddedServer) -> None:
    server.stop()
    threading.Event().wait(AWAY_S)
    server.start()


def _let_web_work(ground: Ground, rng: random.Random) -> None:
    wait_for(lambda: _is_up(ground), 60)
    threading.Event().wait(rng.uniform(0.3, 0.8))


def _is_up(ground: Ground) -> bool:
    try:
        return ground.api.get("/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def _answers(ground: Ground) -> bool:
    try:
        with ground.admin() as db:
            return db.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


@retry(retry=retry_if_exception_type(psycopg.errors.DeadlockDetected), stop=stop_after_attempt(20), reraise=True)
def _move(db: psycopg.Connection, source: str, target: str) -> None:
    """Move all tables at once. This locks each of them, while others lock them in another order, so it may deadlock."""
    db.execute(f"ALTER TABLE ALL IN TABLESPACE {source} SET TABLESPACE {target}")
    db.execute(f"ALTER INDEX ALL IN TABLESPACE {source} SET TABLESPACE {target}")


def _fill(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65_536))
    threading.Event().wait(AWAY_S)
    ballast.unlink()

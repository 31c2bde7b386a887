"""The command lines of our processes are the same in production and in the embedded stack."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import Placement

PLANNING_QUEUES = ("plan", "respond", "deliver", "maintenance")
_CLIENTS_PER_PROCESS = 4_000
_GRACE_S = 5


def queues_of_threads(planners: int, tool_workers: int, placement: Placement) -> dict[str, Sequence[str]]:
    """Return the queues of each worker with threads, by its name: some plan and answer, others run tools.

    With the placement `dense` all workers serve all queues: the planner of a turn also runs its tools, which saves a
    message.
    """
    served: dict[str, Sequence[str]] = {"plan": PLANNING_QUEUES}
    served |= {f"plan-{number}": PLANNING_QUEUES for number in range(2, planners + 1)}
    served |= {f"io-{number}": ("tools.io",) for number in range(1, tool_workers + 1)}
    return dict.fromkeys(served, (*PLANNING_QUEUES, "tools.io")) if placement == "dense" else served


def web_command(*, bind: str, processes: int) -> list[str]:
    """Return the command that serves HTTP by gunicorn, with gevent: an open event stream must not hold a thread.

    `bind`: `HOST:PORT`, or `fd://NUMBER` of an open socket. A socket from systemd replaces it. The grace period is
    short, because streams do not end by themselves; their readers reconnect and resume.
    """
    return [
        *(sys.executable, "-m", "gunicorn", "turnloom.web.app:create_app()"),
        *("--config", "python:turnloom.web.gunicorn_conf"),
        *("--bind", bind),
        *("--workers", str(processes)),
        *("--worker-class", "turnloom.web.gunicorn_worker.Worker"),
        *("--worker-connections", str(_CLIENTS_PER_PROCESS)),
        *("--graceful-timeout", str(_GRACE_S)),
        *("--keep-alive", "75"),  # a connection may carry several requests; TURNLOOM_API_IDLE_TIMEOUT_S bounds the time
        "--no-control-socket",
    ]


def worker_command(queues: Sequence[str], *, name: str, pool: str, concurrency: int) -> list[str]:
    """Return the command that runs tasks of these queues. Recovery and the ledger watch workers; workers do not."""
    return [
        *(sys.executable, "-m", "turnloom.workers.broker.celery_program", "turnloom.workers.broker.app", "worker"),
        *("--queues", ",".join(queues)),
        *("--pool", pool),
        *("--concurrency", str(concurrency)),
        *("--hostname", f"{name}@%h"),
        *("--loglevel", "WARNING"),
        *("--without-gossip", "--without-mingle"),
    ]


def beat_command() -> list[str]:
    """Return the command that sends the periodic tasks. The schedule is in the code, so it needs no file."""
    return [
        *(sys.executable, "-m", "turnloom.workers.broker.celery_program", "turnloom.workers.broker.beat", "beat"),
        *("--scheduler", "turnloom.workers.broker.beat:Scheduler"),
        *("--loglevel", "WARNING"),
    ]


def flower_command(*, host: str, port: int) -> list[str]:
    """Return the command that shows queues, workers and tasks, read-only: the ledger decides about steps, not a click.

    Raises:
        Unavailable: Flower is not installed.
    """
    if find_spec("flower") is None:
        raise Unavailable("Flower is not installed: install it with `pip install 'turnloom[flower]'`")
    return [
        *(sys.executable, "-m", "celery", "-A", "turnloom.workers.broker.app", "flower"),
        f"--address={host}",
        f"--port={port}",
        "--read_only",
    ]

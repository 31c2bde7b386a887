"""Count the round trips to Postgres and the commands to Redis of a piece of work."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from turnloom.models.connections.redis import redis

Counter = Callable[[], int]


@contextmanager
def counting_round_trips(folder: Path) -> Iterator[Counter]:
    """Count the round trips of connections that this process opens meanwhile, from libpq's trace.

    Skips the test if libpq has no trace.
    """
    if sys.platform != "linux":
        pytest.skip("psycopg traces libpq on Linux only")
    traced: list[Path] = []
    connect = psycopg.connect

    def connect_traced(*args: Any, **kwargs: Any) -> psycopg.Connection:
        connection = connect(*args, **kwargs)
        traced.append(folder / f"trace-{len(traced)}")
        connection.pgconn.trace(os.open(traced[-1], os.O_WRONLY | os.O_CREAT))  # libpq closes the file
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg, "connect", connect_traced)
        yield lambda: sum(path.read_text().count("ReadyForQuery") for path in traced)


def redis_commands() -> dict[str, int]:
    """Return the number of commands of each kind that the server has received."""
    told: dict[str, dict[str, int]] = redis().info("commandstats")  # type: ignore[assignment]
    return {name.removeprefix("cmdstat_"): each["calls"] for name, each in told.items()}

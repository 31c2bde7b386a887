"""The stack that is measured, and helpers that run, check and pause it."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from benchmarks.progress import progress
from turnloom.workers.embedded.process import Process
from turnloom.workers.embedded.stack import Stack, StackOptions

_QUIET_TIMEOUT_S = 120.0
_POLL_S = 0.05
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_FAILED = "SELECT error FROM turns WHERE status <> 'succeeded' AND finished_at IS NOT NULL AND created_at >= %s"
OFFLINE = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
"""Settings for the offline model, whatever this machine has."""


@contextmanager
def stack(settings: Mapping[str, str] = OFFLINE) -> Iterator[Stack]:
    """Run the embedded stack on a new data directory, which is removed at the end. By default it has the offline model.

    A directory is given because Postgres waits for the disk at a commit only if its data is to be kept.
    """
    progress("starting the stack")
    with (
        tempfile.TemporaryDirectory(prefix="turnloom-bench-") as folder,
        Stack(StackOptions(data_dir=Path(folder), port=0, settings=settings)) as started,
    ):
        yield started
        progress("stopping the stack")


def refuse_failures(of: Stack, since: datetime = _EVER) -> None:
    """Make sure that all measured turns succeeded: those that were received from then on.

    Raises:
        RuntimeError: a turn has failed.
    """
    with psycopg.connect(of.database_url) as ledger:
        failed = ledger.execute(_FAILED, (since,))
        if (first := failed.fetchone()) is not None:
            raise RuntimeError(f"{failed.rowcount} turns failed, one of them with {first[0]}")


def finished_turns(of: Stack) -> int:
    """Wait until all turns have finished, and return how many there are.

    Raises:
        RuntimeError: that takes too long.
    """
    deadline = time.monotonic() + _QUIET_TIMEOUT_S
    with psycopg.connect(of.database_url, autocommit=True) as ledger:
        while ledger.execute("SELECT 1 FROM turns WHERE finished_at IS NULL LIMIT 1").fetchone():
            if time.monotonic() > deadline:
                raise RuntimeError(f"there are unfinished turns after {_QUIET_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_S)
        row = ledger.execute("SELECT count(*) FROM turns").fetchone()
        assert row
        return int(row[0])


@contextmanager
def paused(process: Process) -> Iterator[None]:
    """Freeze a process while the block runs. Messages sent to it pile up."""
    assert process.pid, f"{process.name} does not run"
    process.is_watched = False
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)
        process.is_watched = True

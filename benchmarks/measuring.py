"""Measure and print spreads over rounds, tables and CPU by process group, and run the measured stack."""

import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg

from turnloom.workers.embedded import Stack, StackOptions
from turnloom.workers.embedded.process import Process

_BEGAN = time.monotonic()
_QUIET_TIMEOUT_S = 120.0
_POLL_S = 0.05
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Spread:
    """The results of several rounds of one measurement."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of at least one value."""
        return cls(min(values), statistics.median(values), max(values))

    def __str__(self) -> str:
        if self.low == self.high:
            return _figure(self.median)
        return f"{_figure(self.median)} ({_figure(self.low)}-{_figure(self.high)})"


Row = Mapping[str, str | int | Spread]


@dataclass(frozen=True)
class Table:
    """The result of a benchmark: rows with the same columns, and its targets."""

    title: str
    rows: Sequence[Row]
    note: str = ""
    targets: Sequence[Row] = ()

    def markdown(self) -> str:
        """Return the table as a page shows it: median (lowest-highest)."""
        parts = [f"### {self.title}", _markdown(self.rows), self.note, _markdown(self.targets)]
        return "\n\n".join(part for part in parts if part) + "\n"


def at_most(limit: float, what: str, measured: Spread) -> Row:
    """Return the row of a target that is reached if the median is not above the limit."""
    return _target(f"≤ {limit:g}", what, measured, reached=measured.median <= limit)


def at_least(limit: float, what: str, measured: Spread) -> Row:
    """Return the row of a target that is reached if the median is not below the limit."""
    return _target(f"≥ {limit:g}", what, measured, reached=measured.median >= limit)


def progress(text: str) -> None:
    """Print progress on stderr."""
    print(f"{time.monotonic() - _BEGAN:6.1f} s  {text}", file=sys.stderr, flush=True)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


_OFFLINE = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}


@contextmanager
def stack(settings: Mapping[str, str] = _OFFLINE) -> Iterator[Stack]:
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


def refuse_failures(of: Stack) -> None:
    """Make sure that all measured turns succeeded.

    Raises:
        RuntimeError: a turn has failed.
    """
    with psycopg.connect(of.database_url) as ledger:
        failed = ledger.execute("SELECT error FROM turns WHERE status <> 'succeeded' AND finished_at IS NOT NULL")
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


class HasPid(Protocol):
    """A process of any kind."""

    @property
    def pid(self) -> int | None:
        """The process id; None while the process does not run."""


class CpuMeter:
    """A meter of CPU time by process group, counting from when it is made. It reads /proc, so it needs Linux."""

    def __init__(self, groups: Mapping[str, Sequence[HasPid]]) -> None:
        self._groups = groups
        self._before = self._total()

    def used_s(self) -> dict[str, float]:
        """Return the seconds that each group has used since the meter was made."""
        return {group: after - self._before[group] for group, after in self._total().items()}

    def since_their_start_s(self) -> dict[str, float]:
        """Return the seconds that each group has used since its processes started."""
        return self._total()

    def _total(self) -> dict[str, float]:
        table = _process_table()
        return {
            group: sum(_tree_s(process.pid, table) for process in processes if process.pid)
            for group, processes in self._groups.items()
        }


def stack_groups(of: Stack) -> dict[str, list[Process]]:
    """Return the stack's processes by their purpose."""
    tools = [process for name, process in of.processes.items() if name.startswith(("worker-io", "worker-cpu"))]
    return {
        "web": [of.processes["web"]],
        "planner": [of.processes["worker-plan"]],
        "tools": tools,
        "beat": [of.processes["beat"]],
        "Postgres": [of.postgres.process],
        "Valkey": [of.redis.process],
    }


def _process_table() -> dict[int, tuple[int, float]]:
    """Return each process's parent and its CPU seconds, including those of children that have ended."""
    table = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        table[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / _TICKS_PER_S
    return table


def _tree_s(pid: int, table: Mapping[int, tuple[int, float]]) -> float:
    own = table[pid][1] if pid in table else 0.0
    return own + sum(_tree_s(child, table) for child, (parent, _) in table.items() if parent == pid)


def _target(wanted: str, what: str, measured: Spread, *, reached: bool) -> Row:
    return {"target": what, "wanted": wanted, "measured": measured, "reached": "yes" if reached else "**no**"}


def _markdown(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([str(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"

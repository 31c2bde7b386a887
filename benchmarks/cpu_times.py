"""CPU times of groups of processes, read from /proc, so on Linux only."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from turnloom.workers.embedded.process import Process
from turnloom.workers.embedded.stack import Stack

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


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
        table = process_table()
        return {
            group: sum(_tree_s(process.pid, table) for process in processes if process.pid)
            for group, processes in self._groups.items()
        }


def stack_groups(of: Stack) -> dict[str, list[Process]]:
    """Return the stack's processes by their purpose."""

    def named(*starts: str) -> list[Process]:
        return [process for name, process in of.processes.items() if name.startswith(starts)]

    return {
        "web": named("web"),
        "planner": named("worker-plan"),
        "tools": named("worker-io", "worker-cpu"),
        "beat": named("beat"),
        "Postgres": [of.postgres.process],
        "Valkey": [of.redis.process],
    }


def process_table() -> dict[int, tuple[int, float]]:
    """Return each process's parent and its CPU seconds, including those of children that have ended."""
    table = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has just ended
            continue
        table[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / _TICKS_PER_S
    return table


def _tree_s(pid: int, table: Mapping[int, tuple[int, float]]) -> float:
    own = table[pid][1] if pid in table else 0.0
    return own + sum(_tree_s(child, table) for child, (parent, _) in table.items() if parent == pid)

"""Memory of groups of processes, read from /proc, so on Linux only."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.cpu_times import HasPid, process_table

_PSS = "Pss:"
"""A process's share of its pages: one that several share counts in parts, so that a sum counts it once."""


def used_mb(groups: Mapping[str, Sequence[HasPid]]) -> dict[str, float]:
    """Return the megabytes that each group's processes and their children have."""
    parents = {pid: parent for pid, (parent, _) in process_table().items()}
    return {
        group: sum(_tree_kb(process.pid, parents) for process in processes if process.pid) / 1024
        for group, processes in groups.items()
    }


def _tree_kb(pid: int, parents: Mapping[int, int]) -> int:
    return _own_kb(pid) + sum(_tree_kb(child, parents) for child, parent in parents.items() if parent == pid)


def _own_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # the process has just ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(_PSS)), 0)

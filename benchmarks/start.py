"""Measure the cost of a stack that has no work: its start, and its rest.

In every round another stack starts on its own directory, while the first one rests. Then it rests as well.
"""

import resource
import time
from collections.abc import Mapping

from benchmarks.cpu_times import CpuMeter, HasPid, stack_groups
from benchmarks.figures import Row, Spread, Table, at_most
from benchmarks.progress import progress
from benchmarks.stack import stack
from turnloom.workers.embedded.stack import Stack

_READY_S = 6
_CPU_S = 11
_AT_REST_PERCENT = 2
_SETTLING_S = 5.0
"""The seconds after a process's start in which it makes its first queries and loads modules in the background."""
_OURSELVES = "up"
_ENDED = "initdb, migrate"


def run(_: Stack, short: bool) -> Table:
    """Start a stack in every round, and let it rest."""
    rounds = [_measure(15.0 if short else 30.0) for _ in range(1 if short else 3)]
    rows: list[Row] = [
        {
            "processes": kind,
            "CPU until it is ready, s": Spread.of([started[kind] for _, started, _ in rounds]),
            "at rest, % of a core": Spread.of([rested[kind] for _, _, rested in rounds]),
        }
        for kind in rounds[0][1]
    ]
    ready = Spread.of([seconds for seconds, _, _ in rounds])
    started = Spread.of([sum(each.values()) for _, each, _ in rounds])
    rested = Spread.of([sum(each.values()) for _, _, each in rounds])
    return Table(
        "start: a stack with one web server, one planner and three workers for tools",
        rows,
        targets=[
            at_most(_READY_S, "ready, s", ready),
            at_most(_CPU_S, "CPU until it is ready, s", started),
            at_most(_AT_REST_PERCENT, "at rest, % of a core", rested),
        ],
    )


def _measure(rest_s: float) -> tuple[float, dict[str, float], dict[str, float]]:
    """Return the seconds until a stack is ready, and by kind of process its CPU seconds until then and % at rest."""
    began, before, ended = time.monotonic(), time.process_time(), _ended_s()
    with stack() as started:
        ready_s = time.monotonic() - began
        groups: Mapping[str, list[HasPid]] = {name: [*found] for name, found in stack_groups(started).items()}
        used = CpuMeter(groups).since_their_start_s()
        used |= {_ENDED: _ended_s() - ended, _OURSELVES: time.process_time() - before}
        progress(f"start: ready after {ready_s:.1f} s and {sum(used.values()):.1f} s of CPU")
        time.sleep(_SETTLING_S)
        meter, before = CpuMeter(groups), time.process_time()
        time.sleep(rest_s)
        rested = meter.used_s() | {_ENDED: 0.0, _OURSELVES: time.process_time() - before}
    return ready_s, used, {kind: 100 * seconds / rest_s for kind, seconds in rested.items()}


def _ended_s() -> float:
    """Return the CPU seconds of our ended child processes."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime

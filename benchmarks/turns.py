"""What a whole turn costs, from the POST to its final answer: turns a second, latency, CPU by group of processes.

Tools take no time. `fan 4` and `mixed 12` bring their plans; `trip` is planned and answered by the offline model. The
baseline is hand-written Celery in the same minute: a chord for each wave of the same plan, no-op steps, no record, no
door; its CPU is that of its workers and Valkey. For `trip` it is the plan that the offline model writes.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.load import Load, drive
from benchmarks.measuring import CpuMeter, Row, Spread, Table, finished_turns, percentile, progress, stack_groups
from benchmarks.peers import BareCelery, bare_celery
from benchmarks.shapes import fan_out, mixed
from workers.embedded import Stack

_TRIP = "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights"


@dataclass(frozen=True)
class _Workload:
    name: str
    body: dict[str, Any]
    waves: Sequence[int]
    """How many steps each wave of the same plan has; the baseline's last body stands for the last step."""


_WORKLOADS = (
    _Workload("fan 4", {"message": "go", "agent": "generic", "plan": fan_out(4, [0]).plan}, [4]),
    _Workload(
        "mixed 12",
        {"message": "go", "agent": "generic", "plan": mixed().plan},
        [len(level) for level in mixed().levels[:-1]],
    ),
    _Workload("trip", {"message": _TRIP, "agent": "travel"}, [3]),
)
_TURNS = {1: 40, 32: 192, 256: 512}
"""Concurrent turns -> turns in a round."""
_TURNS_SHORT = {1: 10, 32: 64}


@dataclass(frozen=True)
class _Round:
    load: Load
    per_s: float
    cpu_ms: dict[str, float]
    """Per turn, by group."""
    bare_per_s: float
    bare_cpu_ms: float


def run(ours: Stack, short: bool) -> Table:
    """Measure every workload at every concurrency, the baseline beside each."""
    sizes, rounds = (_TURNS_SHORT, 1) if short else (_TURNS, 3)
    measured: dict[tuple[str, int], list[_Round]] = {}
    with bare_celery(ours) as celery:
        for workload in _WORKLOADS:
            _post(ours, workload, 32, 8)
        for number in range(rounds):
            for workload in _WORKLOADS:
                for concurrent, count in sizes.items():
                    done = _measure(ours, celery, workload, (concurrent, count))
                    measured.setdefault((workload.name, concurrent), []).append(done)
                    progress(f"{number + 1} of {rounds}: {workload.name} at {concurrent}: {done.per_s:.0f}/s")
    return Table("turns: POST to final", [_row(name, at, each) for (name, at), each in measured.items()])


def _measure(of: Stack, celery: BareCelery, workload: _Workload, size: tuple[int, int]) -> _Round:
    concurrent, count = size
    plans = max(50, count // 4)
    meter = CpuMeter({"bare": [*celery.processes.values(), of.redis.process]})
    bare_per_s = plans / celery.drain(plans, workload.waves)
    bare_cpu_ms = meter.used_s()["bare"] * 1000 / plans
    before = finished_turns(of)
    meter = CpuMeter(stack_groups(of))
    began = time.perf_counter()
    load = _post(of, workload, count, concurrent)
    # Not the answers are counted: a turn whose answer did not come in time, or was refused, may have been done.
    done = finished_turns(of) - before
    per_s = done / (time.perf_counter() - began)
    cpu_ms = {group: used * 1000 / done for group, used in meter.used_s().items()}
    return _Round(load, per_s, cpu_ms, bare_per_s, bare_cpu_ms)


def _post(of: Stack, workload: _Workload, count: int, concurrent: int) -> Load:
    """Post turns, each in a conversation of its own, and wait for the end of each."""
    bodies = [orjson.dumps(workload.body)] * count
    load = drive(f"{of.url}/v1/turns?wait=30", bodies, connections=concurrent, expected=200, key=of.dev_key)
    if not load.latencies_s:
        load.refuse_refusals()
    return load


def _row(name: str, concurrent: int, rounds: Sequence[_Round]) -> Row:
    def milliseconds(share: float) -> Spread:
        return Spread.of([percentile(each.load.latencies_s, share) * 1000 for each in rounds])

    totals = [sum(each.cpu_ms.values()) for each in rounds]
    engine = [total - each.cpu_ms["web"] for total, each in zip(totals, rounds, strict=True)]
    return {
        "turn": name,
        "at once": concurrent,
        "refused": sum(len(each.load.refusals) for each in rounds),
        "turns/s": Spread.of([each.per_s for each in rounds]),
        "turns/s ÷ bare": Spread.of([each.per_s / each.bare_per_s for each in rounds]),
        "p50 ms": milliseconds(0.5),
        "p95 ms": milliseconds(0.95),
        "CPU ms": Spread.of(totals),
        "without web": Spread.of(engine),
        "without web ÷ bare": Spread.of([own / each.bare_cpu_ms for own, each in zip(engine, rounds, strict=True)]),
        **{group: Spread.of([each.cpu_ms[group] for each in rounds]) for group in rounds[0].cpu_ms},
    }

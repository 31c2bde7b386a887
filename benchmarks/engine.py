"""What a whole turn costs and how many go through, beside what one would use instead.

Each system does the same: a plan as data, tools that take no time, an answer by a template, all of it durable, on the
same Postgres and Valkey. The peers have no door; so our turns are opened in the ledger and dispatched as the door does,
by one process, whose CPU is told apart (`feeder`). The door itself is measured by `ack`.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from benchmarks import systems
from benchmarks.drivers.orders import Order, Report
from benchmarks.measuring import CpuMeter, Row, Spread, Table, at_least, at_most, percentile, progress
from benchmarks.processes import without_workers
from benchmarks.shapes import Shape, fan_out, mixed
from benchmarks.systems import System
from workers.embedded import Stack

SPREAD, SINGLES, DENSE = "spread", "spread, canvas_max_steps 1", "dense"
WAVES, LANGGRAPH, DBOS = "hand-written Celery waves", "LangGraph", "DBOS"
PEERS_PYTHON = "TURNLOOM_BENCH_PEERS"
"""Names the interpreter of the environment that has the peers; without it they are left out."""

_FAN, _MIXED = "fan 4 + join", "mixed 12"
_SHAPES: Mapping[str, Shape] = {_FAN: fan_out(4, [0]), _MIXED: mixed()}
_SETTINGS = {
    SPREAD: {"TURNLOOM_PLACEMENT": "spread", "TURNLOOM_CANVAS_MAX_STEPS": "16"},
    SINGLES: {"TURNLOOM_PLACEMENT": "spread", "TURNLOOM_CANVAS_MAX_STEPS": "1"},
    DENSE: {"TURNLOOM_PLACEMENT": "dense"},
}
_LIBRARIES = {LANGGRAPH: "langgraph_postgres", DBOS: "dbos_steps"}
_WANTED: Sequence[tuple[str, str, Mapping[str, float], float | None]] = (
    (DENSE, LANGGRAPH, {_FAN: 0.65, _MIXED: 0.45}, 2.0),
    (DENSE, DBOS, {_FAN: 1.0, _MIXED: 1.0}, 4.0),
    (SPREAD, LANGGRAPH, {_FAN: 1.2, _MIXED: 1.2}, 0.9),
    (SPREAD, DBOS, {_FAN: 1.0, _MIXED: 1.0}, 2.0),
    (SPREAD, WAVES, {_FAN: 0.6, _MIXED: 0.5}, None),
)
"""Ours, beside whom, CPU at most, turns a second at least."""
_OVERHEAD = {LANGGRAPH: 2.0, DBOS: 1.0}
_TURNS = {1: 40, 32: 256, 256: 512}
"""Turns at once -> turns in a round."""
_TURNS_SHORT = {1: 10, 32: 64}
_WARM_UP = 64

Case = tuple[str, int]
"""A shape and how many turns at once."""


@dataclass(frozen=True)
class _Measured:
    report: Report
    cpu_ms: Mapping[str, float]
    """Per turn, by group."""

    @property
    def per_s(self) -> float:
        return len(self.report.latencies_s) / self.report.elapsed_s

    @property
    def cost_ms(self) -> float:
        """CPU of workers, Postgres and Valkey per turn."""
        return sum(used for group, used in self.cpu_ms.items() if group != "feeder")

    @property
    def p50_ms(self) -> float:
        return percentile(self.report.latencies_s, 0.5) * 1000


Figure = Callable[[_Measured], float]
Systems = Mapping[str, Sequence[_Measured]]
"""What the rounds gave, by system."""


def run(ours: Stack, short: bool) -> Table:
    """Measure every system in every round."""
    sizes, rounds = (_TURNS_SHORT, 1) if short else (_TURNS, 3)
    measured: dict[Case, dict[str, list[_Measured]]] = {}
    with without_workers(ours):
        for number in range(rounds):
            for name, start in _systems(ours, short).items():
                with start() as system:
                    for case, each in _measure(ours, system, sizes).items():
                        measured.setdefault(case, {}).setdefault(name, []).append(each)
                        progress(f"{number + 1} of {rounds}: {name}, {case}: {each.cost_ms:.1f} ms, {each.per_s:.0f}/s")
    rows = [_row(case, name, of) for case, of in measured.items() for name in of]
    left_out = "" if PEERS_PYTHON in os.environ else "LangGraph and DBOS are left out: `make bench PEERS=1`."
    return Table("engine: whole turns beside peers", rows, left_out, list(_targets(measured)))


def _systems(of: Stack, short: bool) -> dict[str, Callable[[], AbstractContextManager[System]]]:
    found: dict[str, Callable[[], AbstractContextManager[System]]] = {
        name: partial(systems.turnloom, of, settings)
        for name, settings in _SETTINGS.items()
        if not (short and name == SINGLES)
    }
    found[WAVES] = partial(systems.celery_waves, of)
    if python := os.environ.get(PEERS_PYTHON):
        found |= {name: partial(systems.library, of, driver, python) for name, driver in _LIBRARIES.items()}
    return found


def _measure(of: Stack, system: System, sizes: Mapping[int, int]) -> dict[Case, _Measured]:
    groups = {**system.groups, "Postgres": [of.postgres.process], "Valkey": [of.redis.process]}
    found = {}
    for shape in _SHAPES.values():
        system.run(Order(shape.needs, _WARM_UP, 32))
    for name, shape in _SHAPES.items():
        for at_once, turns in sizes.items():
            meter = CpuMeter(groups)
            report = system.run(Order(shape.needs, turns, at_once))
            cpu_ms = {group: used * 1000 / turns for group, used in meter.used_s().items()}
            found[name, at_once] = _Measured(report, cpu_ms)
    return found


def _targets(measured: Mapping[Case, Systems]) -> Iterator[Row]:
    """Yield what is to be reached, as far as its peers were there."""
    for (shape, at_once), of in measured.items():
        for name, peer, costs, rate in _WANTED:
            if peer not in of:
                continue
            between = f"{shape}, {at_once} at once: {name} ÷ {peer}"
            if at_once == 1 and shape == _FAN and peer in _OVERHEAD:
                ratio = _ratio(of, name, peer, lambda each: each.p50_ms)
                yield at_most(_OVERHEAD[peer], f"time, {between}", ratio)
            if at_once == 32:
                yield at_most(costs[shape], f"CPU, {between}", _ratio(of, name, peer, lambda each: each.cost_ms))
            if at_once > 1 and rate:
                yield at_least(rate, f"turns/s, {between}", _ratio(of, name, peer, lambda each: each.per_s))


def _ratio(of: Systems, name: str, peer: str, figure: Figure) -> Spread:
    return Spread.of([figure(own) / figure(its) for own, its in zip(of[name], of[peer], strict=True)])


def _row(case: Case, name: str, of: Systems) -> Row:
    def ratios(unit: str, peers: Sequence[str], figure: Figure) -> dict[str, Spread]:
        return {f"{unit} ÷ {peer}": _ratio(of, name, peer, figure) for peer in peers if peer in of}

    rounds = of[name]
    return {
        "turn": case[0],
        "at once": case[1],
        "system": name,
        "CPU ms": Spread.of([each.cost_ms for each in rounds]),
        **ratios("CPU", (LANGGRAPH, DBOS, WAVES), lambda each: each.cost_ms),
        "turns/s": Spread.of([each.per_s for each in rounds]),
        **ratios("turns/s", (LANGGRAPH, DBOS), lambda each: each.per_s),
        "p50 ms": Spread.of([each.p50_ms for each in rounds]),
        **{
            f"CPU ms: {group}": Spread.of([each.cpu_ms.get(group, 0.0) for each in rounds])
            for group in ("planner", "tools", "Postgres", "Valkey", "feeder")
        },
    }

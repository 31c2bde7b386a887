"""Measure the cost of the engine alone, without API and language model, to profile it and to compare two versions.

Plans are given as data, tools take no time, and a template makes the reply. One process opens turns in the ledger and
dispatches them as the API does. Its CPU is shown separately (`feeder`) and not counted. `road` measures what a client
sees.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import systems
from benchmarks.cpu_times import CpuMeter
from benchmarks.drivers.orders import Order, Report
from benchmarks.figures import Row, Spread, Table, percentile
from benchmarks.processes import without_workers
from benchmarks.progress import progress
from benchmarks.shapes import Shape, fan_out, mixed
from benchmarks.systems import System
from turnloom.workers.embedded.stack import Stack

_SHAPES: Mapping[str, Shape] = {"fan 4 + join": fan_out(4, [0]), "mixed 12": mixed()}
_SETTINGS = {
    "spread": {"TURNLOOM_PLACEMENT": "spread", "TURNLOOM_CANVAS_MAX_STEPS": "16"},
    "spread, canvas_max_steps 1": {"TURNLOOM_PLACEMENT": "spread", "TURNLOOM_CANVAS_MAX_STEPS": "1"},
    "dense": {"TURNLOOM_PLACEMENT": "dense"},
}
_TURNS = {1: 40, 32: 256, 256: 512}
"""Turns at a time -> turns in a round."""
_TURNS_SHORT = {1: 10, 32: 64}
_WARM_UP = 64

Case = tuple[str, int]
"""A shape and the number of turns at a time."""


@dataclass(frozen=True)
class _Measured:
    report: Report
    cpu_ms: Mapping[str, float]
    """CPU per turn, by group of processes."""

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


def run(ours: Stack, short: bool) -> Table:
    """Measure every setting in every round."""
    sizes, rounds = (_TURNS_SHORT, 1) if short else (_TURNS, 3)
    measured: dict[tuple[Case, str], list[_Measured]] = {}
    with without_workers(ours):
        for number in range(rounds):
            for name, settings in _SETTINGS.items():
                with systems.turnloom(ours, settings) as system:
                    for case, each in _measure(ours, system, sizes).items():
                        measured.setdefault((case, name), []).append(each)
                        progress(f"{number + 1} of {rounds}: {name}, {case}: {each.cost_ms:.1f} ms, {each.per_s:.0f}/s")
    cases = dict.fromkeys(case for case, _ in measured)
    rows = [_row(case, name, measured[case, name]) for case in cases for name in _SETTINGS]
    return Table("engine: turns without the API and a language model", rows)


def _measure(of: Stack, system: System, sizes: Mapping[int, int]) -> dict[Case, _Measured]:
    groups = {**system.groups, "Postgres": [of.postgres.process], "Valkey": [of.redis.process]}
    found = {}
    for shape in _SHAPES.values():
        system.driver.run(Order(shape.needs, _WARM_UP, 32))
    for name, shape in _SHAPES.items():
        for at_once, turns in sizes.items():
            meter = CpuMeter(groups)
            report = system.driver.run(Order(shape.needs, turns, at_once))
            cpu_ms = {group: used * 1000 / turns for group, used in meter.used_s().items()}
            found[name, at_once] = _Measured(report, cpu_ms)
    return found


def _row(case: Case, name: str, rounds: list[_Measured]) -> Row:
    return {
        "turn": case[0],
        "at once": case[1],
        "setting": name,
        "CPU ms": Spread.of([each.cost_ms for each in rounds]),
        "turns/s": Spread.of([each.per_s for each in rounds]),
        "p50 ms": Spread.of([each.p50_ms for each in rounds]),
        **{
            f"CPU ms: {group}": Spread.of([each.cpu_ms[group] for each in rounds])
            for group in ("planner", "tools", "Postgres", "Valkey", "feeder")
        },
    }

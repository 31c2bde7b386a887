"""Measure whether a turn stays cheap with more steps, in a fuller ledger and in a longer conversation.

Each round measures all sizes one after another, so that the ratios are of the same minute. CPU is that of the workers,
Postgres and Valkey.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import orjson

from benchmarks.cpu_times import CpuMeter, stack_groups
from benchmarks.figures import Row, Spread, Table, at_most, percentile
from benchmarks.full_ledger import fill
from benchmarks.load import drive
from benchmarks.processes import superuser_url
from benchmarks.progress import progress
from benchmarks.shapes import Shape, chain, fan_out, random_plan
from benchmarks.stack import refuse_failures, stack
from turnloom.models.runtime.ids import new_id
from turnloom.workers.embedded.stack import Stack

_AT_ONCE = 4
_FAN = fan_out(4, [0])
_TURNS_IN_A_ROUND = 12
_STEPS = (10, 1, 100, 200)
"""The sizes; the others are compared with the first. That is not one step, whose cost is mostly the turn itself."""
_STORED = (10**2, 10**4, 10**6)
_STORED_SHORT = (10**2, 10**4)
_LENGTHS = (10, 200)
_LENGTHS_SHORT = (10, 40)
_FLAT = 1.15
"""The ratio that counts as flat. Repeated measurements differ by as much."""
_NOTE = (
    f"A conversation has the length that is named when it is first measured; each round adds {_TURNS_IN_A_ROUND} turns."
)


@dataclass(frozen=True)
class _Figure:
    kind: str
    size: int
    ms: Spread
    """Median milliseconds of a turn or a step."""
    cpu_ms: Spread
    """Milliseconds of CPU of a turn or a step."""
    ms_ratio: Spread
    """Ratio to the first size, round by round."""
    cpu_ratio: Spread


_Measure = Callable[[], tuple[float, float]]
"""A function that returns the median milliseconds of a turn or a step, and those of its CPU."""


def run(ours: Stack, short: bool) -> Table:
    """Let one dimension grow at a time."""
    rounds = 1 if short else 5
    _fans(ours)
    groups = [
        _by_steps(ours, rounds),
        _by_conversation(ours, _LENGTHS_SHORT if short else _LENGTHS, rounds),
        _by_stored_turns(_STORED_SHORT if short else _STORED, rounds),
    ]
    rows = [_row(figure) for group in groups for figure in group]
    targets = [_flat(group) for group in groups]
    return Table("growth: what a turn costs, grown", rows, note=_NOTE, targets=targets)


def _by_steps(of: Stack, rounds: int) -> list[_Figure]:
    return _compared("a step of a plan of", {steps: partial(_steps, of, steps) for steps in _STEPS}, rounds)


def _steps(of: Stack, steps: int) -> tuple[float, float]:
    ms, cpu_ms = _drive(of, [_body(random_plan(1, steps, 0))] * max(_AT_ONCE, 200 // steps))
    return ms / steps, cpu_ms / steps


def _by_conversation(of: Stack, lengths: Sequence[int], rounds: int) -> list[_Figure]:
    """Give each connection its own conversation, whose turns come one after another."""
    lengthened = {length: _conversations(of, length) for length in lengths}
    measures = {length: partial(_turns_of, of, names) for length, names in lengthened.items()}
    return _compared("a turn of a conversation of", measures, rounds)


def _conversations(of: Stack, length: int) -> list[str]:
    names = [str(new_id()) for _ in range(_AT_ONCE)]
    for _ in range(length):
        _drive(of, _once_each(names))
    return names


def _turns_of(of: Stack, names: Sequence[str]) -> tuple[float, float]:
    ms, cpu_ms = zip(*(_drive(of, _once_each(names)) for _ in range(_TURNS_IN_A_ROUND)), strict=True)
    return fmean(ms), fmean(cpu_ms)


def _by_stored_turns(sizes: Sequence[int], rounds: int) -> list[_Figure]:
    """Use one stack with a small ledger and one that is filled, as a ledger cannot be emptied between rounds."""
    first, *grown = sizes
    with stack() as small, stack() as filled:
        _fill(small, first)
        figures: list[_Figure] = []
        for size in grown:
            _fill(filled, size)
            measures = {first: partial(_fans, small), size: partial(_fans, filled)}
            figures += _compared("a turn, turns stored:", measures, rounds)[1 if figures else 0 :]
        for each in (small, filled):
            refuse_failures(each)
        return figures


def _fill(of: Stack, turns: int) -> None:
    _fans(of)
    # Run one turn in its own conversation, to copy it.
    _drive(of, [_body(chain(1, 0))])
    fill(superuser_url(of), turns)
    progress(f"growth: {turns:,} turns are stored")


def _fans(of: Stack) -> tuple[float, float]:
    return _drive(of, [_body(_FAN)] * 64)


def _compared(kind: str, measures: Mapping[int, _Measure], rounds: int) -> list[_Figure]:
    """Measure all sizes in each round. The others are compared with the first."""
    measured: dict[int, list[tuple[float, float]]] = {size: [] for size in measures}
    for number in range(rounds):
        for size, measure in measures.items():
            measured[size].append(measure())
        progress(f"growth: {kind} {', '.join(map(str, measures))}: round {number + 1} of {rounds}")
    return [_figure(kind, size, values, measured[next(iter(measures))]) for size, values in measured.items()]


def _figure(
    kind: str, size: int, measured: Sequence[tuple[float, float]], first: Sequence[tuple[float, float]]
) -> _Figure:
    (ms, cpu_ms), (first_ms, first_cpu_ms) = zip(*measured, strict=True), zip(*first, strict=True)
    return _Figure(kind, size, Spread.of(ms), Spread.of(cpu_ms), _ratios(ms, first_ms), _ratios(cpu_ms, first_cpu_ms))


def _ratios(values: Iterable[float], first: Iterable[float]) -> Spread:
    return Spread.of([value / one for value, one in zip(values, first, strict=True)])


def _once_each(conversations: Iterable[str]) -> list[bytes]:
    return [_body(chain(1, 0), conversation_id=name) for name in conversations]


def _body(shape: Shape, **fields: Any) -> bytes:
    return orjson.dumps({"message": "go", "agent": "generic", "plan": shape.plan, **fields})


def _drive(of: Stack, bodies: Sequence[bytes]) -> tuple[float, float]:
    """Return the median milliseconds of a turn, and those of its CPU."""
    groups = stack_groups(of)
    meter = CpuMeter({name: groups[name] for name in ("planner", "tools", "Postgres", "Valkey")})
    load = drive(f"{of.url}/v1/turns?wait=30", bodies, connections=_AT_ONCE, expected=200, key=of.dev_key)
    load.refuse_refusals()
    return percentile(load.latencies_s, 0.5) * 1000, sum(meter.used_s().values()) * 1000 / len(bodies)


def _flat(group: Sequence[_Figure]) -> Row:
    first, last = group[0], group[-1]
    return at_most(_FLAT, f"CPU of {last.kind} {last.size:,} ÷ {first.size:,}", last.cpu_ratio)


def _row(figure: _Figure) -> Row:
    return {
        "what": f"{figure.kind} {figure.size:,}",
        "ms": figure.ms,
        "CPU ms": figure.cpu_ms,
        "ms ÷ first": figure.ms_ratio,
        "CPU ÷ first": figure.cpu_ratio,
    }

"""Whether a turn stays as cheap as it was: with more steps, in a fuller ledger, in a longer conversation.

Each figure is a ratio to the first one of the same run. CPU is that of the workers, Postgres and Valkey.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import orjson

from benchmarks.filling import fill
from benchmarks.load import drive
from benchmarks.measuring import CpuMeter, Row, Spread, Table, at_most, percentile, progress, stack_groups
from benchmarks.processes import superuser_url
from benchmarks.shapes import Shape, chain, fan_out, random_plan
from models.ids import new_id
from workers.embedded import Stack

_AT_ONCE = 4
_FAN = fan_out(4, [0])
_TURNS_IN_A_ROUND = 12
_STEPS = (1, 10, 100, 200)
_STORED = (10**2, 10**4, 10**6)
_STORED_SHORT = (10**2, 10**4)
_LENGTHS = (10, 200)
_LENGTHS_SHORT = (10, 40)
_FLAT = 1.15
"""What counts as flat: measured again, a figure differs by as much."""


@dataclass(frozen=True)
class _Figure:
    kind: str
    size: int
    ms: Spread
    """Of a turn or a step, in the middle."""
    cpu_ms: Spread
    """Of the same."""


def run(ours: Stack, short: bool) -> Table:
    """Let one thing grow at a time."""
    rounds = 1 if short else 3
    _measure(ours, [_body(_FAN)] * 64)
    groups = [
        list(_by_steps(ours, rounds)),
        list(_by_conversation(ours, _LENGTHS_SHORT if short else _LENGTHS, rounds)),
        # Last, because the ledger stays full.
        list(_by_stored_turns(ours, _STORED_SHORT if short else _STORED, rounds)),
    ]
    rows = [_row(figure, _first(group)) for group in groups for figure in group]
    return Table("growth: what a turn costs, grown", rows, targets=[_flat(group) for group in groups])


def _by_steps(of: Stack, rounds: int) -> Iterator[_Figure]:
    for steps in _STEPS:
        turns = [_body(random_plan(1, steps, 0))] * max(_AT_ONCE, 200 // steps)
        measured = [_measure(of, turns) for _ in range(rounds)]
        progress(f"growth: {steps} steps")
        yield _figure("a step of a plan of", steps, [(ms / steps, cpu_ms / steps) for ms, cpu_ms in measured])


def _by_conversation(of: Stack, lengths: Sequence[int], rounds: int) -> Iterator[_Figure]:
    """Each connection has a conversation of its own, whose turns come one after another."""
    names = [str(new_id()) for _ in range(_AT_ONCE)]
    held = 0
    for length in lengths:
        for _ in range(length - held):
            _measure(of, _once_each(names))
        measured = [_measure(of, _once_each(names)) for _ in range(_TURNS_IN_A_ROUND * rounds)]
        held = length + len(measured)
        progress(f"growth: {length} turns in a conversation")
        starts = range(0, len(measured), _TURNS_IN_A_ROUND)
        means = [_mean(measured[start : start + _TURNS_IN_A_ROUND]) for start in starts]
        yield _figure("a turn of a conversation of", length, means)


def _by_stored_turns(of: Stack, sizes: Sequence[int], rounds: int) -> Iterator[_Figure]:
    for size in sizes:
        # One in a conversation of its own, to be copied.
        _measure(of, [_body(chain(1, 0))])
        fill(superuser_url(of), size)
        progress(f"growth: {size:,} turns are stored")
        yield _figure("a turn, turns stored:", size, [_measure(of, [_body(_FAN)] * 128) for _ in range(rounds)])


def _figure(kind: str, size: int, measured: Sequence[tuple[float, float]]) -> _Figure:
    ms, cpu_ms = zip(*measured, strict=True)
    return _Figure(kind, size, Spread.of(ms), Spread.of(cpu_ms))


def _mean(measured: Sequence[tuple[float, float]]) -> tuple[float, float]:
    ms, cpu_ms = zip(*measured, strict=True)
    return fmean(ms), fmean(cpu_ms)


def _once_each(conversations: Iterable[str]) -> list[bytes]:
    return [_body(chain(1, 0), conversation_id=name) for name in conversations]


def _body(shape: Shape, **fields: Any) -> bytes:
    return orjson.dumps({"message": "go", "agent": "generic", "plan": shape.plan, **fields})


def _measure(of: Stack, bodies: Sequence[bytes]) -> tuple[float, float]:
    """Return the milliseconds of a turn: in the middle, and of CPU."""
    groups = stack_groups(of)
    meter = CpuMeter({name: groups[name] for name in ("planner", "tools", "Postgres", "Valkey")})
    load = drive(f"{of.url}/v1/turns?wait=30", bodies, connections=_AT_ONCE, expected=200, key=of.dev_key)
    load.refuse_refusals()
    return percentile(load.latencies_s, 0.5) * 1000, sum(meter.used_s().values()) * 1000 / len(bodies)


def _first(group: Sequence[_Figure]) -> _Figure:
    """Return what the others are compared with; not a plan of one step, which is mostly the turn itself."""
    return group[1] if len(group) == len(_STEPS) else group[0]


def _flat(group: Sequence[_Figure]) -> Row:
    first, last = _first(group), group[-1]
    return at_most(_FLAT, f"CPU of {last.kind} {last.size:,} ÷ {first.size:,}", _ratio(last.cpu_ms, first.cpu_ms))


def _ratio(spread: Spread, first: Spread) -> Spread:
    return Spread.of([value / first.median for value in (spread.low, spread.median, spread.high)])


def _row(figure: _Figure, first: _Figure) -> Row:
    return {
        "what": f"{figure.kind} {figure.size:,}",
        "ms": figure.ms,
        "CPU ms": figure.cpu_ms,
        "ms ÷ first": _ratio(figure.ms, first.ms),
        "CPU ÷ first": _ratio(figure.cpu_ms, first.cpu_ms),
    }

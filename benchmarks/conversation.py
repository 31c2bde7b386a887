"""Measure whether late turns of a long conversation cost more than early ones, in prompt size, time and CPU.

The offline model plans. Each connection has its own conversation. Its turns come one after another and repeat a few
wishes. A figure is taken over the ten turns around the turn it names. CPU is that of the workers, Postgres and Valkey.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import fmean

import orjson
import psycopg

from benchmarks.cpu_times import CpuMeter, stack_groups
from benchmarks.figures import Row, Spread, Table, at_most, percentile
from benchmarks.load import drive
from benchmarks.progress import progress
from turnloom.models.runtime.ids import new_id
from turnloom.workers.embedded.stack import Stack

_AT_ONCE = 4
_AROUND = 5
"""The number of turns before and after the turn that a figure names."""
_TURNS = (10, 50, 200)
_TURNS_SHORT = (10, 30, 60)
_WISHES = (
    "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights",
    "make it 3 days",
    "What about Osaka instead?",
    "only the weather please",
    "add hotels under 20000",
)
_PROMPTS = (
    "SELECT c.prompt_tokens FROM llm_calls c JOIN turns t ON t.id = c.turn_id AND t.tenant_id = c.tenant_id"
    " WHERE c.purpose = 'plan' AND t.conversation_id = ANY(%s) AND t.seq BETWEEN %s AND %s"
)
_FLAT = 1.15
"""The ratio that counts as flat. Repeated measurements differ by as much."""


@dataclass(frozen=True)
class _Figure:
    turn: int
    prompt_tokens: Spread
    ms: Spread
    cpu_ms: Spread


def run(ours: Stack, short: bool) -> Table:
    """Hold conversations, and measure at some of their turns."""
    wanted = _TURNS_SHORT if short else _TURNS
    names = [str(new_id()) for _ in range(_AT_ONCE)]
    figures = []
    wishes = cycle(_WISHES)
    said = 0
    for turn in wanted:
        _say(ours, names, list(islice(wishes, turn - _AROUND - said)))
        figures.append(_measured(ours, names, turn, list(islice(wishes, 2 * _AROUND))))
        said = turn + _AROUND
        progress(f"conversation: {said} turns")
    first, middle, last = figures
    targets = [
        at_most(1.1, f"prompt of turn {last.turn} ÷ {middle.turn}", _ratio(last.prompt_tokens, middle.prompt_tokens)),
        at_most(_FLAT, f"time of turn {last.turn} ÷ {first.turn}", _ratio(last.ms, first.ms)),
        at_most(_FLAT, f"CPU of turn {last.turn} ÷ {first.turn}", _ratio(last.cpu_ms, first.cpu_ms)),
    ]
    return Table(
        "conversation: what a turn costs in a long one", [_row(each, first) for each in figures], targets=targets
    )


def _measured(of: Stack, names: list[str], turn: int, wishes: Sequence[str]) -> _Figure:
    groups = stack_groups(of)
    meter = CpuMeter({name: groups[name] for name in ("planner", "tools", "Postgres", "Valkey")})
    halves = [_say(of, names, wishes[:_AROUND]), _say(of, names, wishes[_AROUND:])]
    cpu_ms = sum(meter.used_s().values()) * 1000 / (len(wishes) * len(names))
    with psycopg.connect(of.database_url) as ledger:
        rows = ledger.execute(_PROMPTS, (names, turn - _AROUND + 1, turn + _AROUND)).fetchall()
    prompts = [float(tokens) for (tokens,) in rows]
    return _Figure(turn, Spread(min(prompts), fmean(prompts), max(prompts)), Spread.of(halves), Spread.of([cpu_ms]))


def _say(of: Stack, names: Sequence[str], wishes: Sequence[str]) -> float:
    """Send each wish to each conversation, one after another, and return the median milliseconds of a turn."""
    latencies: list[float] = []
    for wish in wishes:
        bodies = [orjson.dumps({"message": wish, "agent": "travel", "conversation_id": name}) for name in names]
        load = drive(f"{of.url}/v1/turns?wait=30", bodies, connections=len(names), expected=200, key=of.dev_key)
        load.refuse_refusals()
        latencies += load.latencies_s
    return percentile(latencies, 0.5) * 1000 if latencies else 0.0


def _ratio(spread: Spread, first: Spread) -> Spread:
    return Spread.of([value / first.median for value in (spread.low, spread.median, spread.high)])


def _row(figure: _Figure, first: _Figure) -> Row:
    return {
        "turn": figure.turn,
        "prompt, tokens": figure.prompt_tokens,
        "ms": figure.ms,
        "CPU ms": figure.cpu_ms,
        "ms ÷ first": _ratio(figure.ms, first.ms),
        "CPU ÷ first": _ratio(figure.cpu_ms, first.cpu_ms),
    }

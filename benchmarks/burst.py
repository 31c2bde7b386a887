"""Measure how a burst of one user delays the other users of its tenant: it posts ten times as much as its rate allows.

It posts them evenly over the time that its rate is for, or all at once, which also shows what a web server and the
benchmark's own client leave of the machine. Ten others post a turn now and then. Slices of time with a burst and slices
without one alternate, on a stack with the limits for one user and, for an even burst, on one without. Beside them
stands what it costs the web server to refuse a message.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat

import orjson
import psycopg

from benchmarks.cpu_times import CpuMeter
from benchmarks.fairness import Steady, another_stack, new_key
from benchmarks.figures import Row, Spread, Table, at_most, percentile
from benchmarks.load import Load, drive, during, paced
from benchmarks.progress import progress
from benchmarks.shapes import fan_out
from benchmarks.stack import finished_turns
from turnloom.workers.embedded.stack import Stack

_PLAN = fan_out(4, [500]).plan
_EVERY_S = 0.25
_TENANT = "crowd"
_OTHERS = 10
_CONNECTIONS = 16
_EVENLY = "evenly"
_WANTED = 1.1
_IS_BUSY = "SELECT 1 FROM turns WHERE person ->> 'id' = %s AND finished_at IS NULL LIMIT 1"
_NONE = "none"


@dataclass(frozen=True)
class _Slices:
    """The seconds that each of the others' turns took, in a slice with a burst and in the one after it."""

    beside: Sequence[float]
    alone: Sequence[float]


def run(_: Stack, short: bool) -> Table:
    """Measure both stacks."""
    rate, rounds, seconds, even_s = (60, 2, 1.0, 12.0) if short else (200, 3, 5.0, 30.0)
    limits = {
        "a user's rate and window": {"TURNLOOM_USER_RATE": f"{rate}/minute"},
        _NONE: {"TURNLOOM_USER_WINDOW": "0"},
    }
    ways: dict[str, Callable[[bytes], Iterable[bytes]]] = {
        _EVENLY: lambda body: during(even_s, paced(10 * rate / 60, repeat(body))),
        "at-once": lambda body: repeat(body, 10 * rate),
    }
    found: dict[tuple[str, str], list[_Slices]] = {}
    refusal_ms = 0.0
    for name, settings in limits.items():
        with another_stack(settings) as stack:
            key = new_key(stack, _TENANT)
            for number in range(rounds):
                for way in (_EVENLY,) if name == _NONE else ways:
                    slices, loud = found.setdefault((name, way), []), f"{way}{number}"
                    slices.append(_measure(stack, key, loud, ways[way](_body(loud))))
                    progress(f"burst: {name}, {way}: {_ratio(slices[-1:]):.2f}")
            if name != _NONE:
                refusal_ms = _refusal_ms(stack, key, loud, seconds)
    limited = {way: _ratio(slices) for (name, way), slices in found.items() if name != _NONE}
    return Table(
        f"burst: one user who posts {10 * rate} messages a minute beside {_OTHERS} others",
        [_row(*kind, slices) for kind, slices in found.items()],
        note=f"A refused message costs the web server {refusal_ms:.2f} ms of CPU.",
        targets=[
            at_most(_WANTED, f"p95 of the others, beside a burst ({way}) ÷ alone", Spread.of([ratio]))
            for way, ratio in limited.items()
        ],
    )


def _row(limits: str, way: str, slices: Sequence[_Slices]) -> Row:
    beside, alone = _all(slices)
    return {
        "limits": limits,
        "the burst": way,
        "turns of the others": len(beside) + len(alone),
        "p95 alone, s": Spread.of([percentile(alone, 0.95)]),
        "p95 beside, s": Spread.of([percentile(beside, 0.95)]),
        "beside ÷ alone, of all": Spread.of([_ratio(slices)]),
        "of each pair of slices": Spread.of([_ratio([each]) for each in slices]),
    }


def _ratio(slices: Sequence[_Slices]) -> float:
    """Return the p95 beside the bursts divided by that without them: a slice has too few turns for one of its own."""
    beside, alone = _all(slices)
    return percentile(beside, 0.95) / percentile(alone, 0.95)


def _all(slices: Sequence[_Slices]) -> tuple[list[float], list[float]]:
    return [took for each in slices for took in each.beside], [took for each in slices for took in each.alone]


def _measure(of: Stack, key: str, loud: str, bodies: Iterable[bytes]) -> _Slices:
    steady = Steady(of.url, key, [_body(f"quiet{number}") for number in range(_OTHERS)], _EVERY_S)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(of.database_url, autocommit=True) as ledger:
        burst = pool.submit(_post, of, key, bodies)
        beside = steady.post(lambda _: burst.done() and not ledger.execute(_IS_BUSY, (loud,)).rowcount)
        _refuse_errors(burst.result())
    finished_turns(of)
    return _Slices(beside, steady.post(lambda sent: sent == len(beside)))


def _refusal_ms(of: Stack, key: str, loud: str, seconds: float) -> float:
    """Return the milliseconds of the web server's CPU for a message that is above its user's rate."""
    meter = CpuMeter({"web": [of.processes["web"]]})
    flood = _post(of, key, during(seconds, repeat(_body(loud))))
    return meter.used_s()["web"] * 1_000 / (len(flood.refusals) + len(flood.latencies_s))


def _post(of: Stack, key: str, bodies: Iterable[bytes]) -> Load:
    return drive(f"{of.url}/v1/turns", bodies, connections=_CONNECTIONS, expected=202, key=key)


def _body(user: str) -> bytes:
    return orjson.dumps({"message": "go", "agent": "generic", "plan": _PLAN, "user": {"id": user}})


def _refuse_errors(burst: Load) -> None:
    """Make sure that what was refused of a burst was above the user's rate.

    Raises:
        RuntimeError: something else went wrong.
    """
    if wrong := [answer for answer in burst.refusals if "rate_limited" not in answer]:
        raise RuntimeError(f"{len(wrong)} messages were refused, one of them with {wrong[0]}")

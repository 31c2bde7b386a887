"""Measure how a burst of one user delays the other users of its tenant: it posts ten times as much as its rate allows.

Ten others post a turn now and then. Their turns are timed alone and beside the burst, on a stack with the limits for
one user and on one without.
"""

from concurrent.futures import ThreadPoolExecutor

import orjson
import psycopg

from benchmarks.fairness import Steady, another_stack, new_key
from benchmarks.figures import Row, Spread, Table, at_most, percentile
from benchmarks.load import Load, drive
from benchmarks.progress import progress
from benchmarks.shapes import fan_out
from benchmarks.stack import finished_turns
from turnloom.workers.embedded.stack import Stack

_PLAN = fan_out(4, [500]).plan
_EVERY_S = 0.25
_TENANT = "crowd"
_OTHERS = 10
_WANTED = 1.1
_IS_BUSY = "SELECT 1 FROM turns WHERE person ->> 'id' = %s AND finished_at IS NULL LIMIT 1"
_WITHOUT = {"TURNLOOM_USER_WINDOW": "0"}


def run(_: Stack, short: bool) -> Table:
    """Measure both stacks alternately."""
    rate, rounds = (60, 2) if short else (200, 3)
    limits = {"a user's rate and window": {"TURNLOOM_USER_RATE": f"{rate}/minute"}, "none": _WITHOUT}
    ratios: dict[str, list[float]] = {name: [] for name in limits}
    rows: list[Row] = []
    for name, settings in limits.items():
        with another_stack(settings) as stack:
            key = new_key(stack, _TENANT)
            for number in range(rounds):
                ratios[name].append(_measure(stack, key, f"loud{number}", 10 * rate))
                progress(f"burst: {name}: {ratios[name][-1]:.2f}")
        rows.append({"limits": name, "p95 of the others, beside ÷ alone": Spread.of(ratios[name])})
    target = at_most(_WANTED, "p95 of the others, beside the burst ÷ alone", Spread.of(next(iter(ratios.values()))))
    return Table(f"burst: {10 * rate} messages of one user beside those of {_OTHERS} others", rows, targets=[target])


def _measure(of: Stack, key: str, loud: str, messages: int) -> float:
    """Return the p95 of the others' turns beside a burst, divided by their p95 alone."""
    steady = Steady(of.url, key, [_body(f"quiet{number}") for number in range(_OTHERS)], _EVERY_S)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(of.database_url, autocommit=True) as ledger:
        burst = pool.submit(
            drive, f"{of.url}/v1/turns", [_body(loud)] * messages, connections=16, expected=202, key=key
        )
        beside = steady.post(lambda _: burst.done() and not ledger.execute(_IS_BUSY, (loud,)).rowcount)
        _refuse_errors(burst.result())
    finished_turns(of)
    alone = steady.post(lambda sent: sent == len(beside))
    return percentile(beside, 0.95) / percentile(alone, 0.95)


def _body(user: str) -> bytes:
    return orjson.dumps({"message": "go", "agent": "generic", "plan": _PLAN, "user": {"id": user}})


def _refuse_errors(burst: Load) -> None:
    """Make sure that what was refused of a burst was above the user's rate.

    Raises:
        RuntimeError: something else went wrong.
    """
    if wrong := [answer for answer in burst.refusals if "rate_limited" not in answer]:
        raise RuntimeError(f"{len(wrong)} messages were refused, one of them with {wrong[0]}")

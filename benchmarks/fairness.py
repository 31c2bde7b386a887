"""Measure how a noisy tenant delays a quiet one: one posts hundreds of turns at once, the other a turn now and then.

The quiet tenant's turns are timed alone and beside the noisy one's, on the stack as it is and on one without a window.
The planner rests while the noisy tenant posts, so that all of its turns are there however slowly the API accepts them.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import orjson
import psycopg

from benchmarks.figures import Row, Spread, Table, at_most, percentile
from benchmarks.load import drive
from benchmarks.processes import turnloom
from benchmarks.progress import progress
from benchmarks.shapes import fan_out
from benchmarks.stack import finished_turns, paused
from turnloom.models.contracts.turn import FINAL_TURN_STATUSES
from turnloom.models.runtime.settings import settings
from turnloom.workers.embedded.stack import Stack, StackOptions

_REQUEST = {"message": "go", "agent": "generic", "plan": fan_out(4, [200]).plan}
_BODY = orjson.dumps(_REQUEST)
_EVERY_S = 0.5
_PATIENCE_S = 300.0
_ALONE = 6
"""Number of the quiet tenant's turns before the noisy one begins."""
_QUIET = "quiet"
_NOISY_IS_BUSY = (
    "SELECT 1 FROM turns JOIN tenants ON tenants.id = tenant_id WHERE name <> %s AND finished_at IS NULL LIMIT 1"
)
_WANTED = 0.5


@dataclass(frozen=True)
class _Round:
    """The seconds that each of the quiet tenant's turns took."""

    alone: list[float]
    beside: list[float]


def run(ours: Stack, short: bool) -> Table:
    """Measure both stacks alternately."""
    turns, rounds = (200, 1) if short else (500, 3)
    with another_stack({"TURNLOOM_TENANT_WINDOW": "0"}) as without:
        windows = {f"{settings().tenant_window} turns": ours, "none": without}
        stacks = {window: (stack, new_key(stack, _QUIET)) for window, stack in windows.items()}
        measured: dict[str, list[_Round]] = {window: [] for window in stacks}
        for _ in range(rounds):
            for window, (stack, key) in stacks.items():
                measured[window].append(_measure(stack, key, turns))
                progress(f"fairness: window {window}: {_ms(measured[window][-1].beside, 0.95):.0f} ms")
    ratios = [_ms(a.beside, 0.95) / _ms(b.beside, 0.95) for a, b in zip(*measured.values(), strict=True)]
    return Table(
        f"fairness: a turn every {_EVERY_S} s beside {turns} of another tenant",
        [_row(window, found) for window, found in measured.items()],
        targets=[at_most(_WANTED, "p95 beside the other tenant, with the window ÷ without", Spread.of(ratios))],
    )


def _row(window: str, rounds: list[_Round]) -> Row:
    row: dict[str, str | int | Spread] = {"window": window}
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        alone, beside = [_ms(found.alone, share) for found in rounds], [_ms(found.beside, share) for found in rounds]
        row[f"{name} alone, ms"], row[f"{name} beside, ms"] = Spread.of(alone), Spread.of(beside)
        row[f"{name} beside ÷ alone"] = Spread.of([b / a for a, b in zip(alone, beside, strict=True)])
    return row


def _ms(seconds: list[float], share: float) -> float:
    return percentile(seconds, share) * 1000


def _measure(of: Stack, quiet_key: str, turns: int) -> _Round:
    steady = Steady(of.url, quiet_key, [_BODY], _EVERY_S)
    alone = steady.post(lambda sent: sent == _ALONE)
    with paused(of.processes["worker-plan"]):
        noisy = drive(f"{of.url}/v1/turns", [_BODY] * turns, connections=16, expected=202, key=of.dev_key)
    noisy.refuse_refusals()
    with psycopg.connect(of.database_url, autocommit=True) as ledger:
        beside = steady.post(lambda _: not ledger.execute(_NOISY_IS_BUSY, (_QUIET,)).rowcount)
    finished_turns(of)
    return _Round(alone, beside)


@dataclass(frozen=True)
class Steady:
    """Somebody who posts turns at a steady pace, without waiting for answers."""

    url: str
    key: str
    bodies: Sequence[bytes]
    """These are posted in turn."""
    every_s: float

    def post(self, is_enough: Callable[[int], bool]) -> list[float]:
        """Post turns until there are enough, and return the seconds that each took. `is_enough` is told how many."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with httpx2.Client(base_url=self.url, headers=headers, timeout=60) as api, ThreadPoolExecutor(64) as pool:
            sent = [pool.submit(_seconds, api, self.bodies[0])]
            while not is_enough(len(sent)):
                time.sleep(self.every_s)
                sent.append(pool.submit(_seconds, api, self.bodies[len(sent) % len(self.bodies)]))
            return [answer.result() for answer in sent]


def _seconds(api: httpx2.Client, body: bytes) -> float:
    began = time.perf_counter()
    answer = api.post("/v1/turns", params={"wait": 30}, content=body)
    while answer.status_code == httpx2.codes.ACCEPTED and time.perf_counter() - began < _PATIENCE_S:
        time.sleep(_EVERY_S)
        shown = api.get(answer.json()["links"]["self"])
        answer = shown if shown.json()["status"] in FINAL_TURN_STATUSES else answer
    if answer.status_code != httpx2.codes.OK:
        raise RuntimeError(f"the turn did not end: {answer.text[:600]}")
    return time.perf_counter() - began


@contextmanager
def another_stack(settings: Mapping[str, str], planners: int = 1, tool_workers: int = 2) -> Iterator[Stack]:
    """Run a further stack with these settings and numbers of workers."""
    with tempfile.TemporaryDirectory(prefix="turnloom-bench-") as folder:
        options = StackOptions(
            data_dir=Path(folder), port=0, planners=planners, tool_workers=tool_workers, settings=settings
        )
        with Stack(options) as stack:
            yield stack


def new_key(stack: Stack, tenant: str) -> str:
    """Make a tenant and a key of it. It has limits, and the development key has none."""
    turnloom(stack, "tenant", "create", tenant)
    scopes = "turns:write,turns:read,plans:submit"
    made = turnloom(stack, "key", "create", "--json", "--tenant", tenant, "--scopes", scopes)
    return str(orjson.loads(made)["key"])

"""Measure whether batch replays delay live turns, and whether the same replay gives the same report each time.

Conversations are recorded over HTTP, and replayed alone. Then they are replayed again beside live turns at a
steady pace, far below what the stack can do. For every other slice of time the replays' worker stands still, so that
live turns beside a replay are compared with those of the same minute without one.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import httpx2
import orjson
import psycopg

from benchmarks.cpu_times import CpuMeter
from benchmarks.fairness import Steady
from benchmarks.figures import Row, Spread, Table, at_least, at_most, percentile
from benchmarks.progress import progress
from benchmarks.recorded_conversations import SETTINGS, Recorded, record
from benchmarks.stack import OFFLINE, paused, refuse_failures, stack
from turnloom.workers.embedded.stack import Stack

_EVERY_S = 0.25
_TURNS = 32
"""Live turns in a slice of time. Postgres ends the transactions of a worker that stands still for over ten seconds."""
_LIVE = [
    {"agent": "hotel", "message": "A room next weekend for 2 adults"},
    {"agent": "travel", "message": "What's the weather like in Lisbon?"},
    {"agent": "hotel", "message": "which room types do you have?"},
    {"agent": "travel", "message": "Plan a 2-day Kyoto trip"},
]
_BODIES = [orjson.dumps(request) for request in _LIVE]
_HAS_REPORT = "SELECT 1 FROM replays WHERE id = %s AND report IS NOT NULL"
_LOOK_S = 0.2
_PATIENCE_S = 3600.0
_WANTED = 1.05
_DRAWS = 1000


class Pair(NamedTuple):
    """The seconds that live turns took in a slice of time beside a replay, and in the slice after it without one."""

    beside: list[float]
    alone: list[float]


@dataclass(frozen=True)
class Ended:
    """A replay that has ended."""

    report: dict[str, Any]
    page: bytes

    @property
    def written(self) -> bytes:
        """The report as it was sent, as JSON and as a page."""
        return orjson.dumps(self.report) + self.page


@dataclass(frozen=True)
class _Replays:
    """The stack whose conversations are replayed."""

    stack: Stack
    api: httpx2.Client
    ledger: psycopg.Connection
    recorded: Recorded

    def alone(self) -> tuple[Ended, str]:
        """Replay without live turns. Returns the replay, and what it cost."""
        worker = self.stack.processes["worker-replay"]
        meter, began = CpuMeter({"worker": [worker], "Postgres": [self.stack.postgres.process]}), time.perf_counter()
        ended = self._wait(self.recorded.replay(self.api))
        took_s, used_s = time.perf_counter() - began, meter.used_s()
        turns = ended.report["turns"]
        cpu = ", ".join(f"{seconds / turns * 1000:.1f} ms of {group}" for group, seconds in used_s.items())
        return ended, f"Alone, {turns / took_s:.1f} turns are replayed a second; each takes {cpu}."

    def beside_live_turns(self, turns: int) -> tuple[Ended, list[Pair]]:
        """Replay beside live turns. There are so many in each slice of time."""
        steady = Steady(self.stack.url, self.stack.dev_key, _BODIES, _EVERY_S)
        replay_id, pairs = self.recorded.replay(self.api), list[Pair]()
        while not self._has_ended(replay_id):
            beside = steady.post(lambda sent: sent == turns or self._has_ended(replay_id))
            with paused(self.stack.processes["worker-replay"]):
                pairs.append(Pair(beside, steady.post(lambda sent: sent == turns)))
        # The replay may have ended soon after the last slice began.
        return self._wait(replay_id), [pair for pair in pairs if len(pair.beside) == turns] or pairs

    def _wait(self, replay_id: str) -> Ended:
        deadline = time.monotonic() + _PATIENCE_S
        while not self._has_ended(replay_id):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the replay has not ended after {_PATIENCE_S:.0f} s")
            time.sleep(_LOOK_S)
        shown, page = (self.api.get(f"/v1/replays/{replay_id}{form}") for form in ("", "/report.html"))
        return Ended(shown.json()["report"], page.raise_for_status().content)

    def _has_ended(self, replay_id: str) -> bool:
        return self.ledger.execute(_HAS_REPORT, (replay_id,)).rowcount == 1


def run(_: Stack, short: bool) -> Table:
    """Measure on a stack of its own: among the recorded turns some are meant to fail."""
    conversations, replays, turns = (40, 2, 8) if short else (1000, 2, _TURNS)
    with _replays(conversations) as of:
        first, cost = of.alone()
        progress(f"replay: {cost}")
        ended, rounds = [first], list[list[Pair]]()
        for number in range(replays):
            one, pairs = of.beside_live_turns(turns)
            ended.append(one)
            rounds.append(pairs)
            progress(f"replay {number + 1} of {replays}: p95 beside ÷ alone {_ratio(pairs, 0.95):.3f}")
        refuse_failures(of.stack, of.recorded.until)
    return Table(
        f"replay: {conversations:,} conversations beside a live turn each {_EVERY_S:g} s",
        _rows(rounds),
        note=f"{_outcomes(first.report)} {cost} The ratio to be reached is that of all live turns; in brackets,"
        " between which values it lies with 95 % confidence, by drawing the slices of time again.",
        targets=[
            at_most(_WANTED, "p95 of live turns beside a replay ÷ alone", drawn(list(chain(*rounds)), 0.95)),
            at_least(len(ended), "replays with the same report, byte for byte", Spread.of([same_reports(ended)])),
        ],
    )


@contextmanager
def _replays(conversations: int) -> Iterator[_Replays]:
    with (
        stack({**OFFLINE, **SETTINGS}) as own,
        psycopg.connect(own.database_url, autocommit=True) as ledger,
        httpx2.Client(base_url=own.url, headers={"Authorization": f"Bearer {own.dev_key}"}, timeout=60) as api,
    ):
        yield _Replays(own, api, ledger, record(own, conversations))


def _rows(rounds: Sequence[Sequence[Pair]]) -> list[Row]:
    pooled = [_pooled(pairs) for pairs in rounds]
    alone = [each.alone for each in pooled]
    return [_row("alone", alone, alone), _row("beside a replay", [each.beside for each in pooled], alone)]


def _row(name: str, seconds: Sequence[list[float]], alone: Sequence[list[float]]) -> Row:
    row: dict[str, str | int | Spread] = {"live turns": name, "count": sum(map(len, seconds))}
    for percent in (50, 95):
        ms, of_alone = ([percentile(each, percent / 100) * 1000 for each in some] for some in (seconds, alone))
        row[f"p{percent} ms"] = Spread.of(ms)
        row[f"p{percent} ÷ alone"] = Spread.of([one / other for one, other in zip(ms, of_alone, strict=True)])
    return row


def _pooled(pairs: Sequence[Pair]) -> Pair:
    return Pair(*(list(chain(*seconds)) for seconds in zip(*pairs, strict=True)))


def _ratio(pairs: Sequence[Pair], share: float) -> float:
    beside, alone = _pooled(pairs)
    return percentile(beside, share) / percentile(alone, share)


def drawn(pairs: Sequence[Pair], share: float) -> Spread:
    """Return the ratio, and its 95 % interval by drawing pairs of slices again and again."""
    chance = random.Random(0)
    found = sorted(_ratio(chance.choices(pairs, k=len(pairs)), share) for _ in range(_DRAWS))
    return Spread(percentile(found, 0.025), _ratio(pairs, share), percentile(found, 0.975))


def same_reports(ended: Sequence[Ended]) -> int:
    """Return how many replays gave the report that the first one gave."""
    return sum(one.written == ended[0].written for one in ended)


def _outcomes(report: dict[str, Any]) -> str:
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in report["outcomes"].items() if count)
    return f"{report['conversations']:,} conversations with {report['turns']:,} turns: {counts}."

"""Measure how fast a message is durably accepted: `POST /v1/turns` against a route that does one INSERT and COMMIT.

There are 64 connections, and each turn has its own conversation. The workers are stopped for good, so that only the web
process, Postgres and, for our route, Valkey work. The dispatched turns pile up there, so this benchmark runs last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from benchmarks.cpu_times import CpuMeter, stack_groups
from benchmarks.figures import Row, Spread, Table, at_least, at_most, percentile
from benchmarks.load import Load, drive, during
from benchmarks.processes import bare_route, stop
from benchmarks.progress import progress
from turnloom.workers.embedded.process import Process
from turnloom.workers.embedded.stack import Stack

_CONNECTIONS = 64
_BODY = orjson.dumps({"message": "Which rooms are free next weekend?", "user": {"id": "u1", "locale": "en"}})


@dataclass(frozen=True)
class _Route:
    url: str
    key: str
    web: Process


@dataclass(frozen=True)
class _Round:
    load: Load
    cpu_s: dict[str, float]

    @property
    def ms(self) -> list[float]:
        return [latency * 1000 for latency in self.load.latencies_s]


def run(ours: Stack, short: bool) -> Table:
    """Measure both routes alternately."""
    seconds, rounds = (1.0, 2) if short else (4.0, 5)
    with bare_route(ours) as (bare_url, bare_web):
        stop(process for name, process in ours.processes.items() if name != "web")
        routes = [
            _Route(bare_url, "", bare_web),
            _Route(f"{ours.url}/v1/turns", ours.dev_key, ours.processes["web"]),
        ]
        for route in routes:
            _measure(ours, route, 0.5)
        measured: list[list[_Round]] = [[], []]
        for number in range(rounds):
            for route, into in zip(routes, measured, strict=True):
                into.append(_measure(ours, route, seconds))
            rates = " and ".join(f"{each[-1].load.per_s:,.0f}/s" for each in measured)
            progress(f"round {number + 1} of {rounds}: bare and ours {rates}")
    bare, own = measured
    ratios = Spread.of([b.load.per_s / a.load.per_s for a, b in zip(bare, own, strict=True)])
    return Table(
        f"ack: {_CONNECTIONS} connections, durable",
        [_row("bare Flask, INSERT + COMMIT", bare, "1"), _row("POST /v1/turns", own, ratios)],
        targets=[
            at_least(0.7, "requests/s ÷ bare", ratios),
            at_most(100, "p99 ms", Spread.of([percentile(each.ms, 0.99) for each in own])),
        ],
    )


def _measure(of: Stack, route: _Route, seconds: float) -> _Round:
    groups = stack_groups(of)
    meter = CpuMeter({"web": [route.web], "Postgres": groups["Postgres"], "Valkey": groups["Valkey"]})
    load = drive(route.url, during(seconds, _BODY), connections=_CONNECTIONS, expected=202, key=route.key)
    load.refuse_refusals()
    return _Round(load, meter.used_s())


def _row(name: str, rounds: Sequence[_Round], ratio: Spread | str) -> Row:
    def cpu_ms(group: str) -> Spread:
        return Spread.of([each.cpu_s[group] * 1000 / len(each.load.latencies_s) for each in rounds])

    return {
        "route": name,
        "ratio": ratio,
        "requests/s": Spread.of([each.load.per_s for each in rounds]),
        "p50 ms": Spread.of([percentile(each.ms, 0.5) for each in rounds]),
        "p99 ms": Spread.of([percentile(each.ms, 0.99) for each in rounds]),
        **{f"CPU ms: {group}": cpu_ms(group) for group in rounds[0].cpu_s},
    }

"""Measure how fast a message is durably accepted, against a route that does one INSERT and COMMIT.

`POST /v1/turns` is measured, and the webhook of a Telegram account, which also keeps the body.
There are 64 connections, and each turn has its own conversation. The workers are stopped for good, so that only the web
process, Postgres and, for our route, Valkey work. The dispatched turns pile up there, so this benchmark runs last.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from secrets import token_hex

import orjson

from benchmarks.cpu_times import CpuMeter, stack_groups
from benchmarks.figures import Row, Spread, Table, at_least, at_most, percentile
from benchmarks.load import Load, drive, during
from benchmarks.processes import bare_route, stop, turnloom
from benchmarks.progress import progress
from turnloom.workers.embedded.process import Process
from turnloom.workers.embedded.stack import Stack

_CONNECTIONS = 64
_BODY = orjson.dumps({"message": "Which rooms are free next weekend?", "user": {"id": "u1", "locale": "en"}})


_SECRET = token_hex(16)


@dataclass(frozen=True)
class _Route:
    name: str
    url: str
    web: Process
    bodies: Iterator[bytes]
    expected: int = 202
    headers: Mapping[str, str] = field(default_factory=dict)


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
    _connect_telegram(ours)
    with bare_route(ours) as (bare_url, bare_web):
        stop(process for name, process in ours.processes.items() if name != "web")
        web, authorised = ours.processes["web"], {"Authorization": f"Bearer {ours.dev_key}"}
        signed = {"X-Telegram-Bot-Api-Secret-Token": _SECRET}
        routes = [
            _Route("bare Flask, INSERT + COMMIT", bare_url, bare_web, repeat(_BODY)),
            _Route("POST /v1/turns", f"{ours.url}/v1/turns", web, repeat(_BODY), headers=authorised),
            _Route("a webhook", f"{ours.url}/v1/channels/telegram/ack", web, map(_update, count(1)), 200, signed),
        ]
        for route in routes:
            _measure(ours, route, 0.5)
        measured: list[list[_Round]] = [[] for _ in routes]
        for number in range(rounds):
            for route, into in zip(routes, measured, strict=True):
                into.append(_measure(ours, route, seconds))
            rates = ", ".join(f"{each[-1].load.per_s:,.0f}/s" for each in measured)
            progress(f"ack {number + 1} of {rounds}: bare, turns, webhook {rates}")
    bare, turns, webhooks = measured
    ratios = [_ratios(each, bare) for each in measured]
    return Table(
        f"ack: {_CONNECTIONS} connections, durable",
        [_row(route.name, *found) for route, found in zip(routes, zip(measured, ratios, strict=True), strict=True)],
        targets=[
            at_least(0.7, "requests/s ÷ bare", ratios[1]),
            at_most(100, "p99 ms", Spread.of([percentile(each.ms, 0.99) for each in turns])),
            at_least(0.6, "webhooks/s ÷ bare", ratios[2]),
            at_most(100, "p99 ms of a webhook", Spread.of([percentile(each.ms, 0.99) for each in webhooks])),
        ],
    )


def _connect_telegram(ours: Stack) -> None:
    """Give the development tenant an account, whose bot is never called: nothing is answered here."""
    config = {"secret_token": _SECRET, "bot_token": "1:none"}
    whose = ("--tenant", "development", "--agent", "generic")
    turnloom(ours, "channel", "set", "telegram", "ack", *whose, "--config", "-", given=json.dumps(config))


def _update(number: int) -> bytes:
    """Return Telegram's update with a message. Each person writes once."""
    person = {"id": number, "is_bot": False, "first_name": "Ada"}
    message = {"message_id": 1, "date": 1_790_000_000, "chat": {"id": number, "type": "private"}, "from": person}
    return orjson.dumps({"update_id": number, "message": {**message, "text": "Which rooms are free next weekend?"}})


def _ratios(rounds: Sequence[_Round], bare: Sequence[_Round]) -> Spread:
    return Spread.of([one.load.per_s / other.load.per_s for one, other in zip(rounds, bare, strict=True)])


def _measure(of: Stack, route: _Route, seconds: float) -> _Round:
    groups = stack_groups(of)
    meter = CpuMeter({"web": [route.web], "Postgres": groups["Postgres"], "Valkey": groups["Valkey"]})
    bodies = during(seconds, route.bodies)
    load = drive(route.url, bodies, connections=_CONNECTIONS, expected=route.expected, headers=route.headers)
    load.refuse_refusals()
    return _Round(load, meter.used_s())


def _row(name: str, rounds: Sequence[_Round], ratio: Spread) -> Row:
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

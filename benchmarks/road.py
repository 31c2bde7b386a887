"""Measure cost and throughput of whole turns over HTTP, beside systems that one could use instead.

A message comes by HTTP, a language-model endpoint answers without latency, tools take no time, and the client gets the
reply by the event stream, with ours also by `?wait` and by polling. Every system is durable on the same Postgres.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

from benchmarks import contenders
from benchmarks.contenders import Contender
from benchmarks.cpu_times import CpuMeter
from benchmarks.crowd import Crowd, Meter, Window, Wish
from benchmarks.figures import Row, Spread, Table, at_least, at_most, percentile
from benchmarks.processes import analyze, without_workers
from benchmarks.progress import progress
from benchmarks.server_counters import ServerCounters
from benchmarks.shapes import fan_out, mixed
from benchmarks.stack import refuse_failures
from benchmarks.turn_waits import Way, by_stream, by_wait, polling
from turnloom.workers.embedded.stack import Stack

DENSE, SPREAD = "dense", "spread"
FUNCTIONAL, SEND, DBOS, CELERY = "LangGraph functional", "LangGraph send", "DBOS", "hand-written Celery"
PEERS_PYTHON = "TURNLOOM_BENCH_PEERS"
"""The variable that names the interpreter of the peers' environment. Without it the peers are left out."""

_PLANS = {"chat": [], "fan 4 + join": fan_out(4, [0]).plan["steps"], "mixed 12": mixed().plan["steps"]}
_OURS = (DENSE, SPREAD)
_LIBRARIES = {FUNCTIONAL: ["langgraph_turns", "functional"], SEND: ["langgraph_turns", "send"], DBOS: ["dbos_turns"]}
_SECONDS = {1: 3.0, 32: 6.0, 256: 8.0}
"""Turns at a time -> seconds to measure."""
_SECONDS_SHORT = {1: 1.0, 32: 1.5}
_WARM_UP_S = 3.0
_MANY = 32
_POLLS_PER_S = 256
"""Polls per second of all clients together."""
_WAYS_OF_MANY = ("stream", "wait", "poll")
_CPU = ("web", "workers", "beat", "Postgres", "Valkey")
_COUNTED = {
    "transactions": "transactions",
    "commits": "commits that write",
    "inserted": "rows inserted",
    "changed": "rows changed",
    "wal_kb": "WAL KB",
    "fsyncs": "fsyncs",
    "messages": "messages",
    "published": "published",
    "Redis commands": "Redis commands",
}


class Case(NamedTuple):
    """A plan, a number of clients, and the way in which they learn of a turn's end."""

    plan: str
    at_once: int
    way: str


Figure = Callable[[Window], float]
Rounds = Mapping[str, Sequence[Window]]
"""The windows of all rounds, by system."""


def run(ours: Stack, short: bool) -> Table:
    """Measure every system in every round."""
    rounds = 1 if short else 3
    measured: dict[Case, dict[str, list[Window]]] = {}
    with without_workers(ours), contenders.llm_endpoint(ours, _PLANS) as llm_url:
        for number in range(rounds):
            for name, start in _systems(ours, llm_url).items():
                progress(f"road {number + 1} of {rounds}: {name}")
                with start() as system:
                    for case, window in _measure(ours, system, _cases(name, short), short=short):
                        measured.setdefault(case, {}).setdefault(name, []).append(window)
            refuse_failures(ours)
    rows = [_row(case, name, of, measured) for case, of in measured.items() for name in of]
    left_out = "" if PEERS_PYTHON in os.environ else "The peers are left out: `make bench PEERS=1`."
    errors = [error for of in measured.values() for windows in of.values() for each in windows for error in each.errors]
    note = " ".join(part for part in (left_out, f"An error: {errors[0]}." if errors else "") if part)
    return Table("road: whole turns as a client meets them", rows, note, list(_targets(measured)))


def _systems(of: Stack, llm_url: str) -> dict[str, Callable[[], AbstractContextManager[Contender]]]:
    found: dict[str, Callable[[], AbstractContextManager[Contender]]] = {
        DENSE: partial(contenders.turnloom, of, llm_url, "dense"),
        SPREAD: partial(contenders.turnloom, of, llm_url, "spread"),
    }
    if python := os.environ.get(PEERS_PYTHON):
        found |= {name: partial(contenders.peer, of, llm_url, what, python) for name, what in _LIBRARIES.items()}
        found[CELERY] = partial(contenders.celery, of, llm_url)
    return found


def _cases(name: str, short: bool) -> Iterator[Case]:
    for at_once in _SECONDS_SHORT if short else _SECONDS:
        for plan in _PLANS:
            has_ways = name in _OURS and at_once > 1 and not (short and plan != "chat")
            for way in _WAYS_OF_MANY if has_ways else ("stream",):
                yield Case(plan, at_once, way)


def _measure(of: Stack, system: Contender, cases: Iterator[Case], *, short: bool) -> Iterator[tuple[Case, Window]]:
    seconds = _SECONDS_SHORT if short else _SECONDS
    with ServerCounters(of, system.database) as counters:
        counters.refuse_unsafe_commits()
        meter = _meter(of, system, counters)
        for plan in _PLANS:
            crowd = Crowd(system.urls, system.key, _MANY)
            crowd.measure(_wish(Case(plan, _MANY, "stream")), 0.0 if short else _WARM_UP_S, meter)
        analyze(of, system.database)
        for case in cases:
            crowd = Crowd(system.urls, system.key, case.at_once)
            window = crowd.measure(_wish(case), seconds[case.at_once], meter)
            progress(f"{', '.join(map(str, case))}: {window.per_s:.1f}/s, {_cost_ms(window):.1f} ms of CPU")
            yield case, window


def _meter(of: Stack, system: Contender, counters: ServerCounters) -> Meter:
    cpu = CpuMeter({**system.groups, "Postgres": [of.postgres.process], "Valkey": [of.redis.process]})
    return lambda: {**{_cpu(group): used * 1000 for group, used in cpu.used_s().items()}, **counters.read()}


def _wish(case: Case) -> Wish:
    ways: Mapping[str, Way] = {"stream": by_stream, "wait": by_wait, "poll": polling(case.at_once / _POLLS_PER_S)}
    return Wish(case.plan, len(_PLANS[case.plan]), ways[case.way])


def _targets(measured: Mapping[Case, Rounds]) -> Iterator[Row]:
    """Yield the targets whose peers were measured."""
    for plan in _PLANS:
        alone, many = measured[Case(plan, 1, "stream")], measured[Case(plan, _MANY, "stream")]
        at_many = f"{plan}, {_MANY} at once"
        if FUNCTIONAL in many:
            yield at_least(1.5, f"turns/s, {at_many}: dense ÷ {FUNCTIONAL}", _ratio(many, DENSE, FUNCTIONAL, _per_s))
            yield at_least(1.0, f"turns/s, {at_many}: spread ÷ {SEND}", _ratio(many, SPREAD, SEND, _per_s))
            yield at_most(1.0, f"CPU, {at_many}: dense ÷ {FUNCTIONAL}", _ratio(many, DENSE, FUNCTIONAL, _cost_ms))
            yield at_most(1.5, f"p50, {plan} alone: dense ÷ {FUNCTIONAL}", _ratio(alone, DENSE, FUNCTIONAL, _p50_ms))
        for way in _WAYS_OF_MANY[1:]:
            by_way = measured.get(Case(plan, _MANY, way), {})
            for name in by_way:
                ratio = _spread(by_way[name], many[name], _per_s)
                yield at_least(0.9, f"turns/s, {at_many}, {name}: {way} ÷ stream", ratio)
    ours = [each for of in measured.values() for name in _OURS for each in of.get(name, ())]
    yield at_most(0, "errors of ours", Spread.of([sum(len(each.errors) for each in ours)]))


def _row(case: Case, name: str, of: Rounds, measured: Mapping[Case, Rounds]) -> Row:
    def ratio(peer: str, figure: Figure) -> Spread | str:
        return _ratio(of, name, peer, figure) if peer in of else ""

    rounds, streamed = of[name], measured[case._replace(way="stream")][name]
    return {
        "turn": case.plan,
        "at once": case.at_once,
        "by": case.way,
        "system": name,
        "turns/s": _figures(rounds, _per_s),
        f"÷ {FUNCTIONAL}": ratio(FUNCTIONAL, _per_s),
        f"÷ {SEND}": ratio(SEND, _per_s),
        "÷ stream": "" if case.way == "stream" else _spread(rounds, streamed, _per_s),
        "CPU ms": _figures(rounds, _cost_ms),
        f"CPU ÷ {FUNCTIONAL}": ratio(FUNCTIONAL, _cost_ms),
        "CPU ÷ stream": "" if case.way == "stream" else _spread(rounds, streamed, _cost_ms),
        "p50 ms": _figures(rounds, _p50_ms),
        f"p50 ÷ {FUNCTIONAL}": ratio(FUNCTIONAL, _p50_ms),
        **{f"CPU ms: {group}": _figures(rounds, _used(_cpu(group))) for group in _CPU},
        **{column: _figures(rounds, _used(name)) for name, column in _COUNTED.items()},
        "errors": sum(len(each.errors) for each in rounds),
    }


def _ratio(of: Rounds, name: str, peer: str, figure: Figure) -> Spread:
    return _spread(of[name], of[peer], figure)


def _spread(own: Sequence[Window], others: Sequence[Window], figure: Figure) -> Spread:
    return Spread.of([figure(mine) / figure(its) for mine, its in zip(own, others, strict=True)])


def _figures(rounds: Sequence[Window], figure: Figure) -> Spread:
    return Spread.of([figure(each) for each in rounds])


def _cpu(group: str) -> str:
    return f"CPU of {group}"


def _used(name: str) -> Figure:
    return lambda window: window.used.get(name, 0.0)


def _per_s(window: Window) -> float:
    return window.per_s


def _cost_ms(window: Window) -> float:
    """Return the CPU of everything that a turn needs except its client and the language model."""
    return sum(window.used.get(_cpu(group), 0.0) for group in _CPU)


def _p50_ms(window: Window) -> float:
    return percentile(window.latencies_s, 0.5) * 1000

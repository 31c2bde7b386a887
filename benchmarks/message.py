"""Measure the CPU cost of a step's message with our settings, against Celery's defaults on the same broker.

CPU is that of the publisher, the worker and Valkey. The defaults are the prefork pool, stored results and emulated
acknowledgements. Ours are the settings of `workers.broker.app`, on the pool of the queue `tools.io`.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from benchmarks import systems
from benchmarks.cpu_times import CpuMeter
from benchmarks.drivers.orders import Order
from benchmarks.figures import Row, Spread, Table, at_most
from benchmarks.progress import progress
from benchmarks.systems import System
from turnloom.workers.broker.command_lines import worker_command
from turnloom.workers.embedded.stack import Stack

_APP = "benchmarks.drivers.messages"
_WANTED = 0.4


def run(ours: Stack, short: bool) -> Table:
    """Measure both settings alternately."""
    count, rounds = (300, 2) if short else (2000, 5)
    measured: dict[str, list[dict[str, float]]] = {"defaults": [], "ours": []}
    with ExitStack() as running:
        found = {name: running.enter_context(systems.messages(ours, name, _worker(name))) for name in measured}
        for system in found.values():
            system.driver.run(Order({}, 50, 1))
        for number in range(rounds):
            for name, system in found.items():
                measured[name].append(_measure(ours, system, count))
            progress(f"message {number + 1} of {rounds}")
    totals = {name: [sum(each.values()) for each in used] for name, used in measured.items()}
    ratio = Spread.of([own / its for own, its in zip(totals["ours"], totals["defaults"], strict=True)])
    return Table(
        "message: one step's message, published and consumed",
        [_row("Celery's defaults", measured["defaults"], "1"), _row("ours", measured["ours"], ratio)],
        targets=[at_most(_WANTED, "CPU ÷ Celery's defaults", ratio)],
    )


def _worker(name: str) -> Sequence[str]:
    if name == "ours":
        command = worker_command(["tools.io"], name="messages", pool="threads", concurrency=16)
        return [part.replace("turnloom.workers.broker.app", _APP) for part in command]
    return systems.default_worker(_APP)


def _measure(of: Stack, system: System, count: int) -> dict[str, float]:
    meter = CpuMeter({**system.groups, "Valkey": [of.redis.process]})
    system.driver.run(Order({}, count, 1))
    return {group: used * 1000 / count for group, used in meter.used_s().items()}


def _row(name: str, rounds: Sequence[Mapping[str, float]], ratio: Spread | str) -> Row:
    return {
        "settings": name,
        "ratio": ratio,
        "CPU ms/message": Spread.of([sum(each.values()) for each in rounds]),
        **{group: Spread.of([each[group] for each in rounds]) for group in rounds[0]},
    }

"""Measure the size of every message that a plan of 200 steps puts on a queue, as Valkey sees it.

Messages are read while the plan runs, because the workers for tools publish the later fragments.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis

from benchmarks import systems
from benchmarks.drivers.orders import Order
from benchmarks.figures import Row, Spread, Table, at_most
from benchmarks.processes import without_workers
from benchmarks.progress import progress
from benchmarks.shapes import Shape, chain, fan_out, random_plan
from turnloom.workers.broker.queues import QUEUES
from turnloom.workers.embedded.stack import Stack

_STEPS = 200
_WANTED_BYTES = 4096
_SHAPES = {
    "as written by models": random_plan(1, _STEPS, 0),
    "one after another": chain(_STEPS, 0),
    "side by side": fan_out(_STEPS - 1, [0]),
}
_PUSHED = re.compile(rf"[LR]PUSH (?:{'|'.join(map(re.escape, QUEUES))}) (.*)", re.IGNORECASE)
_END = "benchmarks.size:end"


def run(ours: Stack, short: bool) -> Table:
    """Run each plan in both placements."""
    rows: list[Row] = []
    shapes = dict(list(_SHAPES.items())[:1]) if short else _SHAPES
    with without_workers(ours):
        for placement in ("spread", "dense"):
            with systems.turnloom(ours, {"TURNLOOM_PLACEMENT": placement}) as system:
                system.driver.run(Order(_SHAPES["one after another"].needs, 1, 1))
                rows += [_row(ours, system, placement, name, shape) for name, shape in shapes.items()]
            progress(f"size: {placement}")
    largest = Spread.of([float(max(int(str(row["largest, bytes"])) for row in rows))])
    return Table(
        f"size: messages of a plan of {_STEPS} steps",
        rows,
        targets=[at_most(_WANTED_BYTES, "largest message, bytes", largest)],
    )


def _row(of: Stack, system: systems.System, placement: str, name: str, shape: Shape) -> Row:
    with _published(of) as sizes:
        system.driver.run(Order(shape.needs, 1, 1))
        found = list(sizes)
    return {
        "plan": name,
        "placement": placement,
        "messages": len(found),
        "largest, bytes": max(found),
        "all, bytes": sum(found),
    }


@contextmanager
def _published(of: Stack) -> Iterator[Iterator[int]]:
    """Yield an iterator over the sizes of the messages published between now and the moment it is read."""
    with Redis.from_url(of.redis_url) as client, client.monitor() as monitor:

        def sizes() -> Iterator[int]:
            client.echo(_END)
            while _END not in (command := str(monitor.next_command()["command"])):
                if pushed := _PUSHED.match(command):
                    yield len(codecs.escape_decode(pushed.group(1).encode())[0])

        yield sizes()

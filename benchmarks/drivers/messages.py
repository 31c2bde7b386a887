"""Publish and consume one message per step, with the settings that MESSAGES names: `ours`, or `defaults` for Celery's.

`celery -A benchmarks.drivers.messages worker` consumes. This module as a program publishes; with `ours`, as the engine
does. An order's turns are its messages. The last one reports that all of them were consumed.
"""

import asyncio
import os
import time
from functools import lru_cache
from uuid import uuid4

from celery import Celery, Task
from kombu.transport import TRANSPORT_ALIASES
from redis import Redis

from benchmarks.drivers.orders import Order, serve
from turnloom.workers import dispatch
from turnloom.workers.broker.app import RoadTask
from turnloom.workers.broker.app import app as engine
from turnloom.workers.broker.messages import TaskMessage

_URL = os.environ["REDIS_URL"]
_OURS = os.environ["MESSAGES"] == "ours"
_QUEUE = "tools.io" if _OURS else "celery"
_THROUGH = "messages:through"
_ELSEWHERE = {"include", "beat_schedule", "broker_url", "result_backend", "deprecated_settings"}
"""Settings that do not concern messages."""

app = Celery("messages", broker=_URL, backend=_URL, task_cls=RoadTask if _OURS else Task)
if _OURS:
    app.conf.update({name: value for name, value in dict(engine.conf.changes or {}).items() if name not in _ELSEWHERE})
else:
    TRANSPORT_ALIASES["redis"] = "kombu.transport.redis:Transport"


@app.task(name="noop")
def noop(turn_id: str, lanes: list[list[str]], generation: int, slots: int) -> None:
    """Do nothing, with the arguments of a step's task."""


@app.task(name="last")
def last() -> None:
    """Report that the messages before this one have been consumed."""
    _redis().lpush(_THROUGH, 1)


@lru_cache
def _redis() -> Redis:
    return Redis.from_url(_URL, socket_timeout=None)


async def _drive(order: Order) -> list[float]:
    began = time.perf_counter()
    for _ in range(order.turns):
        _publish(str(uuid4()))
    last.apply_async(queue=_QUEUE)
    if not _redis().brpop(_THROUGH, timeout=60):
        raise TimeoutError("the last message was not consumed within a minute")
    return [time.perf_counter() - began]


def _publish(turn_id: str) -> None:
    if _OURS:
        dispatch.publish([TaskMessage("noop", (turn_id, [["step"]], 1, 1), _QUEUE, f"{turn_id} step")])
    else:
        noop.si(turn_id, [["step"]], 1, 1).apply_async(queue=_QUEUE)


if __name__ == "__main__":
    asyncio.run(serve(_drive))

"""The same turn in hand-written Celery: a task that plans, a chord per wave, a task that answers with one INSERT.

As its documentation leads to it: the default pool and serialisers, `acks_late` so that a killed worker's task comes
back, results handed from wave to wave. `celery -A benchmarks.drivers.celery_waves worker` runs the tasks; this module
as a program sends turns, and hears of their end from a list.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from uuid import uuid4

import psycopg
from celery import Celery, chain, chord
from redis import Redis

from benchmarks.drivers.orders import Order, one_by_one, serve, waves

_ENDED = "waves:ended"
_TABLE = "CREATE TABLE IF NOT EXISTS wave_answers (id uuid PRIMARY KEY, plan jsonb, results jsonb, answer text)"
_INSERT = "INSERT INTO wave_answers VALUES (%s, %s, %s, %s)"

_LOST_S = 120
"""A chord that was lost is known by its silence, longer than what the first of 256 turns at once takes."""

app = Celery("waves", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
app.conf.task_acks_late = True


@app.task(name="plan")
def plan(turn_id: str, written: str) -> None:
    """Stand for the language model's plan, and begin its first wave."""
    _begin(turn_id, written, waves(json.loads(written)), [])


@app.task(name="call_tool")
def call_tool(step: str) -> dict[str, Any]:
    """Stand for a tool call that takes no time."""
    return {"step": step, "status": "ok", "waited_ms": 0}


@app.task(name="go_on")
def go_on(wave: Any, turn_id: str, written: str, left: list[list[str]], done: list[dict[str, Any]]) -> None:
    """Take the results of a wave and begin the next one."""
    _begin(turn_id, written, left, done + (wave if isinstance(wave, list) else [wave]))


@app.task(name="answer")
def answer(turn_id: str, written: str, results: list[dict[str, Any]]) -> None:
    """Write the answer by a template, keep it, and say that the turn has ended."""
    _database().execute(_INSERT, (turn_id, written, json.dumps(results), f"{len(results)} steps are done."))
    _redis().lpush(_ENDED, turn_id)


def _begin(turn_id: str, written: str, left: list[list[str]], done: list[dict[str, Any]]) -> None:
    if not left:
        answer.delay(turn_id, written, done)
        return
    steps = [call_tool.s(step) for step in left[0]]
    after = go_on.s(turn_id, written, left[1:], done)
    (chord(steps, after) if len(steps) > 1 else chain(steps[0], after)).delay()


@lru_cache
def _database() -> psycopg.Connection:
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


@lru_cache
def _redis() -> Redis:
    return Redis.from_url(os.environ["REDIS_URL"], decode_responses=True, socket_timeout=None)


def _ended() -> Iterator[str | None]:
    """Yield the turns that have ended; None where none has for so long that those under way must be lost."""
    while True:
        popped = _redis().brpop(_ENDED, timeout=_LOST_S)
        yield str(popped[1]) if popped else None


async def _drive(order: Order) -> list[float]:
    written = json.dumps(order.needs)

    def begin() -> str:
        turn_id = str(uuid4())
        plan.delay(turn_id, written)
        return turn_id

    return one_by_one(order, begin, _ended())


if __name__ == "__main__":
    _database().execute(_TABLE)
    asyncio.run(serve(_drive))

"""Run a turn in hand-written Celery: a task that plans, a chord per wave, a task that answers and records the reply.

It is written as Celery's documentation suggests: the default pool and serialisers, `acks_late` so that a killed
worker's task comes back, results handed from wave to wave. `celery -A benchmarks.peers.celery_turns worker` runs the
tasks. This module as a program is the API, which receives events by Redis.
"""

import asyncio
import json
import os
import sys
from functools import lru_cache
from typing import Any

import psycopg
from celery import Celery, chain, chord
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from benchmarks.peers.api import Tell, serve
from benchmarks.peers.inbox import Inbox
from benchmarks.peers.llm import BlockingAsking, needs_of
from benchmarks.waves import waves

_EVENTS = "turns:events"
_ANSWERED = "UPDATE inbox SET reply = %s, results = %s WHERE turn_id = %s"

app = Celery("turns", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
app.conf.task_acks_late = True


@app.task(name="plan")
def plan(turn_id: str, message: str) -> None:
    """Ask for the plan and begin its first wave."""
    drafted = _llm().plan(message)
    if drafted["steps"]:
        _begin(turn_id, message, waves(needs_of(drafted)), [])
    else:
        _answer(turn_id, str(drafted["reply"]), [])


@app.task(name="call_tool")
def call_tool(turn_id: str, step: str) -> dict[str, Any]:
    """Stand for a tool call that takes no time."""
    result = {"step": step, "status": "ok", "waited_ms": 0}
    _tell(turn_id, "step.finished", result)
    return result


@app.task(name="go_on")
def go_on(wave: Any, turn_id: str, message: str, left: list[list[str]], done: list[dict[str, Any]]) -> None:
    """Take the results of a wave and begin the next one."""
    _begin(turn_id, message, left, done + (wave if isinstance(wave, list) else [wave]))


@app.task(name="respond")
def respond(turn_id: str, message: str, results: list[dict[str, Any]]) -> None:
    """Ask for the reply."""
    _answer(turn_id, _llm().reply(message, results), results)


def _begin(turn_id: str, message: str, left: list[list[str]], done: list[dict[str, Any]]) -> None:
    if not left:
        respond.delay(turn_id, message, done)
        return
    steps = [call_tool.s(turn_id, step) for step in left[0]]
    after = go_on.s(turn_id, message, left[1:], done)
    (chord(steps, after) if len(steps) > 1 else chain(steps[0], after)).delay()


def _answer(turn_id: str, reply: str, results: list[dict[str, Any]]) -> None:
    _database().execute(_ANSWERED, (reply, json.dumps(results), turn_id))
    _tell(turn_id, "reply.done", reply)


def _tell(turn_id: str, kind: str, data: object) -> None:
    _redis().publish(_EVENTS, json.dumps([turn_id, kind, data]))


@lru_cache
def _llm() -> BlockingAsking:
    return BlockingAsking()


@lru_cache
def _database() -> psycopg.Connection:
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


@lru_cache
def _redis() -> Redis:
    return Redis.from_url(os.environ["REDIS_URL"])


class _Turns:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._replies: dict[str, asyncio.Future[str]] = {}
        self._tell: dict[str, Tell] = {}

    async def accept(self, turn_id: str, message: str) -> None:
        await self._inbox.keep(turn_id, message)
        self._replies[turn_id] = asyncio.get_running_loop().create_future()

    async def run(self, turn_id: str, message: str, tell: Tell) -> str:
        self._tell[turn_id] = tell
        plan.delay(turn_id, message)
        try:
            return await self._replies[turn_id]
        finally:
            del self._replies[turn_id], self._tell[turn_id]

    async def listen(self) -> None:
        """Pass on the events that the tasks publish."""
        pubsub = AsyncRedis.from_url(os.environ["REDIS_URL"], socket_timeout=None).pubsub()
        await pubsub.subscribe(_EVENTS)
        async for item in pubsub.listen():
            if item["type"] == "message":
                self._hear(*json.loads(item["data"]))

    def _hear(self, turn_id: str, kind: str, data: Any) -> None:
        reply = self._replies.get(turn_id)
        if reply is None or reply.done():  # a redelivered task has reported it before
            return
        if kind == "reply.done":
            reply.set_result(data)
        else:
            self._tell[turn_id](kind, data)


async def _main(port: int) -> None:
    inbox = Inbox()
    await inbox.open()
    turns = _Turns(inbox)
    await asyncio.gather(turns.listen(), serve(port, turns))


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))

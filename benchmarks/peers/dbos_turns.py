"""Run a turn in DBOS: a durable workflow, with a durable step for the plan, for each tool and for the reply.

Steps are called directly and asynchronously, each tool as soon as those that it needs have ended. With a queue, each
turn would wait to be polled. DBOS records the message itself.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

from benchmarks.peers.api import Tell, serve
from benchmarks.peers.llm import Asking, needs_of
from benchmarks.waves import waves

_llm = Asking()
_tell: dict[str, Tell] = {}
"""The function that each turn sends its tools' events to."""


@DBOS.step()
async def draft(message: str) -> dict[str, Any]:
    """Ask for the plan."""
    return await _llm.plan(message)


@DBOS.step()
async def call_tool(_: str) -> dict[str, Any]:
    """Stand for a tool call that takes no time."""
    return {"status": "ok", "waited_ms": 0}


@DBOS.step()
async def respond(message: str, results: dict[str, Any]) -> str:
    """Ask for the reply."""
    return await _llm.reply(message, results)


@DBOS.workflow()
async def turn(message: str) -> str:
    """Plan, run, answer."""
    plan = await draft(message)
    if not plan["steps"]:
        return str(plan["reply"])
    results: dict[str, Any] = {}
    for wave in waves(needs_of(plan)):
        results |= await _run(wave)
    return await respond(message, results)


async def _run(wave: Sequence[str]) -> dict[str, Any]:
    done = await asyncio.gather(*(call_tool(step) for step in wave))
    if tell := _tell.get(DBOS.workflow_id or ""):
        for result in done:
            tell("step.finished", result)
    return dict(zip(wave, done, strict=True))


class _Turns:
    def __init__(self) -> None:
        self._started: dict[str, Any] = {}

    async def accept(self, turn_id: str, message: str) -> None:
        with SetWorkflowID(turn_id):
            self._started[turn_id] = await DBOS.start_workflow_async(turn, message)

    async def run(self, turn_id: str, _: str, tell: Tell) -> str:
        _tell[turn_id] = tell
        try:
            return str(await self._started.pop(turn_id).get_result())
        finally:
            del _tell[turn_id]


def main() -> None:
    """Serve."""
    config: DBOSConfig = {
        "name": "road",
        "system_database_url": os.environ["DATABASE_URL"],
        "executor_id": str(os.getpid()),
        "application_version": "1",
        "run_admin_server": False,
        "log_level": "WARNING",
    }
    DBOS(config=config)
    DBOS.launch()
    try:
        asyncio.run(serve(int(sys.argv[1]), _Turns()))
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    main()

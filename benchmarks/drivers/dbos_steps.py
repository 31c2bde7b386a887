"""The same turn in DBOS: a durable workflow, a durable step for the plan, for each tool and for the answer.

Called directly and asynchronously, the steps of a wave side by side: a queue would have each turn wait to be polled.
"""

import asyncio
import json
import os
from typing import Any

from dbos import DBOS, DBOSConfig

from benchmarks.drivers.orders import Needs, Order, serve, side_by_side, waves


@DBOS.step()
async def draft(needs: Needs) -> Any:
    """Stand for the language model's plan."""
    return json.loads(json.dumps(needs))


@DBOS.step()
async def run_tool(step: str) -> dict[str, Any]:
    """Stand for a tool call that takes no time."""
    return {"step": step, "status": "ok", "waited_ms": 0}


@DBOS.step()
async def respond(results: list[dict[str, Any]]) -> str:
    """Write the answer by a template."""
    return f"{len(results)} steps are done."


@DBOS.workflow()
async def turn(needs: Needs) -> str:
    """Plan, run, answer."""
    results: list[dict[str, Any]] = []
    for wave in waves(await draft(needs)):
        results += await asyncio.gather(*(run_tool(step) for step in wave))
    return await respond(results)


async def _drive(order: Order) -> list[float]:
    return await side_by_side(order, lambda _: turn(order.needs))


def main() -> None:
    """Serve."""
    config: DBOSConfig = {
        "name": "benchmark",
        "system_database_url": os.environ["DATABASE_URL"],
        "executor_id": str(os.getpid()),
        "application_version": "1",
        "run_admin_server": False,
        "log_level": "WARNING",
    }
    DBOS(config=config)
    DBOS.launch()
    try:
        asyncio.run(serve(_drive))
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    main()

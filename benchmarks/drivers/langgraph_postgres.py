"""The same turn in LangGraph with Postgres checkpoints: a node per step, each superstep durable before the next.

Set up for speed within that: asynchronous, one graph compiled per shape before it is measured, and as many savers as
connections, because a saver lets only one coroutine at a time use its connection (its lock).
"""

import asyncio
import json
import operator
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from benchmarks.drivers.orders import Needs, Order, serve, side_by_side

_SAVERS = 8


class _State(TypedDict, total=False):
    plan: dict[str, Any]
    results: Annotated[dict[str, Any], operator.or_]
    answer: str


class _Driver:
    def __init__(self, savers: Sequence[AsyncPostgresSaver]) -> None:
        self._savers = savers
        self._compiled: dict[str, list[Any]] = {}

    async def drive(self, order: Order) -> list[float]:
        graphs = self._graphs(order.needs)

        async def turn(place: int) -> None:
            config = {"configurable": {"thread_id": str(uuid4())}}
            state = await graphs[place % len(graphs)].ainvoke({"results": {}}, config, durability="sync")
            assert len(state["results"]) == len(order.needs)
            assert state["answer"]

        return await side_by_side(order, turn)

    def _graphs(self, needs: Needs) -> list[Any]:
        key = json.dumps(needs)
        if key not in self._compiled:
            self._compiled[key] = [_graph(needs, key).compile(checkpointer=saver) for saver in self._savers]
        return self._compiled[key]


def _graph(needs: Needs, written: str) -> Any:
    graph = StateGraph(_State)
    graph.add_node("draft", lambda _: {"plan": json.loads(written)})
    graph.add_node("respond", lambda state: {"answer": f"{len(state['results'])} steps are done."})
    graph.add_edge(START, "draft")
    for step, direct in needs.items():
        graph.add_node(step, _tool(step))
        graph.add_edge([*direct] or ["draft"], step)
    used = {need for direct in needs.values() for need in direct}
    graph.add_edge([step for step in needs if step not in used], "respond")
    graph.add_edge("respond", END)
    return graph


def _tool(step: str) -> Callable[[_State], _State]:
    return lambda _: {"results": {step: {"status": "ok", "waited_ms": 0}}}


async def _main() -> None:
    url = os.environ["DATABASE_URL"]
    savers = [
        AsyncPostgresSaver(
            await AsyncConnection.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
        )
        for _ in range(_SAVERS)
    ]
    await savers[0].setup()
    await serve(_Driver(savers).drive)


if __name__ == "__main__":
    asyncio.run(_main())

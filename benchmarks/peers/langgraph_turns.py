"""Run a turn in LangGraph with Postgres checkpoints, in either of its APIs: `langgraph_turns send|functional PORT`.

`send` has a superstep for each wave of tools, where each tool is a `Send`, and one that finds the next tools.
`functional` is an entrypoint that starts each task as soon as the tasks that it needs have ended.
Both are set up for speed: asynchronous, compiled once, and with as many savers as connections, because the lock of a
saver lets only one coroutine at a time use its connection.
"""

import asyncio
import operator
import os
import sys
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from benchmarks.peers.api import Tell, serve
from benchmarks.peers.inbox import Inbox
from benchmarks.peers.llm import Asking, needs_of
from benchmarks.waves import Needs

_SAVERS = 8
_TOOL = "call_tool"
_llm = Asking()


class _State(TypedDict, total=False):
    message: str
    needs: Needs
    results: Annotated[dict[str, Any], operator.or_]
    reply: str


def _send_graph(saver: AsyncPostgresSaver) -> Any:
    graph = StateGraph(_State)
    graph.add_node("draft", _draft)
    graph.add_node(_TOOL, lambda step: {"results": {step: _result()}})
    graph.add_node("look", lambda _: {})
    graph.add_node("respond", _respond)
    graph.add_edge(START, "draft")
    graph.add_conditional_edges("draft", _next, [_TOOL, "respond", END])
    graph.add_edge(_TOOL, "look")
    graph.add_conditional_edges("look", _next, [_TOOL, "respond"])
    graph.add_edge("respond", END)
    return graph.compile(checkpointer=saver)


async def _draft(state: _State) -> _State:
    plan = await _llm.plan(state["message"])
    return {"needs": needs_of(plan)} if plan["steps"] else {"reply": plan["reply"]}


async def _respond(state: _State) -> _State:
    return {"reply": await _llm.reply(state["message"], state["results"])}


def _next(state: _State) -> Any:
    if "reply" in state:
        return END
    done = state["results"]
    ready = [name for name, needs in state["needs"].items() if name not in done and done.keys() >= set(needs)]
    return [Send(_TOOL, name) for name in ready] or "respond"


def _functional_graph(saver: AsyncPostgresSaver) -> Any:
    @entrypoint(checkpointer=saver)
    async def turn(state: _State) -> str:
        plan = await _plan_task(state["message"])
        if not plan["steps"]:
            return str(plan["reply"])
        running: dict[str, asyncio.Task[Any]] = {}
        for step in plan["steps"]:
            running[step["id"]] = asyncio.create_task(_in_order(step["id"], [running[need] for need in step["needs"]]))
        results = {name: await step for name, step in running.items()}
        return str(await _reply_task(state["message"], results))

    return turn


async def _in_order(name: str, needs: Sequence[asyncio.Task[Any]]) -> Any:
    for need in needs:
        await need
    return await _tool_task(name)


@task
async def _plan_task(message: str) -> dict[str, Any]:
    return await _llm.plan(message)


@task
async def _tool_task(_: str) -> dict[str, Any]:
    return _result()


@task
async def _reply_task(message: str, results: dict[str, Any]) -> str:
    return await _llm.reply(message, results)


def _result() -> dict[str, Any]:
    return {"status": "ok", "waited_ms": 0}


_APIS: dict[str, tuple[Callable[[AsyncPostgresSaver], Any], str]] = {
    "send": (_send_graph, _TOOL),
    "functional": (_functional_graph, "_tool_task"),
}
"""A function that makes a graph, and the name under which the graph reports a tool."""


class _Turns:
    def __init__(self, inbox: Inbox, graphs: Sequence[Any], tool: str) -> None:
        self.accept = inbox.keep
        self._graphs = cycle(graphs)
        self._tool = tool

    async def run(self, turn_id: str, message: str, tell: Tell) -> str:
        config = {"configurable": {"thread_id": turn_id}}
        turn = next(self._graphs)
        reply = ""
        updates = turn.astream({"message": message, "results": {}}, config, stream_mode="updates", durability="sync")
        async for update in updates:
            for name, data in update.items():
                if name == self._tool:
                    tell("step.finished", data)
                elif isinstance(data, dict):
                    reply = data.get("reply") or reply
                else:
                    reply = data
        return reply


async def _main(api: str, port: int) -> None:
    url = os.environ["DATABASE_URL"]
    savers = [
        AsyncPostgresSaver(
            await AsyncConnection.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
        )
        for _ in range(_SAVERS)
    ]
    inbox = Inbox()
    await inbox.open()
    await savers[0].setup()
    graph, tool = _APIS[api]
    await serve(port, _Turns(inbox, [graph(saver) for saver in savers], tool))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))

"""The one event loop of a process, in a thread of its own: the MCP library is asynchronous, we are not."""

import os
import threading
from collections.abc import Awaitable, Callable
from functools import cache
from queue import SimpleQueue
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal

Value = TypeVar("Value")


class Loop:
    """An event loop that other threads may call into, and tasks that live on in it."""

    def __init__(self, portal: BlockingPortal, tasks: TaskGroup) -> None:
        self.tasks = tasks
        self._portal = portal

    def call(self, function: Callable[[], Awaitable[Value]], timeout_s: float) -> Value:
        """Run a coroutine in the loop and wait for its end, but no longer than that.

        Raises:
            TimeoutError: it has not ended in time. It is told to, and not waited for.
        """
        future = self._portal.start_task_soon(function)
        try:
            return future.result(timeout_s)
        except TimeoutError:
            future.cancel()
            raise


@cache
def loop() -> Loop:
    """Return this process's loop. Its thread ends with the process: nothing of it waits for a server's goodbye."""
    made: SimpleQueue[Loop] = SimpleQueue()
    threading.Thread(target=anyio.run, args=(_serve, made), name="mcp", daemon=True).start()
    return made.get()


async def _serve(made: "SimpleQueue[Loop]") -> None:
    async with anyio.create_task_group() as tasks, BlockingPortal() as portal:
        made.put(Loop(portal, tasks))
        await portal.sleep_until_stopped()


os.register_at_fork(after_in_child=loop.cache_clear)

"""The event loop of a process, in a thread of its own: the MCP library is asynchronous, and our code is not."""

import os
import threading
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal

from turnloom.models.runtime.daemon import Daemon

Value = TypeVar("Value")


class Loop:
    """An event loop that other threads may call, with tasks that outlive a call."""

    def __init__(self, portal: BlockingPortal, tasks: TaskGroup) -> None:
        self.tasks = tasks
        self._portal = portal

    def call(self, function: Callable[[], Awaitable[Value]], timeout_s: float) -> Value:
        """Run a coroutine in the loop and wait for its result, at most `timeout_s`.

        Raises:
            TimeoutError: the coroutine did not end in time. It is cancelled, and nobody waits for it to end.
        """
        future = self._portal.start_task_soon(function)
        try:
            return future.result(timeout_s)
        except TimeoutError:
            future.cancel()
            raise


class _Place:
    """The event loop of this process. If the loop ends, another one replaces it."""

    def __init__(self) -> None:
        self._stands = threading.Event()
        self._loop: Loop | None = None
        Daemon("mcp", self._run).start()

    def loop(self) -> Loop:
        """Return the running loop. Wait for it if it is just being started."""
        while (loop := self._loop) is None:
            self._stands.wait()
        return loop

    def _run(self) -> None:
        try:
            anyio.run(self._serve)
        finally:
            self._stands.clear()
            self._loop = None

    async def _serve(self) -> None:
        async with anyio.create_task_group() as tasks, BlockingPortal() as portal:
            self._loop = Loop(portal, tasks)
            self._stands.set()
            await portal.sleep_until_stopped()


def loop() -> Loop:
    """Return this process's loop. Its thread ends with the process, without waiting for servers to disconnect."""
    return _place().loop()


@cache
def _place() -> _Place:
    return _Place()


os.register_at_fork(after_in_child=_place.cache_clear)

"""Run clients that each take one turn after another, and measure while all of them are busy."""

import asyncio
import random
import string
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.clients import Client
from benchmarks.turn_waits import Refused, Way
from turnloom.models.runtime.ids import new_id

_LEAST_RAMP = 64
"""The measurement begins after two turns per client, at least this many, because at first all clients are in step."""
_LONGEST_RAMP_S = 30.0
_LONGEST_WINDOW_S = 60.0
"""The longest wait for enough turns to end, at least one per client."""
_ENOUGH_TURNS = 10
_PATIENCE_S = 90.0
_MOST_ERRORS = 50
_LOOK_S = 0.01
_WORD_LETTERS = 12

Meter = Callable[[], Mapping[str, float]]
"""A function that returns figures that only grow."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A plan to ask for, and the way in which the client learns of its turn's end."""

    plan: str
    steps: int
    way: Way


@dataclass(slots=True)
class Window:
    """The turns that ended while all clients were busy, and their cost."""

    seconds: float
    latencies_s: Sequence[float]
    used: Mapping[str, float]
    """Figure -> its growth per turn."""
    errors: Sequence[str] = ()
    """Errors of the whole run."""

    @property
    def per_s(self) -> float:
        """Turns per second."""
        return len(self.latencies_s) / self.seconds


class Crowd:
    """The clients of a system, one for each turn that is to run at a time. They share its URLs."""

    def __init__(self, urls: Sequence[str], key: str, at_once: int) -> None:
        self._clients = [Client(urls[number % len(urls)], key) for number in range(at_once)]
        self._latencies_s: list[float] = []
        self._errors: list[str] = []
        self._is_over = False

    def measure(self, wish: Wish, seconds: float, meter: Meter) -> Window:
        """Measure for `seconds`, beginning when every client has begun its second turn, or later.

        Raises:
            RuntimeError: the clients got almost only errors, or nothing at all.
        """
        return asyncio.run(self._run(wish, seconds, meter))

    async def _run(self, wish: Wish, seconds: float, meter: Meter) -> Window:
        tasks = [asyncio.create_task(self._turns_of_one(client, wish)) for client in self._clients]
        try:
            window = await self._window(wish, seconds, meter)
            self._is_over = True
            _, late = await asyncio.wait(tasks, timeout=_PATIENCE_S)
            window.errors = [*self._errors, *[f"no end after {_PATIENCE_S:.0f} s"] * len(late)]
            return window
        finally:
            self._is_over = True
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for client in self._clients:
                client.close()

    async def _window(self, wish: Wish, seconds: float, meter: Meter) -> Window:
        clients = len(self._clients)
        begun = max(clients, min(2 * clients, _LEAST_RAMP))
        await self._until(lambda: len(self._latencies_s) >= begun, _LONGEST_RAMP_S)
        before, first, began = meter(), len(self._latencies_s), time.perf_counter()
        await asyncio.sleep(seconds)
        enough = first + max(clients, _ENOUGH_TURNS)
        await self._until(lambda: len(self._latencies_s) >= enough, _LONGEST_WINDOW_S)
        latencies_s, took_s, after = self._latencies_s[first:], time.perf_counter() - began, meter()
        if not latencies_s:
            raise RuntimeError(f"no turn of {wish.plan} ended: {self._errors[:1]}")
        return Window(took_s, latencies_s, {name: (after[name] - before[name]) / len(latencies_s) for name in after})

    async def _until(self, is_so: Callable[[], bool], seconds: float) -> None:
        end = time.perf_counter() + seconds
        while not is_so() and time.perf_counter() < end:
            if len(self._errors) > _MOST_ERRORS:
                raise RuntimeError(f"{len(self._errors)} turns were not answered, one of them: {self._errors[0]}")
            await asyncio.sleep(_LOOK_S)

    async def _turns_of_one(self, client: Client, wish: Wish) -> None:
        while not self._is_over:
            began = time.perf_counter()
            try:
                await _ask(client, wish)
            except (Refused, OSError, EOFError) as error:
                self._errors.append(f"{type(error).__name__}: {error}"[:300])
                client.close()
            else:
                self._latencies_s.append(time.perf_counter() - began)


async def _ask(client: Client, wish: Wish) -> None:
    word = "".join(random.choices(string.ascii_lowercase, k=_WORD_LETTERS))
    message = {"message": f"do {wish.plan} as {word}", "agent": "generic", "message_id": str(new_id())}
    ended = await wish.way(client, message)
    if ended.status != "succeeded" or word not in ended.text or ended.steps != wish.steps:
        raise Refused(f"{ended.status} with {ended.steps} of {wish.steps} steps: {ended.text[-200:]}")

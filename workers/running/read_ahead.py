"""Steps that were claimed together with others and wait for some of them: an executor runs them ahead of the ledger.

Only as long as all goes well. When a step does not succeed, the ledger decides what becomes of those after it, so what
still waits is given back.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import orjson

from models.ledger.steps import ClaimedStep, FinishedStep


@dataclass
class _Waiting:
    step: ClaimedStep
    claimed_at: float
    """On the monotonic clock."""
    waits: set[str]
    inputs: dict[str, Any]


class LedgerTime:
    """The ledger's clock, as far as its answers let this process know it.

    Never ahead of it, and never turned back: what happens here one after another has times in that order, which lie
    between those of the commits before and after it, whatever the clock of this machine says.
    """

    def __init__(self) -> None:
        self._offset_s = -math.inf

    def hear(self, at: float, moment: float | None = None) -> None:
        """Note the time that an answer tells, in seconds since 1970. `moment`: when it came; None: now."""
        self._offset_s = max(self._offset_s, at - (time.monotonic() if moment is None else moment))

    def of(self, moment: float) -> float:
        """Return the time of a moment on the monotonic clock."""
        return moment + self._offset_s


class Ahead:
    """The steps of one executor that wait."""

    def __init__(self) -> None:
        self._steps: dict[str, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: ClaimedStep) -> None:
        """Keep a claimed step until all that it waits for has succeeded."""
        self._steps[step.id] = _Waiting(step, time.monotonic(), set(step.waits), dict(step.inputs))

    def after(self, finished: FinishedStep) -> list[ClaimedStep]:
        """Return the steps that waited for nothing but this success any more, with its result among their inputs."""
        waited = [waiting for waiting in self._steps.values() if finished.id in waiting.waits]
        for waiting in waited:
            waiting.waits.discard(finished.id)
            # A copy: what a tool does to its arguments must not change the result that is recorded.
            waiting.inputs[finished.id] = orjson.loads(orjson.dumps(finished.result))
        return [self._ready(waiting) for waiting in waited if not waiting.waits]

    def give_back(self) -> list[ClaimedStep]:
        """Return what still waits, and keep it no longer."""
        given = [waiting.step for waiting in self._steps.values()]
        self._steps.clear()
        return given

    def _ready(self, waiting: _Waiting) -> ClaimedStep:
        del self._steps[waiting.step.id]
        waited_ms = round((time.monotonic() - waiting.claimed_at) * 1000)
        return replace(waiting.step, inputs=waiting.inputs, left_ms=max(0, waiting.step.left_ms - waited_ms))

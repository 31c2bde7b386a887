"""Read-ahead: an executor runs steps that were claimed together one after another, ahead of the ledger.

It does so only while they succeed. When a step does not, the ledger decides about those after it, so the waiting steps
are given back.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import orjson

from turnloom.models.ledger.steps import ClaimedStep, FinishedStep


@dataclass
class _Waiting:
    step: ClaimedStep
    claimed_at: float
    """A moment on the monotonic clock."""
    waits: set[str]
    inputs: dict[str, Any]


class LedgerTime:
    """The ledger's clock, as this process knows it from the ledger's answers.

    It is never ahead of the ledger's and never goes back. So events here have times in their order, between those of
    the commits before and after them, whatever this machine's clock says.
    """

    def __init__(self) -> None:
        self._offset_s = -math.inf

    def hear(self, at: float, moment: float | None = None) -> None:
        """Take in the time of an answer, in seconds since 1970. `moment`: when it came; None: now."""
        self._offset_s = max(self._offset_s, at - (time.monotonic() if moment is None else moment))

    def of(self, moment: float) -> float:
        """Return the time of a moment on the monotonic clock."""
        return moment + self._offset_s


class Ahead:
    """The waiting steps of one executor."""

    def __init__(self) -> None:
        self._steps: dict[str, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: ClaimedStep) -> None:
        """Keep a claimed step until all steps that it waits for have succeeded."""
        self._steps[step.id] = _Waiting(step, time.monotonic(), set(step.waits), dict(step.inputs))

    def after(self, finished: FinishedStep) -> list[ClaimedStep]:
        """Return the steps for which this was the last awaited success, with its result in their inputs."""
        waited = [waiting for waiting in self._steps.values() if finished.id in waiting.waits]
        for waiting in waited:
            waiting.waits.discard(finished.id)
            # A copy: a tool that changes its arguments must not change the recorded result.
            waiting.inputs[finished.id] = orjson.loads(orjson.dumps(finished.result))
        return [self._ready(waiting) for waiting in waited if not waiting.waits]

    def give_back(self) -> list[ClaimedStep]:
        """Return the waiting steps, and keep them no longer."""
        given = [waiting.step for waiting in self._steps.values()]
        self._steps.clear()
        return given

    def _ready(self, waiting: _Waiting) -> ClaimedStep:
        del self._steps[waiting.step.id]
        waited_ms = round((time.monotonic() - waiting.claimed_at) * 1000)
        return replace(waiting.step, inputs=waiting.inputs, left_ms=max(0, waiting.step.left_ms - waited_ms))

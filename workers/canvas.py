"""Turn expressions into Celery chains, groups and chords, and publish them.

Only constructs that are sound in Celery 5.7 are built: every chord's body is one plain task; a no-op join stands
between two adjacent groups; a chain inside a header never ends in a group; nothing ends in a group after a chord.
tests/journeys/test_plans.py runs the cases on a real broker.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeGuard
from uuid import UUID

from celery import chain, group
from celery.canvas import Signature

from models.logging import log
from planner.graph import Expression, Lane, Parallel, Series
from workers import dispatch
from workers.app import app
from workers.dispatch import PUBLISH_ERRORS, Message
from workers.isolation import GRACE_S

SLOTS = {"spread": 1, "dense": 4}
"""Lanes of a turn that one task runs at a time, by placement."""


def publish(turn_id: UUID, generation: int, expressions: Iterable[Expression], slots: int) -> None:
    """Send a canvas for each expression; with more than one slot, lanes that only read ride together.

    What cannot be sent stays ready in the ledger.
    """
    canvases = [part for canvas in build(turn_id, generation, expressions, slots) for part in _side_by_side(canvas)]
    try:
        if messages := [_message(canvas) for canvas in canvases if _is_task(canvas)]:
            dispatch.publish(messages)
        for canvas in canvases:
            if not _is_task(canvas):
                canvas.apply_async()
    except PUBLISH_ERRORS as error:
        log.warning("canvas.unsent", turn_id=str(turn_id), error=type(error).__name__)


def build(turn_id: UUID, generation: int, expressions: Iterable[Expression], slots: int) -> Iterator[Signature]:
    """Yield the canvases of expressions; their messages carry ids only."""
    return _Builder(str(turn_id), generation, slots).canvases(expressions)


def rides(expression: Expression) -> TypeGuard[Lane]:
    """Whether this is a lane that may run in one task with others of its queue."""
    return isinstance(expression, Lane) and expression.only_reads and not expression.limit_ms


class _Builder:
    def __init__(self, turn_id: str, generation: int, slots: int) -> None:
        self._turn_id = turn_id
        self._generation = generation
        self._slots = slots

    def canvases(self, expressions: Iterable[Expression]) -> Iterator[Signature]:
        riding: dict[str, list[Lane]] = defaultdict(list)
        for expression in expressions:
            if self._slots > 1 and rides(expression):
                riding[expression.queue].append(expression)
            else:
                yield self.whole(expression)
        for lanes in riding.values():
            for start in range(0, len(lanes), self._slots):
                yield self._lanes(lanes[start : start + self._slots])

    def whole(self, expression: Expression) -> Signature:
        if isinstance(expression, Parallel):
            return group([self._branch(part) for part in expression.parts])
        parts = self._parts(expression)
        if _has_group(parts[:-1]) and _is_group(parts[-1]):
            parts.append(self._join())
        return _chained(parts)

    def _branch(self, expression: Lane | Series) -> Signature:
        parts = self._parts(expression)
        if _is_group(parts[-1]):
            parts.append(self._join())
        return _chained(parts)

    def _parts(self, expression: Lane | Series) -> list[Signature]:
        if isinstance(expression, Lane):
            return [self._lanes([expression])]
        parts: list[Signature] = []
        for part in expression.parts:
            if isinstance(part, Lane):
                parts.append(self._lanes([part]))
                continue
            if parts and _is_group(parts[-1]):
                parts.append(self._join())
            parts.append(group([self._branch(inner) for inner in part.parts]))
        return parts

    def _lanes(self, lanes: list[Lane]) -> Signature:
        first = lanes[0]
        return app.signature(
            "run_steps",
            args=(self._turn_id, [list(lane.steps) for lane in lanes], self._generation, self._slots),
            immutable=True,
            queue=first.queue,
            shadow=first.label if len(lanes) == 1 else f"{first.label} +{len(lanes) - 1}",
            argsrepr=f"{self._turn_id} {' '.join(step for lane in lanes for step in lane.steps)}",
            kwargsrepr="{}",
            time_limit=first.limit_ms and math.ceil(first.limit_ms / 1000) + GRACE_S,
        )

    def _join(self) -> Signature:
        return app.signature("join", args=(self._turn_id,), immutable=True, queue="tools.io")


@app.task(name="join", ignore_result=True)
def join(turn_id: str) -> None:
    """Do nothing: a plain task where Celery needs one between groups."""


def _side_by_side(canvas: Signature) -> list[Signature]:
    """Return the parts of a group that nothing waits for: Celery need not know that they belong together."""
    return list(canvas.tasks) if isinstance(canvas, group) else [canvas]


def _is_task(canvas: Signature) -> bool:
    return canvas.subtask_type is None


def _message(task: Signature) -> Message:
    options = task.options
    return Message(
        task=str(task.task),
        args=task.args,
        queue=options["queue"],
        argsrepr=options["argsrepr"],
        label=options["shadow"],
        time_limit=options["time_limit"],
    )


def _chained(parts: list[Signature]) -> Signature:
    return parts[0] if len(parts) == 1 else chain(*parts)


def _is_group(part: Signature) -> bool:
    return isinstance(part, group)


def _has_group(parts: list[Signature]) -> bool:
    return any(_is_group(part) for part in parts)

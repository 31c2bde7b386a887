"""Canvases are built from expressions, as Celery chains, groups and chords, and published here.

Only constructs that work in Celery 5.7 are built: every chord's body is one plain task; a no-op join stands between two
adjacent groups; a chain inside a header never ends in a group; nothing ends in a group after a chord.
tests/journeys/test_plans.py runs the cases on a real broker.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from uuid import UUID

from celery import chain, chord, group
from celery.canvas import Signature, _chain

from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.planner.plan.expressions import Bundle, Expression, Lane, Parallel, Series
from turnloom.workers import dispatch
from turnloom.workers.broker.app import app
from turnloom.workers.broker.chords import Fork, beginning
from turnloom.workers.dispatch import PUBLISH_ERRORS
from turnloom.workers.running.isolation import REAPING_S


def publish(turn_id: UUID, generation: int, expressions: Iterable[Expression], slots: int) -> None:
    """Send a canvas for each expression. With more than one slot, read-only lanes share a task.

    A canvas that cannot be sent stays ready in the ledger.
    """
    canvases = build(turn_id, generation, expressions, slots)
    try:
        if settings().has_fast_broker:
            dispatch.publish([message for canvas in canvases for message in beginning(canvas)])
        else:
            for canvas in canvases:
                stock_canvas(canvas).apply_async()
    except PUBLISH_ERRORS as error:
        log.warning("canvas.unsent", turn_id=str(turn_id), error=type(error).__name__)


def build(turn_id: UUID, generation: int, expressions: Iterable[Expression], slots: int) -> Iterator[Signature]:
    """Yield the canvases of expressions; their messages carry ids only."""
    return _Builder(str(turn_id), generation, slots).canvases(expressions)


def stock_canvas(canvas: Signature) -> Signature:
    """Return a canvas with chains, groups and chords that are Celery's own."""
    if isinstance(canvas, Fork):
        branches = [stock_canvas(branch) for branch in canvas.tasks]
        return group(branches) if canvas.is_open else chord(branches, canvas.body)
    return chain(*map(stock_canvas, canvas.tasks)) if isinstance(canvas, _chain) else canvas


class _Builder:
    def __init__(self, turn_id: str, generation: int, slots: int) -> None:
        self._turn_id = turn_id
        self._generation = generation
        self._slots = slots

    def canvases(self, expressions: Iterable[Expression]) -> Iterator[Signature]:
        riding: dict[str, list[list[Lane]]] = defaultdict(list)
        for expression in expressions:
            lanes = _riding(expression) if self._slots > 1 else []
            if not lanes:
                yield self.whole(expression)
                continue
            tasks = riding[lanes[0].queue]
            if tasks and len(tasks[-1]) + len(lanes) <= self._slots:
                tasks[-1].extend(lanes)
            else:
                tasks.append(lanes)
        for tasks in riding.values():
            yield from map(self._lanes, tasks)

    def whole(self, expression: Expression) -> Signature:
        if isinstance(expression, Parallel):
            return self._fork(expression)
        parts = self._parts(expression)
        if any(isinstance(part, Fork) for part in parts[:-1]):
            self._close(parts[-1])
        return _chained(parts)

    def _branch(self, expression: Lane | Series) -> Signature:
        parts = self._parts(expression)
        self._close(parts[-1])
        return _chained(parts)

    def _parts(self, expression: Lane | Bundle | Series) -> list[Signature]:
        if isinstance(expression, Lane):
            return [self._lanes([expression])]
        if isinstance(expression, Bundle):
            return [self._lanes(list(expression.lanes))]
        parts: list[Signature] = []
        for part in expression.parts:
            before = parts[-1] if parts else None
            if isinstance(part, Parallel):
                self._close(before)
                parts.append(self._fork(part))
            elif isinstance(before, Fork) and before.is_open:
                before.close(self._lanes([part]))
            else:
                parts.append(self._lanes([part]))
        return parts

    def _fork(self, expression: Parallel) -> Fork:
        return Fork([self._branch(part) for part in expression.parts])

    def _close(self, part: Signature | None) -> None:
        """Let a no-op follow a group, if another group follows it or nothing may end in a group."""
        if isinstance(part, Fork) and part.is_open:
            part.close(self._join())

    def _lanes(self, lanes: list[Lane]) -> Signature:
        first, more = lanes[0], sum(len(lane.steps) for lane in lanes) - 1
        tool = first.label.partition(" +")[0]
        return app.signature(
            "run_steps",
            args=(self._turn_id, [list(lane.steps) for lane in lanes], self._generation, max(self._slots, len(lanes))),
            immutable=True,
            queue=first.queue,
            shadow=f"{tool} +{more}" if more else tool,
            argsrepr=f"{self._turn_id} {' '.join(step for lane in lanes for step in lane.steps)}",
            kwargsrepr="{}",
            time_limit=first.limit_ms and math.ceil(first.limit_ms / 1000) + REAPING_S,
        )

    def _join(self) -> Signature:
        return app.signature(
            "join", args=(self._turn_id,), immutable=True, queue="tools.io", argsrepr=self._turn_id, kwargsrepr="{}"
        )


@app.task(name="join", ignore_result=True)
def join(turn_id: str) -> None:
    """Do nothing: Celery needs a plain task between groups."""


def _riding(expression: Expression) -> list[Lane]:
    """Return the lanes that may share a task with others of their queue; none if they may not."""
    if isinstance(expression, Bundle):
        return list(expression.lanes)
    if isinstance(expression, Lane) and expression.may_share:
        return [expression]
    return []


def _chained(parts: list[Signature]) -> Signature:
    return parts[0] if len(parts) == 1 else _chain(*parts)

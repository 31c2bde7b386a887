"""Turn expressions into Celery chains, groups and chords, and publish them.

Only constructs that are sound in Celery 5.7 are built: every chord's body is one plain task; a no-op join stands
between two adjacent groups; a chain inside a header never ends in a group; nothing ends in a group after a chord.
tests/workers/test_canvas.py holds the cases on a real broker.
"""

from collections.abc import Iterable
from uuid import UUID

from celery import chain, group
from celery.canvas import Signature

from models.logging import log
from planner.graph import Expression, Lane, Parallel, Series
from workers.app import app
from workers.dispatch import PUBLISH_ERRORS


def publish(turn_id: UUID, generation: int, expressions: Iterable[Expression]) -> None:
    """Send a canvas for each expression. One that cannot be sent stays ready in the ledger."""
    for expression in expressions:
        try:
            build(turn_id, generation, expression).apply_async()
        except PUBLISH_ERRORS as error:
            log.warning("canvas.unsent", turn_id=str(turn_id), error=type(error).__name__)


def build(turn_id: UUID, generation: int, expression: Expression) -> Signature:
    """Return the canvas of an expression; its messages carry ids only."""
    return _Builder(str(turn_id), generation).whole(expression)


class _Builder:
    def __init__(self, turn_id: str, generation: int) -> None:
        self._turn_id = turn_id
        self._generation = generation

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
            return [self._lane(expression)]
        parts: list[Signature] = []
        for part in expression.parts:
            if isinstance(part, Lane):
                parts.append(self._lane(part))
                continue
            if parts and _is_group(parts[-1]):
                parts.append(self._join())
            parts.append(group([self._branch(inner) for inner in part.parts]))
        return parts

    def _lane(self, lane: Lane) -> Signature:
        return app.signature(
            "run_steps",
            args=(self._turn_id, list(lane.steps), self._generation),
            immutable=True,
            queue=lane.queue,
            shadow=lane.label,
            argsrepr=f"{self._turn_id} {' '.join(lane.steps)}",
            kwargsrepr="{}",
        )

    def _join(self) -> Signature:
        return app.signature("join", args=(self._turn_id,), immutable=True, queue="tools.io")


@app.task(name="join", ignore_result=True)
def join(turn_id: str) -> None:
    """Do nothing: a plain task where Celery needs one between groups."""


def _chained(parts: list[Signature]) -> Signature:
    return parts[0] if len(parts) == 1 else chain(*parts)


def _is_group(part: Signature) -> bool:
    return isinstance(part, group)


def _has_group(parts: list[Signature]) -> bool:
    return any(_is_group(part) for part in parts)

"""Expressions: the lanes of a plan fragment, and how they run one after another or side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lane:
    """Steps that run one after another in one task."""

    steps: tuple[str, ...]
    queue: str
    label: str
    """The text for operators: the first tool, and the number of further steps."""
    only_reads: bool = True
    """Whether all its steps only read."""
    limit_ms: int | None = None
    """Time limit of its call if the call runs in a process of its own."""

    @property
    def may_share(self) -> bool:
        """Whether it may share a task with other lanes."""
        return self.only_reads and self.limit_ms is None


@dataclass(frozen=True)
class Series:
    """Parts that run one after another."""

    parts: "tuple[Lane | Parallel, ...]"


@dataclass(frozen=True)
class Parallel:
    """Parts that run side by side."""

    parts: "tuple[Lane | Series, ...]"


@dataclass(frozen=True)
class Bundle:
    """Lanes that run side by side in one task. Each step starts when it is ready; lanes may wait for each other."""

    lanes: tuple[Lane, ...]

    @property
    def queue(self) -> str:
        """The queue of its task."""
        return self.lanes[0].queue


Expression = Lane | Bundle | Series | Parallel


def dump_expression(expression: Expression) -> dict[str, Any]:
    """Write an expression as JSON data."""
    if isinstance(expression, Lane):
        lane: dict[str, Any] = {"lane": list(expression.steps), "queue": expression.queue, "label": expression.label}
        if expression.limit_ms is not None:
            lane["limit_ms"] = expression.limit_ms
        return lane if expression.only_reads else {**lane, "only_reads": False}
    if isinstance(expression, Bundle):
        return {"bundle": [dump_expression(lane) for lane in expression.lanes]}
    kind = "series" if isinstance(expression, Series) else "parallel"
    return {kind: [dump_expression(part) for part in expression.parts]}


def load_expression(data: Mapping[str, Any]) -> Expression:
    """Read an expression from the data that `dump_expression` wrote."""
    if "lane" in data:
        only_reads, limit_ms = data.get("only_reads", True), data.get("limit_ms")
        return Lane(tuple(data["lane"]), data["queue"], data["label"], only_reads, limit_ms)
    if "bundle" in data:
        return Bundle(tuple(load_expression(lane) for lane in data["bundle"]))  # type: ignore[misc]
    if "series" in data:
        return Series(tuple(load_expression(part) for part in data["series"]))  # type: ignore[misc]
    return Parallel(tuple(load_expression(part) for part in data["parallel"]))  # type: ignore[misc]

"""The layout of a turn's steps on tasks and workers. This is the one place that chooses it.

| placement | under a cap | fragments | slots |
|---|---|---|---|
| spread | no | canvases: a task for each lane, so that lanes run on separate workers | 1 |
| dense | no | bundles: lanes that share a task | 4 |
| either | yes | single steps, because the ledger sends each when a place is free | as above |

A worker that takes both plans and tools' tasks runs lanes of the turns that it has planned in `dense` by itself.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from turnloom.models.runtime.settings import settings
from turnloom.planner.plan.bundles import bundles
from turnloom.planner.plan.graph import Fragment, Node, fragments

Kind = Literal["canvases", "bundles", "single steps"]

_SLOTS = {"spread": 1, "dense": 4}


@dataclass(frozen=True)
class Layout:
    """The way a turn's steps are laid on tasks and workers."""

    kind: Kind
    slots: int
    """Lanes of the turn that one task runs at the same time. With more than one, read-only lanes share a task."""
    planner_slots: int
    """Lanes that the turn's planner runs by itself."""

    def fragments(self, nodes: Iterable[Node], pinned: Collection[str] = ()) -> list[Fragment]:
        """Return the fragments of steps. `pinned`: steps that have started; each is a fragment of its own."""
        if self.kind == "single steps":
            return fragments(nodes, 1, pinned)
        if self.kind == "bundles":
            return bundles(nodes, self.slots, settings().canvas_max_steps, pinned)
        return fragments(nodes, settings().canvas_max_steps, pinned)


def layout_of(placement: str, *, is_capped: bool = False, runs_tools: bool = False) -> Layout:
    """Return the layout of a turn.

    `is_capped`: its steps could exceed their agent's cap. `runs_tools`: its planner's worker takes tools' tasks.
    """
    slots = _SLOTS[placement]
    kind: Kind = "bundles" if placement == "dense" else "canvases"
    return Layout(
        kind="single steps" if is_capped else kind,
        slots=slots,
        planner_slots=slots if placement == "dense" and runs_tools else 0,
    )

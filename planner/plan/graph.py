"""Reduce a plan's DAG to fragments that Celery chains and chords can express exactly.

In: steps and the needs of each.  Out: fragments, which depend on each other as a smaller DAG.

Two rewrites run on the transitively reduced graph until neither applies: *series* (u's only follower is v, and v's only
need is u) and *parallel* (same needs, same followers). They neither add nor lose a constraint, so the fragments impose
exactly the order of the DAG. A part that does not reduce, such as an N (one step that feeds two joins), stays several
fragments, and the ledger joins them. A fragment holds at most `max_steps`, because each message carries the rest of its
canvas.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from turnloom.planner.plan.expressions import Bundle, Expression, Lane, Parallel, Series


@dataclass(frozen=True)
class Node:
    """A step, reduced to the fields that the reduction needs."""

    id: str
    needs: tuple[str, ...]
    queue: str
    tool: str
    effect: str = "read"
    inline: bool = False
    """Whether it is so short that it runs where it becomes ready, without a message of its own."""
    limit_ms: int | None = None
    """Time limit of its call if the call runs in a process of its own. Such a step is also a lane of its own."""


@dataclass(frozen=True)
class Fragment:
    """A part of the plan for one canvas. It is sent when all `needs` (steps of other fragments) are final."""

    needs: tuple[str, ...]
    steps: tuple[str, ...]
    expression: Expression
    inline: bool
    """Whether it holds only inline steps. Whoever makes it ready runs it."""

    @property
    def queue(self) -> str | None:
        """The queue of a fragment that is one task; None for a fragment of several tasks."""
        return self.expression.queue if isinstance(self.expression, Lane | Bundle) else None


def fragments(nodes: Iterable[Node], max_steps: int, pinned: Collection[str] = ()) -> list[Fragment]:
    """Reduce the graph. Each step is in exactly one fragment.

    With `max_steps` 1 every step is a fragment. `pinned` steps are under way: they count as needs and are in no
    fragment.
    """
    by_id = {node.id: node for node in nodes}
    graph = _Reduction(by_id, max_steps, pinned)
    graph.reduce()
    exits = {unit: tuple(_exits(tree)) for unit, tree in graph.trees.items()}
    return [
        Fragment(
            needs=tuple(sorted(step for need in graph.needs[unit] for step in exits[need])),
            steps=tuple(_steps(tree)),
            expression=_lanes(tree, by_id),
            inline=unit in graph.inline,
        )
        for unit, tree in graph.trees.items()
        if unit not in pinned
    ]


def transitive_closure(needs: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return for each step all steps that must end before it. A step comes after those steps in the result."""
    ancestors: dict[str, set[str]] = {}
    for step in TopologicalSorter(needs).static_order():
        direct = set(needs[step])
        ancestors[step] = direct.union(*(ancestors[need] for need in direct))
    return ancestors


def transitive_reduction(needs: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the fewest direct needs that imply the same order."""
    ancestors = transitive_closure(needs)
    return {step: fewest(direct, ancestors) for step, direct in needs.items()}


def fewest(needs: Iterable[str], ancestors: Mapping[str, Collection[str]]) -> set[str]:
    """Return the direct needs of a step that none of its other needs implies."""
    direct = set(needs)
    return {need for need in direct if not any(need in ancestors[other] for other in direct if other != need)}


def most_at_once(needs: Mapping[str, Iterable[str]]) -> int:
    """Return an upper bound of the steps that run at a time.

    It is the number of chains, found greedily, that hold all steps.
    """
    ends: list[str] = []
    for step, before in transitive_closure(needs).items():
        chain = next((number for number, end in enumerate(ends) if end in before), None)
        if chain is None:
            ends.append(step)
        else:
            ends[chain] = step
    return len(ends)


def critical_path(needs: Mapping[str, Iterable[str]], duration: Mapping[str, float]) -> float:
    """Return the length of the longest path, in the unit of the durations; 0 without steps."""
    return sum(duration.get(step, 0.0) for step in critical_steps(needs, duration))


def critical_steps(needs: Mapping[str, Iterable[str]], duration: Mapping[str, float]) -> tuple[str, ...]:
    """Return the steps of the longest path by their durations, in their order."""
    end: dict[str, float] = {}
    last: dict[str, str | None] = {}
    for step in TopologicalSorter(needs).static_order():
        before = last[step] = max(needs[step], key=lambda need: (end[need], need), default=None)
        end[step] = duration.get(step, 0.0) + (0.0 if before is None else end[before])
    path, each = [], max(end, key=lambda step: (end[step], step), default=None)
    while each is not None:
        path.append(each)
        each = last[each]
    return tuple(reversed(path))


def lane_of(run: list[Node], queue: str | None = None) -> Lane:
    """Return the lane of these steps. Its queue is that of the first step if none is given."""
    more = f" +{len(run) - 1}" if len(run) > 1 else ""
    only_reads = all(node.effect == "read" for node in run)
    return Lane(tuple(node.id for node in run), queue or run[0].queue, run[0].tool + more, only_reads, run[0].limit_ms)


_Tree = str | tuple[str, tuple[Any, ...]]
"""During the reduction: a step, or ("series" | "parallel", trees)."""


class _Reduction:
    """A graph of units that shrinks. `trees` holds the steps of each unit."""

    def __init__(self, nodes: Mapping[str, Node], max_steps: int, pinned: Collection[str]) -> None:
        self.needs = transitive_reduction({node.id: node.needs for node in nodes.values()})
        self.followers: dict[str, set[str]] = {unit: set() for unit in self.needs}
        for unit, direct in self.needs.items():
            for need in direct:
                self.followers[need].add(unit)
        self.trees: dict[str, _Tree] = {unit: unit for unit in self.needs}
        self.sizes = dict.fromkeys(self.needs, 1)
        self.max_steps = max_steps
        self.pinned = pinned
        self.inline = {node.id for node in nodes.values() if node.inline}

    def reduce(self) -> None:
        while self._merge_series() or self._merge_parallel():
            pass

    def _merge_series(self) -> bool:
        merged = False
        for unit in list(self.needs):
            direct = self.needs[unit]
            if len(direct) != 1:
                continue
            (need,) = direct
            if len(self.followers[need]) == 1 and self._may_merge(need, unit):
                self._combine("series", need, unit)
                self.followers[need] = self.followers.pop(unit)
                for follower in self.followers[need]:
                    self.needs[follower].discard(unit)
                    self.needs[follower].add(need)
                del self.needs[unit]
                merged = True
        return merged

    def _merge_parallel(self) -> bool:
        groups: dict[tuple[frozenset[str], frozenset[str]], list[str]] = defaultdict(list)
        for unit in (unit for unit in self.needs if unit not in self.pinned and unit not in self.inline):
            groups[frozenset(self.needs[unit]), frozenset(self.followers[unit])].append(unit)
        merged = False
        for alike in groups.values():
            into = alike[0]
            for unit in alike[1:]:
                if not self._may_merge(into, unit):
                    into = unit
                    continue
                self._combine("parallel", into, unit)
                for need in self.needs.pop(unit):
                    self.followers[need].discard(unit)
                for follower in self.followers.pop(unit):
                    self.needs[follower].discard(unit)
                merged = True
        return merged

    def _may_merge(self, first: str, second: str) -> bool:
        if first in self.pinned or second in self.pinned:
            return False
        return self.sizes[first] + self.sizes[second] <= self.max_steps

    def _combine(self, kind: str, first: str, second: str) -> None:
        """Append the tree of `second` to that of `first`. A tree of the same kind is not nested."""
        self.trees[first] = (kind, (*_parts(self.trees[first], kind), *_parts(self.trees.pop(second), kind)))
        self.sizes[first] += self.sizes.pop(second)
        if second not in self.inline:
            self.inline.discard(first)


def _parts(tree: _Tree, kind: str) -> tuple[_Tree, ...]:
    return tree[1] if isinstance(tree, tuple) and tree[0] == kind else (tree,)


def _steps(tree: _Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree[1]:
            yield from _steps(part)


def _exits(tree: _Tree) -> Iterator[str]:
    """Yield the last steps of a tree. When all of them are final, the whole tree is."""
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree[1][-1:] if tree[0] == "series" else tree[1]:
            yield from _exits(part)


def _lanes(tree: _Tree, nodes: Mapping[str, Node]) -> Expression:
    if isinstance(tree, str):
        return lane_of([nodes[tree]])
    if tree[0] == "parallel":
        return Parallel(tuple(_lanes(part, nodes) for part in tree[1]))  # type: ignore[misc]
    parts: list[Any] = []
    run: list[Node] = []
    for part in tree[1]:
        if run and not (isinstance(part, str) and _may_follow(run[-1], nodes[part])):
            parts.append(lane_of(run))
            run = []
        if isinstance(part, str):
            run.append(nodes[part])
        else:
            parts.append(_lanes(part, nodes))
    if run:
        parts.append(lane_of(run))
    return parts[0] if len(parts) == 1 else Series(tuple(parts))


def _may_follow(last: Node, node: Node) -> bool:
    return last.queue == node.queue and last.limit_ms is None and node.limit_ms is None

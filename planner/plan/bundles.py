"""Gather a plan's reads into bundles. One worker runs a bundle by itself, each step as soon as it is ready.

In: steps and the needs of each.  Out: fragments, which depend on each other as a smaller DAG.

A step joins the bundle that holds everything it needs, or a bundle that has the same needs. So every step of a bundle
would have waited for what the bundle waits for, and no constraint is added. If the last step of a lane is a need of the
new step, the step joins that lane; otherwise it begins a lane of its own. No two steps of a lane can run at the same
time, so a bundle never has more steps ready than it has lanes. A step that has an effect, or is called in a process of
its own, is a fragment by itself.
"""

from collections.abc import Collection, Iterable

from turnloom.planner.plan.expressions import Bundle
from turnloom.planner.plan.graph import Fragment, Node, fewest, lane_of, transitive_closure


def bundles(nodes: Iterable[Node], most_lanes: int, most_steps: int, pinned: Collection[str] = ()) -> list[Fragment]:
    """Gather the steps into fragments. Each step is in exactly one fragment.

    `pinned` steps are under way: they count as needs and are in no fragment.
    """
    by_id = {node.id: node for node in nodes}
    ancestors = transitive_closure({node.id: node.needs for node in by_id.values()})
    gathered: list[_Gathering] = []
    for step in ancestors:
        if step in pinned:
            continue
        node = by_id[step]
        needs = frozenset(fewest(node.needs, ancestors))
        if not any(gathering.take(node, needs) for gathering in gathered):
            gathered.append(_Gathering(node, needs, most_lanes, most_steps))
    return [gathering.fragment() for gathering in gathered]


class _Gathering:
    """A bundle that accepts steps while it has room."""

    def __init__(self, first: Node, needs: frozenset[str], most_lanes: int, most_steps: int) -> None:
        self._needs = needs
        self._lanes = [[first]]
        self._steps = {first.id}
        self._queue = None if first.inline else first.queue
        self._most_lanes = most_lanes
        self._room = most_steps - 1 if lane_of([first]).may_share else 0

    def take(self, node: Node, needs: frozenset[str]) -> bool:
        """Add a step if it belongs here and there is room; return whether it was added.

        The steps that it needs are offered before it.
        """
        belongs = needs == self._needs or (bool(needs) and needs <= self._steps)
        wants_other_queue = not node.inline and self._queue not in (None, node.queue)
        if not belongs or wants_other_queue or not self._room or not lane_of([node]).may_share:
            return False
        lane = next((lane for lane in self._lanes if lane[-1].id in needs), None)
        if lane is not None:
            lane.append(node)
        elif len(self._lanes) < self._most_lanes:
            self._lanes.append([node])
        else:
            return False
        self._steps.add(node.id)
        self._room -= 1
        self._queue = self._queue or (None if node.inline else node.queue)
        return True

    def fragment(self) -> Fragment:
        """Return the gathered steps as a fragment."""
        lanes = tuple(lane_of(lane, self._queue) for lane in self._lanes)
        return Fragment(
            needs=tuple(sorted(self._needs)),
            steps=tuple(step for lane in lanes for step in lane.steps),
            expression=Bundle(lanes) if len(lanes) > 1 else lanes[0],
            inline=self._queue is None,
        )

"""Lay a plan's steps out for a picture: layers by their distance from the start, in an order with few crossings.

In: the needs of each step.  Out: the middle of each step's box.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import mean

_BESIDE, _BELOW = 10.0, 34.0
"""Room between two boxes of a layer, and between two layers that lie below each other."""
_NARROW, _WIDE = 44.0, 150.0
"""Room between two layers that lie beside each other, at least and at most."""


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The middle of each step's box, in pixels, and the size of the whole."""

    places: Mapping[str, tuple[float, float]]
    width: float
    height: float
    goes_down: bool
    """Whether a layer lies below the one before it; otherwise to its right."""


def lay_out(needs: Mapping[str, Collection[str]], box: tuple[float, float], width: float) -> GraphLayout:
    """Place boxes of one size. What does not fit beside each other goes down, as long as that is narrower.

    Raises:
        graphlib.CycleError: the needs form a cycle.
    """
    layers = layers_of(needs)
    across, down = box
    most = max(map(len, layers), default=0)
    goes_down = _length(len(layers), across, _NARROW) > max(width, _length(most, across, _BESIDE))
    if goes_down:
        placed = _placed(layers, across + _BESIDE, down + _BELOW)
        places = {step: (x + across / 2, y + down / 2) for step, (y, x) in placed.items()}
        return GraphLayout(places, _length(most, across, _BESIDE), _length(len(layers), down, _BELOW), goes_down)
    spread = (width - len(layers) * across) / max(len(layers) - 1, 1)
    gap = min(max(spread, _NARROW), _WIDE)
    placed = _placed(layers, down + _BESIDE, across + gap)
    places = {step: (x + across / 2, y + down / 2) for step, (x, y) in placed.items()}
    return GraphLayout(places, _length(len(layers), across, gap), _length(most, down, _BESIDE), goes_down)


def layers_of(needs: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Return the steps by their distance from the start, each layer in an order with few crossings."""
    depth: dict[str, int] = {}
    for step in TopologicalSorter(needs).static_order():
        depth[step] = max((depth[need] + 1 for need in needs[step]), default=0)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for step in needs:
        layers[depth[step]].append(step)
    followers: dict[str, set[str]] = {step: set() for step in needs}
    for step, direct in needs.items():
        for need in direct:
            followers[need].add(step)
    for layer, after in reversed([*pairwise(layers)]):
        _sort(layer, after, followers)
    for before, layer in pairwise(layers):
        _sort(layer, before, needs)
    return layers


def _sort(layer: list[str], beside: Sequence[str], linked: Mapping[str, Collection[str]]) -> None:
    """Order a layer by the mean place of what each step is linked to in the layer beside it."""
    place = {step: number for number, step in enumerate(beside)}
    middle = {step: mean([place[other] for other in linked[step] if other in place] or [0]) for step in layer}
    layer.sort(key=lambda step: middle[step])


def _placed(layers: Sequence[Sequence[str]], pitch: float, between: float) -> dict[str, tuple[float, float]]:
    """Return for each step where its layer begins, and its place in the layer, which is centred."""
    most = max(map(len, layers), default=0)
    return {
        step: (number * between, (row + (most - len(layer)) / 2) * pitch)
        for number, layer in enumerate(layers)
        for row, step in enumerate(layer)
    }


def _length(boxes: int, size: float, gap: float) -> float:
    return max(boxes * (size + gap) - gap, 0.0)

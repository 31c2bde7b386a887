"""A plan level by level, as systems with a barrier after each level run it.

The standard library only: the peers use it, too.
"""

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

Needs = Mapping[str, Sequence[str]]
"""The plan of a turn: for each step the steps that it needs."""


def waves(needs: Needs) -> list[list[str]]:
    """Return the steps wave by wave: each wave needs only those before it."""
    order = TopologicalSorter(needs)
    order.prepare()
    found = []
    while order.is_active():
        wave = sorted(order.get_ready())
        order.done(*wave)
        found.append(wave)
    return found

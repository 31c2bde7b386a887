"""Split a plan into levels, as systems with a barrier after each level run it.

This uses only the standard library, because the peers use it as well.
"""

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

Needs = Mapping[str, Sequence[str]]
"""The plan of a turn: each step with the steps that it needs."""


def waves(needs: Needs) -> list[list[str]]:
    """Return the steps in waves. Each wave needs only earlier ones."""
    order = TopologicalSorter(needs)
    order.prepare()
    found = []
    while order.is_active():
        wave = sorted(order.get_ready())
        order.done(*wave)
        found.append(wave)
    return found

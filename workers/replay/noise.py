"""Tell what a change has changed from what differs between any two runs of a language model.

In: a recorded turn and several replays of it.  Out: the differences that all replays have, and the aspects in which the
replays differ among themselves. Pure.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, get_args

from turnloom.models.contracts.replay import Aspect, Difference, Tolerances, TurnRecord
from turnloom.tools.registry import Tool
from turnloom.workers.replay.comparison import USUAL, compare

_COUNTED: frozenset[Aspect] = frozenset({"tools", "policy", "usage", "latency"})
"""Aspects that are numbers: the record also agrees with the replays if it lies between two of them."""
_SIDES = {"added": "more", "higher": "more", "removed": "less", "lower": "less"}


class JudgedTurn(NamedTuple):
    """The differences between a turn and its replays, without the noise."""

    replayed: TurnRecord
    """The most typical replay: the one that differs from the others in the fewest ways."""
    differences: list[Difference]
    """Those of `replayed` that every replay has."""
    noise: list[Aspect]
    """Aspects in which the replays differ among themselves."""


def judge(
    recorded: TurnRecord, replays: Sequence[TurnRecord], tools: Mapping[str, Tool], tolerances: Tolerances = USUAL
) -> JudgedTurn:
    """Compare a turn with one or more replays of it.

    A difference is real if each replay has it: the record's value of the same subject occurs in none of them. A number,
    such as how often a tool is called or the tokens, must also lie above all of them or below all of them.
    """
    pairs = combinations(range(len(replays)), 2)
    among = {(one, other): compare(replays[one], replays[other], tools, tolerances) for one, other in pairs}
    distances = [sum(len(found) for pair, found in among.items() if place in pair) for place in range(len(replays))]
    typical = distances.index(min(distances))
    found = [compare(recorded, replay, tools, tolerances) for replay in replays]
    real = set.intersection(*({_identity(each) for each in differences} for differences in found))
    noisy = {each.aspect for differences in among.values() for each in differences}
    return JudgedTurn(
        replays[typical],
        [each for each in found[typical] if _identity(each) in real],
        [aspect for aspect in get_args(Aspect) if aspect in noisy],
    )


def _identity(difference: Difference) -> tuple[str, str, str]:
    """Return what the same difference has in other replays too."""
    side = _SIDES.get(difference.kind, "") if difference.aspect in _COUNTED else ""
    return difference.aspect, difference.subject, side

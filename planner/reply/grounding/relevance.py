"""Relevance: which amounts a sentence speaks of, by the words that stand around them in the evidence.

In: a sentence, and amounts.  Out: for each thing that it names, the amounts that may be meant. A word that many amounts
have around them names nothing.
"""

from collections.abc import Sequence

from turnloom.planner.reply.grounding.labels import stems
from turnloom.planner.reply.grounding.places import Operand

_MOST_MEANT = 5
_MOST_THINGS = 4


def things_named(text: str, amounts: Sequence[Operand]) -> list[list[Operand]]:
    """Return the amounts that may be meant by each thing that a text names; the surest things first."""
    having: dict[str, list[int]] = {}
    said = stems(text)
    for number, one in enumerate(amounts):
        for word in one.place.about & said:
            having.setdefault(word, []).append(number)
    kept: list[set[int]] = []
    for meant in sorted(map(set, having.values()), key=lambda meant: (len(meant), sorted(meant))):
        if len(meant) <= min(_MOST_MEANT, max(1, len(amounts) // 2)) and not any(other <= meant for other in kept):
            kept.append(meant)
    return [[amounts[number] for number in sorted(meant)] for meant in kept[:_MOST_THINGS]]

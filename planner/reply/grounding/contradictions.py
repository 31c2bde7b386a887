"""Contradictions: a count, a duration or a weekday that is said, where the evidence knows other ones only.

What the evidence knows nothing about may be said, and a question or an offer states nothing.
"""

from collections.abc import Sequence
from decimal import Decimal

from turnloom.planner.reply.grounding.arithmetic import is_rounded
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.places import Places
from turnloom.planner.reply.grounding.support import Context


def contradicts(claim: Figure, context: Context, derived: Sequence[str]) -> bool:
    """Return whether the evidence has other values only. `derived` is the arithmetic of the sentence."""
    sentence, places = context.sentence, context.evidence.places
    if sentence.is_question or places.of(claim.keys) or sentence.says("offers"):
        return False
    key = claim.keys[0]
    known = _known(key, places)
    if key[0] == "on":
        return bool(known)
    if key[1] == "left":
        known |= _known(("count", "item", 0), places) if known else set()
    value = key[-1]
    assert isinstance(value, Decimal)
    direction = sentence.rounding(claim) or "near"
    is_near = sentence.rounding(claim) is not None
    return bool(known) and not (
        any(round(other) == value or (is_near and is_rounded(value, other, direction)) for other in known)
        or any(path.endswith((f"* {value}", f"/ {value}")) for path in derived)
        or _is_sum(key, places)
    )


def _known(key: Key, places: Places) -> set[Decimal]:
    """Return the values of the same unit in results; for a weekday, a number for each known one."""
    return {
        Decimal(str(other[-1]))
        for other, found in places.by_key.items()
        if other[:-1] == key[:-1] and any(not place.is_said for place in found)
    }


def _is_sum(key: Key, places: Places) -> bool:
    """Return whether a number of guests is that of adults and children."""
    if key[:2] != ("count", "guest"):
        return False
    adults = places.values("count", "adult")
    children = places.values("count", "child") | {Decimal()}
    return key[-1] in {adult + child for adult in adults for child in children}

"""The value and the currency that the keys of a figure most likely mean."""

from decimal import Decimal

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.places import Places

_MAGNITUDE = 8
"""How many times as large as all known amounts, or as small, the one that is meant may be."""


def value_of(figure: Figure, places: Places | None = None) -> Decimal | None:
    """Return the likeliest value of an amount; None if it is none. Of 3.600, the one near the amounts of `places`."""
    values = [key[1] for key in figure.keys if key[0] in ("money", "number", "percent") and isinstance(key[1], Decimal)]
    if places is None or figure.kind != "money" or len(set(values)) < 2:
        return next(iter(values), None)
    codes = {key[2] for key in figure.keys if key[0] == "money"} - {None}
    amounts = [one for one in places.operands.values() if one.code is not None]
    known = [one.value for one in amounts if not codes or one.code in codes] or values
    least, most = min(known) / _MAGNITUDE, max(known) * _MAGNITUDE
    return next((value for value in values if least <= value <= most), values[0])


def code_of(figure: Figure, places: Places | None = None) -> str | None:
    """Return the currency of an amount, the one that `places` have it in if any; `%` for a percentage.

    None if it has none, or two that contradict each other.
    """
    if not figure.keys:
        return None
    likely = (key for key in figure.keys if places and key[0] == "money" and key[2] in places.currencies)
    key = next((key for key in figure.keys if places and places.of((key,))), next(likely, figure.keys[0]))
    return "%" if figure.kind == "percent" else str(key[2]) if key[0] == "money" and key[2] else None

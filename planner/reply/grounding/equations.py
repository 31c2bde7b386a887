"""Equations: a calculation that a sentence writes out must give what it says, as in "2 x 35 + 2 x 20 = 110"."""

import re
from collections.abc import Iterator
from decimal import Decimal

from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.values import value_of

_TERM = r"(?:<\d+>|(?<![\w.,:])\d{1,4}(?![.,:]?\d))"
_UNIT = r"(?: ?(?!x\b)[^\W\d_]{1,16}+\.?){0,2}+"
_LEAD = r"(?:(?!x\b)[^\W\d_]{1,16}+ ?){0,2}+"
_TIMES, _LESS = "\u00d7x*\u00b7", "\u2212\u2013-"
_SIGN = f"[{_TIMES}+\uff0b{_LESS}]"
_RESULT = r" ?[=\uff1d] ?[^\W\d_]{0,3} ?<(?P<right>\d+)>"
_EQUATION = re.compile(rf"(?P<left>{_TERM}{_UNIT}(?: ?{_SIGN} ?{_LEAD}{_TERM}{_UNIT}){{1,8}}){_RESULT}")
_PART = re.compile(rf"(?P<sign>{_SIGN})? ?{_LEAD}(?P<term>{_TERM}){_UNIT} ?")
_NEAR, _NEAR_WHOLE = Decimal("0.01"), Decimal("0.5")
"""How far a result may be from an exact one: with cents, and without."""


def unequal(sentence: Sentence) -> Iterator[Figure]:
    """Yield the results of equations that their left sides do not give."""
    values = [(one, value) for one in sentence.figures if (value := _only_value(one)) is not None]
    marked, end = "", sentence.start
    for number, (one, _) in enumerate(values):
        marked += f"{sentence.whole[end : one.start]}<{number}>"
        end = one.end
    marked += sentence.whole[end : sentence.end]
    for found in _EQUATION.finditer(marked):
        result, said = values[int(found["right"])]
        near = _NEAR if said % 1 else _NEAR_WHOLE
        given = _value(found["left"], [value for _, value in values])
        if sentence.rounding(result) is None and abs(given - said) > near:
            yield result


def _only_value(figure: Figure) -> Decimal | None:
    """Return the value of an amount or number; None if it may have two, as 68.500 may."""
    is_amount = figure.kind in ("money", "number")
    return value_of(figure) if is_amount and len({key[1] for key in figure.keys}) == 1 else None


def _value(calculation: str, values: list[Decimal]) -> Decimal:
    """Return what a calculation of products and sums gives."""
    total, product = Decimal(), Decimal()
    for part in _PART.finditer(calculation):
        term = part["term"]
        value = values[int(term[1:-1])] if term[0] == "<" else Decimal(term)
        if part["sign"] and part["sign"] in _TIMES:
            product *= value
        else:
            total, product = total + product, -value if part["sign"] and part["sign"] in _LESS else value
    return total + product

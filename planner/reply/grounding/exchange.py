"""Exchange rates: two amounts of a sentence are known if a rate of a result turns the one into the other.

Either may be one that nobody has named before, such as "one euro": the rate holds for any amount.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

from turnloom.planner.reply.grounding.fields import codes_of
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.numerals import decimal_of
from turnloom.planner.reply.grounding.places import EvidencePlace, ExchangeRate, Places

_MOST_RATES = 200
_DEEPEST = 6
_BASES = ("base", "base_currency", "baseCurrency")
_PRECISION = Decimal("0.01")
"""An amount that is said may differ from the computed one by half of this part of it at most."""


def rates_in(result: Any, path: str = "") -> list[ExchangeRate]:
    """Return the exchange rates of a result: `{"base": "USD", "rates": {"EUR": 0.92}}`, `{"from", "to", "rate"}`."""
    return list(islice(_rates(result, path, None, _DEEPEST), _MOST_RATES))


def exchanged(figure: Figure, others: Iterable[Figure], places: Places) -> EvidencePlace | None:
    """Return the place of a rate by which an amount and another one of its sentence are worth the same."""
    for rate, place in places.exchange:
        for other in others:
            if _agree(figure, other, rate) or _agree(other, figure, rate):
                return place
    return None


def _agree(one: Figure, other: Figure, rate: ExchangeRate) -> bool:
    """Return whether the first amount, in the currency of the rate, is worth the second, as it is rounded."""
    ones = [key[1] for key in one.keys if key[0] == "money" and key[2] == rate.of]
    others = [key[1] for key in other.keys if key[0] == "money" and key[2] == rate.to]
    pairs = ((a, b) for a in ones for b in others if isinstance(a, Decimal) and isinstance(b, Decimal) and a and b)
    return any(_is_near(a * rate.rate, b) or _is_near(b / rate.rate, a) for a, b in pairs)


def _is_near(value: Decimal, said: Decimal) -> bool:
    """Return whether an amount is said to the last of its digits, and they are digits enough."""
    exponent = said.as_tuple().exponent
    assert isinstance(exponent, int)
    return abs(value - said) * 2 <= min(Decimal(1).scaleb(exponent), said * _PRECISION)


def _rates(
    value: Any, path: str, pair: tuple[str, str] | None, deep: int, base: str | None = None
) -> Iterator[ExchangeRate]:
    """Yield rates. `pair`: the two currencies that an object around it names; `base`: the one that it calls so."""
    if deep and isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _rates(inner, f"{path}[{number}]", pair, deep - 1, base)
    elif deep and isinstance(value, dict):
        named = [inner for inner in value.values() if isinstance(inner, str) and codes_of([inner])]
        pair = _pair(named, base) or pair
        base = next((value[key] for key in _BASES if codes_of([value.get(key)])), base)
        for key, inner in value.items():
            there = f"{path}.{key}" if path else key
            if isinstance(inner, dict) and len(named) == 1 and codes_of(inner):
                yield from _quoted(named[0], inner, there)
            elif pair and key.lower().endswith(tuple(words()["exchange_fields"])) and (rate := decimal_of(inner)):
                yield ExchangeRate(*pair, rate, there)
            else:
                yield from _rates(inner, there, pair, deep - 1, base)


def _pair(named: list[str], base: str | None) -> tuple[str, str] | None:
    match named:
        case [of, to]:
            return of, to
        case [to] if base:
            return base, to
    return None


def _quoted(base: str, rates: dict[str, Any], path: str) -> Iterator[ExchangeRate]:
    """Yield the rates of an object that has currencies for its keys."""
    for code in codes_of(rates):
        if worth := decimal_of(rates[code]):
            yield ExchangeRate(base, code, worth, f"{path}.{code}")

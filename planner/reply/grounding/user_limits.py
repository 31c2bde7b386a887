"""Limits of the user's: that an amount is within a budget, or beyond it, must agree with the amount."""

import re
from collections.abc import Iterator
from decimal import Decimal

from turnloom.planner.reply.grounding.assertions import is_conditional, is_denied
from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.mentions import is_in
from turnloom.planner.reply.grounding.paths import basis_at
from turnloom.planner.reply.grounding.places import UNSTATED
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.values import value_of

_LEAST = 20
"""Smaller numbers without a currency are no budgets: two people, four nights."""


def against_limit(context: Context) -> Iterator[Figure]:
    """Yield the words of a sentence that call an amount within the user's limit, or beyond it, where it is not."""
    sentence = context.sentence
    if sentence.is_question:
        return
    for kind in ("within", "beyond"):
        for word in spoken(words()["limits_of_user"][kind]).finditer(sentence.whole, sentence.start, sentence.end):
            clause = sentence.whole[slice(*sentence.clause(word.start()))]
            if _says_by_how_much(word, sentence) or is_denied(clause) or is_conditional(clause):
                continue
            if _is_wrong(word, context, is_within=kind == "within"):
                yield Figure("comparison", word.start(), word.end(), ((kind,),))


def _says_by_how_much(word: re.Match[str], sentence: Sentence) -> bool:
    """Return whether an amount stands right before the words: it is a difference."""
    money = [one.end for one in sentence.figures if one.kind == "money" and one.end <= word.start()]
    return bool(money) and not sentence.whole[money[-1] : word.start()].strip()


def _is_wrong(word: re.Match[str], context: Context, *, is_within: bool) -> bool:
    """Return whether the amount before the words, or each price of what is named there, is on the other side of all."""
    amounts = list(_amounts(word, context))
    codes = frozenset[object]().union(*(some for _, some, _ in amounts))
    said = [one for one in context.evidence.places.operands.values() if one.place.is_said]
    priced = [one for one in said if one.code not in (None, UNSTATED) and one.value >= _LEAST]
    limits = [one.value for one in priced or said if one.code in codes or (not priced and one.value >= _LEAST)]
    if not (amounts and limits):
        return False
    if is_within:
        return min(value for value, _, _ in amounts) > max(limits)
    most = _most_times(context)
    return max(value * (1 if is_whole else most) for value, _, is_whole in amounts) <= min(limits)


def _amounts(word: re.Match[str], context: Context) -> Iterator[tuple[Decimal, frozenset[object], bool]]:
    """Yield amounts with the currencies that they may be in, and whether they are for a whole stay."""
    sentence, places = context.sentence, context.evidence.places
    limits = {one.value for one in places.operands.values() if one.place.is_said}
    named = [one for one in context.named if one.end <= word.start()]
    begin = max((one.start for one in named), default=sentence.start)
    figures = (one for one in sentence.figures if one.kind == "money" and begin <= one.start < word.start())
    told = [(value, one) for one in figures if (value := value_of(one)) and value not in limits]
    if told:
        value, figure = told[-1]
        yield value, frozenset(key[2] for key in figure.keys if key[0] == "money"), False
    elif named:
        for one in places.operands.values():
            if one.code not in (None, UNSTATED) and is_in(one.place, named[-1].elements):
                yield one.value, frozenset({one.code}), basis_at(one.place) == "total"


def _most_times(context: Context) -> Decimal:
    """Return by how many an amount for one night and one person may be multiplied at most."""
    places = context.evidence.places
    people = places.values("count", "guest") | places.values("count", "adult") | places.said_counts
    return max((Decimal(1), *places.nights())) * max((Decimal(1), *people))

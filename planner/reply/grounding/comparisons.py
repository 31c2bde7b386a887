"""Comparisons: that a thing is cheaper or dearer than another one, or than a limit, must agree with the results."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from turnloom.planner.reply.grounding.assertions import is_conditional, is_denied
from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.mentions import is_in
from turnloom.planner.reply.grounding.places import Element, Operand, Places
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.values import value_of

_SUPERLATIVE = re.compile(r"(?<!\w)(?:le|la|les|el|lo|los|las|il|i|the)\s$", re.IGNORECASE)
_BOUND = re.compile(r"\s(?:than|als|de|que|di|dan|do)\s[€$£₪]?\d", re.IGNORECASE)
_SAVED = re.compile(r"\bsav(?:e|es|ing)\s(?:you\s)?\S{1,12}\s$", re.IGNORECASE)
"""What "over" may follow and say less: "save $147 over the other room"."""
_BEHIND = 16
"""Most characters between an amount and the word that compares it, as in "11 € am Tag weniger"."""


def miscompared(context: Context) -> Iterator[Figure]:
    """Yield the words of a sentence by which it compares two prices the wrong way round."""
    sentence = context.sentence
    if sentence.is_question:
        return
    for word, is_less in _words(sentence):
        clause = sentence.whole[slice(*sentence.clause(word.start()))]
        if is_denied(clause) or is_conditional(clause):
            continue
        pair = _compared(word, context)
        found = _are_less(*pair, context.evidence.places) if pair else _are_less_by(word, context)
        if found == {not is_less}:
            yield Figure("comparison", word.start(), word.end(), (("cheaper" if is_less else "dearer",),))


def _are_less_by(word: re.Match[str], context: Context) -> set[bool]:
    """Return whether what stands before a difference such as "60 less" is less than what stands behind it.

    It is asked of each pair of prices of theirs that are so far apart. What is named last before it is compared with
    what is named behind, or with a limit of the user's.
    """
    sentence, places = context.sentence, context.evidence.places
    _, end = sentence.clause(word.start())
    apart = [one for one in sentence.figures if one.kind == "money" and 0 < word.start() - one.end <= _BEHIND]
    value = value_of(apart[-1]) if apart else None
    if not value:
        return set()
    before = [one.elements for one in context.topic if one.end <= apart[-1].start]
    behind = [one.elements for one in context.named if word.end() <= one.start < end]
    limits = spoken(words()["user_limits"]).search(sentence.whole, word.end(), end) and not behind
    firsts = _operands(before[-1:], places) or [one for one in context.told if not one.place.is_said]
    seconds = [one for one in places.operands.values() if one.place.is_said] if limits else _operands(behind, places)
    times = {Decimal(1), *sentence.counts(), *(places.values("count", "guest") | places.values("count", "adult"))}
    return {
        one.value < other.value
        for one in firsts
        for other in seconds
        if (limits or _field(one) == _field(other)) and any(abs(one.value - other.value) * n == value for n in times)
    }


def _operands(named: Iterable[frozenset[Element]], places: Places) -> list[Operand]:
    elements = frozenset[Element]().union(*named)
    return [one for one in places.operands.values() if one.code and elements and is_in(one.place, elements)]


def _field(operand: Operand) -> tuple[str, str | None]:
    return operand.place.path.rpartition("]")[2], operand.code


def _compared(word: re.Match[str], context: Context) -> tuple[Element, Element] | None:
    """Return the things before and behind a word. If none is behind it and the list has just two, it is the other."""
    start, end = context.sentence.clause(word.start())
    inside = [one for one in context.named if start <= one.start < end]
    if not inside:
        return None
    before = {element for one in inside if one.end <= word.start() for element in one.elements}
    behind = {element for one in inside if one.start >= word.end() for element in one.elements}
    if len(before) != 1:
        return None
    first = next(iter(before))
    behind = behind or context.evidence.places.beside(first)
    return (first, next(iter(behind))) if len(behind) == 1 and behind != before else None


def _are_less(first: Element, second: Element, places: Places) -> set[bool]:
    """Return whether the first thing costs less than the second one, by each field in which their prices differ."""
    one, other = _prices(first, places), _prices(second, places)
    return {one[field] < other[field] for field in one.keys() & other.keys() if one[field] != other[field]}


def _prices(element: Element, places: Places) -> dict[tuple[str, str], Decimal]:
    step, turn, path = element
    found: dict[tuple[str, str], Decimal] = {}
    for operand in places.operands.values():
        place = operand.place
        if operand.code and (place.step, place.turn) == (step, turn) and place.path.startswith(f"{path}."):
            found[place.path.removeprefix(path), operand.code] = operand.value
    return found


def _words(sentence: Sentence) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield the words of a sentence that compare prices, and whether they say less."""
    amounts = [figure.end for figure in sentence.figures if figure.kind == "money"]
    for kind, said in words()["comparatives"].items():
        for word in spoken(said["of_prices"]).finditer(sentence.whole, sentence.start, sentence.end):
            if not _SUPERLATIVE.search(sentence.whole, sentence.start, word.start()):
                yield word, kind == "less"
        for word in spoken(said["of_anything"]).finditer(sentence.whole, sentence.start, sentence.end):
            # "Or less than 200", and "save 147 over".
            is_bound = _BOUND.match(sentence.whole, word.end()) or _SAVED.search(sentence.whole[: word.start()])
            if not is_bound and any(0 < word.start() - end <= _BEHIND for end in amounts):
                yield word, kind == "less"

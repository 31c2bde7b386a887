"""Comparisons: that a named thing is cheaper or dearer than another one must agree with the prices in results."""

import re
from collections.abc import Iterator
from decimal import Decimal

from turnloom.planner.reply.grounding.assertions import is_conditional, is_denied
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.places import Element, Places
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.support import Context

_SUPERLATIVE = re.compile(r"(?<!\w)(?:le|la|les|el|lo|los|las|il|i|the)\s$", re.IGNORECASE)
_BOUND = re.compile(r"\s(?:than|als|de|que|di|dan|do)\s[€$£₪]?\d", re.IGNORECASE)
_BEHIND = 16
"""Most characters between an amount and the word that compares it, as in "11 € am Tag weniger"."""


def miscompared(context: Context) -> Iterator[Figure]:
    """Yield the words of a sentence by which it compares two prices the wrong way round."""
    sentence = context.sentence
    if sentence.is_question or not context.named:
        return
    for word, is_less in _words(sentence):
        clause = sentence.whole[slice(*sentence.clause(word.start()))]
        pair = None if is_denied(clause) or is_conditional(clause) else _compared(word, context)
        if pair and _are_less(*pair, context.evidence.places) == {not is_less}:
            yield Figure("comparison", word.start(), word.end(), (("cheaper" if is_less else "dearer",),))


def _compared(word: re.Match[str], context: Context) -> tuple[Element, Element] | None:
    """Return the things before and behind a word. If none is behind it and the list has just two, it is the other."""
    start, end = context.sentence.clause(word.start())
    inside = [one for one in context.named if start <= one.start < end]
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
            is_bound = _BOUND.match(sentence.whole, word.end())  # "or less than 200"
            if not is_bound and any(0 < word.start() - end <= _BEHIND for end in amounts):
                yield word, kind == "less"

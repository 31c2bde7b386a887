"""Selection of a place: of those that have a value, the one that fits what the sentence says of it."""

import re
from collections.abc import Collection

from turnloom.planner.reply.grounding import price_units
from turnloom.planner.reply.grounding.context import BOUND, Context, Reason
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.labels import stems
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.mentions import Mention, elements_of, fits, is_beside, is_in, own_statement
from turnloom.planner.reply.grounding.paths import basis_at, basis_of, is_for_one, period_at, role_of_field
from turnloom.planner.reply.grounding.places import Element, EvidencePlace, Places
from turnloom.planner.reply.grounding.roles import role_of
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.text_segments import Segment, joint_in, segments, words_of_any_price

_SHORTEST = 4
"""Fewest letters of a word that tells what a statement is about."""
_OF_FLIGHTS = ("money", "time")
_NEXT = re.compile(r"\s(?:(?:on|am|le|el|il|op|na|em|a)\s)?")
"""What is between a figure and a day right behind it: "at 13:20 on Tuesday"."""
_NEXT_WORD = re.compile(r"\s(?!(?:per|each|for|and|with|from|have|that|than|also)\b)[^\W\d_]{4,}")


def select_place(places: list[EvidencePlace], figure: Figure, context: Context) -> EvidencePlace | Reason:
    """Return the first place that fits what the sentence says of a figure, or why none does."""
    elements = context.elements(figure)
    if figure.kind in ("link", "phone") and not _have_own(figure, elements, context.evidence.places):
        elements = frozenset()
    groups = (elements, context.at(figure), *(context.above.values() if context.sentence.is_item else ()))
    bound = [place for place in places if _is_in_document(place) or all(fits(place, group) for group in groups)]
    bound = [place for place in bound if not context.evidence.places.is_of_other(place, elements)]
    bound = bound or [place for place in places if _is_in_own_text(place, figure, elements, context.evidence.places)]
    bound = bound or _in_words_of_own_statement(places, figure, context)
    on = elements_of(figure, context.sentence, _days_near(figure, context)) if figure.kind in BOUND else frozenset()
    if on and not _is_of_next_thing(figure, context):
        on_day = [place for place in bound if place.is_prose or fits(place, on)]
        bound = on_day if bound else [place for place in places if is_in(place, on)]
    if figure.kind in _OF_FLIGHTS and (flights := context.numbered(figure)):
        bound = [place for place in bound if place.is_prose or fits(place, flights)]
    if figure.kind == "time" and (role := role_of(figure, context.sentence)):
        bound = [place for place in bound if role_of_field(place.path) in (None, role)]
    bound = _of_own_words(bound, figure, context)
    if not bound:
        return "other"
    facts = [place for place in bound if not place.is_said]
    sentence = context.sentence
    is_asked = figure.kind != "money" or sentence.says_beside("user_figures", figure) or sentence.is_limit(figure)
    is_asked = is_asked or context.repeats_user or any(_is_repeated(figure, place, sentence) for place in bound)
    if not facts and not is_asked:
        return "said"
    same = of_basis(facts or bound, figure, context)
    return same[0] if same else "basis"


def _is_in_document(place: EvidencePlace) -> bool:
    """Return whether a place is in the passage of a document, which speaks of more than its title names."""
    return place.is_prose and place.path.rpartition(".")[2] in words()["passage_fields"]


def _is_repeated(figure: Figure, place: EvidencePlace, sentence: Sentence) -> bool:
    """Return whether an amount is a part of what the user calls something, such as "the 12,600 grant"."""
    said, heard = (_NEXT_WORD.match(text) for text in (_behind(figure, sentence), place.behind))
    return said is not None and heard is not None and said[0].lower() == heard[0].lower()


def _of_own_words(found: list[EvidencePlace], figure: Figure, context: Context) -> list[EvidencePlace]:
    """Return the places but those in texts in which the words around a figure are those of another amount."""
    known = context.evidence.places.segments
    if not any((place.step, place.path, figure.kind) in known for place in found):
        return found
    amounts = [one for one in context.sentence.figures if one.kind == figure.kind]
    said, values = segments(context.sentence.whole, amounts)[amounts.index(figure)], {key[1] for key in figure.keys}
    return [
        place
        for place in found
        if not _are_of_another(said, values, known.get((place.step, place.path, figure.kind), ()))
    ]


def _are_of_another(said: frozenset[str], values: Collection[object], inside: Collection[Segment]) -> bool:
    """Return whether words are only those of other amounts than some values, and than the one that changed to them."""
    own = frozenset[str]().union(*(around for value, around in inside if value in values))
    unlike = (around for value, around in inside if value not in values and not (around <= own or own <= around))
    others = frozenset[str]().union(*unlike)
    return bool(own - others and said & (others - own)) and not said & (own - others)


def _is_in_own_text(place: EvidencePlace, figure: Figure, elements: frozenset[Element], places: Places) -> bool:
    """Return whether a longer text beside the ones that are named has a figure of which those have none."""
    beside = frozenset(element for element in elements if is_beside(place, element))
    return place.is_prose and bool(beside) and beside == elements and not _have_own(figure, beside, places)


def _in_words_of_own_statement(places: list[EvidencePlace], figure: Figure, context: Context) -> list[EvidencePlace]:
    """Return the places in texts that have words of a statement which names nothing: "A costs 90, and parking 12"."""
    said = {word for word in stems(own_statement(figure, context.sentence, context.named)) if len(word) >= _SHORTEST}
    return [place for place in places if place.is_prose and said & place.about - words_of_any_price()]


def _days_near(figure: Figure, context: Context) -> list[Mention]:
    """Return the days behind a figure in its clause, if none is before it there, or else all of its sentence.

    A day behind it with a figure of its own is none of them: "80 % on arrival, and 15 % on Friday".
    """
    sentence = context.sentence
    start, end = sentence.clause(figure.start)
    inside = [day for day in context.days if start <= day.start < end]
    next_to = [day for day in inside if _NEXT.fullmatch(sentence.whole, figure.end, day.start)]
    is_next = bool(inside) and figure.end <= inside[0].start
    is_next = is_next and not joint_in(sentence.whole, figure.end, inside[0].start)  # "at 9:10, and Sunday at 16:35"
    if next_to or is_next:
        return next_to or inside
    alike = [one for one in sentence.figures if one.kind == figure.kind and one.start >= end]
    clauses = [sentence.clause(one.start) for one in alike]
    return [day for day in context.days if not any(first <= day.start < last for first, last in clauses)]


def _is_of_next_thing(figure: Figure, context: Context) -> bool:
    """Return whether a thing is named behind the figure before, and no day is: "on Friday A costs 90, and B 120"."""
    before = [one.end for one in context.sentence.figures if one.kind == figure.kind and one.end <= figure.start]
    if not before:
        return False
    named, days = (
        [one for one in found if before[-1] <= one.start and one.end <= figure.start]
        for found in (context.named, context.days)
    )
    return bool(named) and not days


def of_basis(found: list[EvidencePlace], figure: Figure, context: Context) -> list[EvidencePlace]:
    """Return the places of what a figure is said to be for: one night or all, a month, one person or all of them."""
    if figure.kind != "money":
        return found
    sentence, basis = context.sentence, context.basis(figure)
    same = [place for place in found if basis is None or basis_at(place) in (None, basis)]
    if period := sentence.period(figure):
        same = [place for place in same if period_at(place) in (None, period)]
    if sentence.is_for_all(figure):
        same = [place for place in same if not is_for_one(place.path)]
    if sentence.is_for_one(figure):
        same = [place for place in same if is_for_one(place.path) or basis_of(place.path) != "total"]
    return [place for place in same if not price_units.are_unlike(_behind(figure, sentence), place.behind)]


def _behind(figure: Figure, sentence: Sentence) -> str:
    """Return the words of a sentence right behind a figure."""
    return sentence.whole[figure.end : min(sentence.end, figure.end + price_units.LONGEST)]


def _have_own(figure: Figure, elements: frozenset[Element], places: Places) -> bool:
    """Return whether some elements have a figure of this kind, so that it cannot be another one's."""
    keys = (key for key in places.by_key if key[0] == figure.kind)
    return any(is_in(place, elements) for key in keys for place in places.by_key[key])

"""The amounts and counts that arithmetic about a figure may use, of its sentence, the text before, and the evidence."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from turnloom.planner.reply.grounding.assertions import discount_in
from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.fares import Beside, party_bills
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.known_amounts import KnownAmounts
from turnloom.planner.reply.grounding.labels import stems
from turnloom.planner.reply.grounding.mentions import Mention, fits, is_in, is_in_one_statement
from turnloom.planner.reply.grounding.paths import basis_of
from turnloom.planner.reply.grounding.places import UNSTATED, Element, Operand, Places
from turnloom.planner.reply.grounding.relevance import things_named
from turnloom.planner.reply.grounding.round_trips import round_trips
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.values import value_of

_MOST_SAID = 12
_FEW = 4
_SHORTEST = 4
"""Fewest letters of a word that tells what a percentage is of."""


def operands(figure: Figure, context: Context) -> list[Operand]:
    """Return the sourced values that arithmetic about a figure may start from."""
    known = context.evidence.places.operands.values()
    is_about_user = context.sentence.says("user_figures") or context.sentence.says("differences")
    stated = {key[2] for key in figure.keys if key[0] == "money"}
    codes, is_any = (stated - {None}) | {UNSTATED}, figure.kind != "money" or None in stated
    found = [
        operand
        for operand in known
        if (is_about_user or not operand.place.is_said)
        and (operand.code in codes or (is_any and (figure.kind != "money" or operand.code is not None)))
    ]
    # A sign such as $ has several currencies: each amount counts once. Those without a currency come last.
    found.sort(key=lambda operand: operand.code == UNSTATED)
    return list({(operand.value, operand.place): operand for operand in reversed(found)}.values())[::-1]


def _pairs(sentence: Sentence) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield what a sentence says has grown or shrunk, in both ways, if it has few numbers."""
    counts = sorted(sentence.counts())
    if len(counts) <= _FEW and sentence.says("differences"):
        yield from ((abs(one - other), other) for one in counts for other in counts if one != other and other)


def _is_also_of(one: Operand, elements: frozenset[Element], places: Places) -> bool:
    """Return whether some elements have the same amount as another one, whose place stands for both."""
    return any(is_in(place, elements) for place in places.of((("money", one.value, one.code),)))


def _is_of_other_list(one: Operand, elements: frozenset[Element], named: Sequence[Mention]) -> bool:
    """Return whether an amount belongs to an element of a list that nothing named before the figure is in."""
    is_listed = "[" in one.place.path and not one.place.is_prose
    return bool(elements) and is_listed and not any(is_in(one.place, mention.elements) for mention in named)


def _percents_named(context: Context) -> frozenset[Decimal]:
    """Return the percentages of the evidence around which are words of the sentence; all, if it tells a discount."""
    places, sentence = context.evidence.places, context.sentence
    known = places.values("percent")
    if discount_in(sentence.text):
        return frozenset(known)
    said = {word for word in stems(sentence.text) if len(word) >= _SHORTEST or not word.isascii()}
    return frozenset(value for value in known if any(place.about & said for place in places.of((("percent", value),))))


def _people(known: Places) -> frozenset[Decimal]:
    """Return how many people may share a price: the adults, or all with their children."""
    adults = known.values("count", "adult") | known.values("count", "guest")
    children = known.values("count", "child") | {Decimal(0)}
    return frozenset(one + other for one in adults for other in children)


def _trips(context: Context) -> tuple[list[Operand], list[Operand]]:
    """Return the round trips that a sentence may speak of, of the flights that it names, if any, and all the others."""
    if not context.sentence.says("round_trips"):
        return [], []
    named = {element for mention in context.named for element in mention.elements}
    trips, known = round_trips(context.evidence.places, named), round_trips(context.evidence.places, ())
    return trips, [trip for trip in known if trip not in trips]


def known_amounts(amounts: list[Operand], figure: Figure, context: Context, *, is_free: bool) -> KnownAmounts:
    """Return what arithmetic about a figure may use. `amounts`: its `operands`. `is_free`: whether any way will do."""
    named = frozenset(element for mention in context.topic for element in mention.elements)
    stated = {operand.value for operand in context.told}
    amount = [operand for operand in amounts if operand.value in stated or is_in(operand.place, named)]
    codes = {key[2] for key in figure.keys if key[0] == "money"} | {None, UNSTATED}
    is_any = codes == {None, UNSTATED}
    others = [operand for operand in context.told if is_any or operand.code in codes]
    derived = [operand for operand in others if operand not in amount and operand.code != "%"]
    known, elements = context.evidence.places, context.elements(figure)
    compares = context.sentence.says_in_clause("differences", figure)  # what it compares with need not be named
    told = [*amount, *(operand for operand in derived if operand.value not in {a.value for a in amount})]
    counts = {value for unit in ("night", "guest", "adult") for value in known.values("count", unit)}
    counts |= {count for count in known.said_counts if count <= _MOST_SAID}
    own = {key[1] for key in figure.keys if figure.kind == "number"}  # once a count of its own would give any number
    is_bound = is_in_one_statement(figure, context.sentence, context.named)
    trips, other_trips = _trips(context)
    sentence = context.sentence
    is_share = any(says("shares", figure) for says in (sentence.says_beside, sentence.says_before))
    is_share = is_share or sentence.begins_with("shares")
    adds = sentence.says("additions") or sentence.says("sums")
    stays = [one for one in told if adds and basis_of(one.place.path) == "total"]
    beside = Beside(stays, told if sentence.says("differences") else ())
    only_nights = context.nights and not context.sentence.says("people")
    return KnownAmounts(
        # What is told comes first, because not all of the others are tried.
        amounts=[*told, *(operand for operand in amounts if operand not in amount)],
        told=told,
        fitting=[*told, *(one for one in amounts if one not in amount and (compares or fits(one.place, elements)))],
        things=things_named(context.sentence.text, [one for one in amounts if not one.place.is_said]),
        trips=[trip for trip in trips if is_any or trip.code in codes],
        other_trips=[trip for trip in other_trips if is_any or trip.code in codes],
        references=[*list(context.told)[-4:], *(one for one in amounts if one.place.is_said)][:6],
        limits=[one for one in amounts if one.place.is_said and context.sentence.says_beside("user_limits", figure)],
        counts=frozenset(context.sentence.counts() - own),
        counts_before=context.sentence.counts_before,
        known_counts=frozenset(context.nights | (set() if only_nights else counts)),
        is_sum=context.sentence.says("sums"),
        is_addition=context.sentence.says("additions"),
        is_difference=context.sentence.says("differences"),
        is_of_limit=context.sentence.says("user_figures"),
        is_share=is_share,
        parts=frozenset((*context.sentence.parts(), *_pairs(context.sentence))),
        percents=frozenset(context.sentence.percents()),
        known_percents=_percents_named(context),
        stated=frozenset(stated),
        basis=context.basis(figure),
        is_of_people=context.sentence.says("people"),
        is_free=is_free,
        is_worded=context.sentence.calculates,
        is_plain=figure.kind == "number",
        is_nightly=context.basis(figure) == "night" and context.sentence.is_nightly(figure),
        says_nights=bool(context.nights),
        nights=frozenset(known.nights()),
        compared=known.compared,
        people=_people(known),
        is_for_one=context.sentence.is_for_one(figure),
        bills=party_bills(value_of(figure) or Decimal(), amounts, beside, frozenset(sentence.counts() - own), known),
        strange=[
            one
            for one in (*told, *amounts)
            if is_bound
            and not _is_also_of(one, elements, known)
            and (not fits(one.place, elements) or (one not in told and _is_of_other_list(one, elements, context.topic)))
        ],
    )

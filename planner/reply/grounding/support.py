"""Support: the place that a figure of a sentence comes from, or the reason why it may not be said."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from turnloom.planner.reply.grounding.arithmetic import Derived, KnownAmounts, derive, derive_percent, is_rounded
from turnloom.planner.reply.grounding.assertions import goes_on
from turnloom.planner.reply.grounding.binding import Mention, dated, elements_of, fits, is_in, is_in_one_statement
from turnloom.planner.reply.grounding.evidence import Evidence
from turnloom.planner.reply.grounding.exchange import exchanged
from turnloom.planner.reply.grounding.fields import Basis
from turnloom.planner.reply.grounding.figures import PERSONAL, Figure, Key
from turnloom.planner.reply.grounding.moments import TODAY, later_day, later_time
from turnloom.planner.reply.grounding.paths import basis_at, basis_of, is_for_one, period_of, role_of_field
from turnloom.planner.reply.grounding.places import UNSTATED, Element, EvidencePlace, Operand, Places
from turnloom.planner.reply.grounding.relevance import things_named
from turnloom.planner.reply.grounding.roles import role_of
from turnloom.planner.reply.grounding.sentences import Direction, Sentence
from turnloom.planner.reply.grounding.zones import in_greenwich

Reason = Literal["no_source", "personal", "page", "said", "basis", "other", "policy", "deed"]
_BOUND = frozenset({"money", "number", "percent", "time"})
"""Kinds of figures that belong to the thing, or the day, that their sentence names."""
_NAMED = _BOUND | {"link", "phone"}
"""Kinds that belong to the thing that it names."""
_COMPUTES = ("sums", "differences", "shares", "additions")
"""Words behind which an amount that belongs to something else may be the result of a calculation."""
_MOST_SAID = 12
_FEW = 4
_ONE = Decimal(1)
IDIOM = EvidencePlace("agent", "")
"""The place of what states nothing: an offered day, "100 % sure"."""


@dataclass(frozen=True, slots=True)
class Context:
    """A sentence, and what may be said in it."""

    sentence: Sentence
    evidence: Evidence
    named: list[Mention]
    told: deque[Operand]
    """The amounts that the text has stated so far, in this sentence too."""
    tries: Iterator[int]
    """As many values as arithmetic is still sought for in the text."""
    lengths: set[Decimal]
    """The lengths of time that the sentence states, in minutes."""
    topic: list[Mention]
    """The names in it, or else the last ones before it."""
    nights: set[Decimal]
    """The numbers of nights that the sentence states."""
    days: list[Mention]
    """The days in it that name elements."""
    above: Mapping[Element, frozenset[Element]]
    """Of each list, the elements that the items of the text have named last, here or above it."""
    listed: Sequence[frozenset[Element]]
    """The offers that the text has named before it, in order."""

    def elements(self, figure: Figure) -> frozenset[Element]:
        """Return the elements of lists that a figure is said of."""
        if figure.kind not in _NAMED:
            return frozenset()
        return elements_of(figure, self.sentence, self.named) if self.named else self._of_topic()

    def at(self, figure: Figure) -> frozenset[Element]:
        """Return the elements that have the only time beside an amount that is the only one of its sentence."""
        if figure.kind != "money":
            return frozenset()
        beside = [one for one in self.sentence.figures if one.kind in ("time", "money") and one is not figure]
        times = beside if [one.kind for one in beside] == ["time"] else []
        return frozenset().union(*(mention.elements for mention in dated(times, self.evidence.places)))

    def _of_topic(self) -> frozenset[Element]:
        """Return the elements that a sentence such as "It costs 90" goes on about, if one name alone came before."""
        named = {mention.elements for mention in self.topic}
        return next(iter(named)) if len(named) == 1 and goes_on(self.sentence.text) else frozenset()

    def basis(self, figure: Figure) -> Basis | None:
        """Return what an amount is said to be for, unless all is for one night."""
        nights = self.evidence.places.values("count", "night")
        return None if figure.kind != "money" or nights == {_ONE} else self.sentence.basis(figure)


def support(figure: Figure, context: Context) -> EvidencePlace | Reason:
    """Return where a figure comes from, or why it may not be said."""
    places = context.evidence.places.of(_keys(figure, context.sentence))
    if figure.kind == "date" and not context.sentence.says("today"):
        places = [place for place in places if place.path != TODAY]
    reason: Reason = "personal" if figure.kind in PERSONAL else "no_source"
    if places:
        found = _fitting(places, figure, context)
        if isinstance(found, EvidencePlace):
            return found
        reason = found
    if later := _later(figure, context):
        return later
    if figure.kind == "money" and (place := exchanged(figure, context.sentence.figures, context.evidence.places)):
        return place
    is_computed = reason != "other" or any(context.sentence.says(kind) for kind in _COMPUTES)
    is_computed = is_computed and not _is_in_other_currency(figure, context.evidence.places)
    derived = _derived(figure, context) if is_computed and next(context.tries, None) else None
    if derived is None:
        is_offer = context.sentence.is_question and context.sentence.says("offers")
        return IDIOM if is_offer and figure.kind in ("date", "time") else reason
    return replace(derived.place, path=derived.path)


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


def value_of(figure: Figure) -> Decimal | None:
    """Return the likeliest value of an amount; None if the figure is none."""
    values = (key[1] for key in figure.keys if key[0] in ("money", "number", "percent"))
    return next((value for value in values if isinstance(value, Decimal)), None)


def code_of(figure: Figure, places: Places | None = None) -> str | None:
    """Return the currency of an amount, the one that `places` have it in if any; `%` for a percentage."""
    key = next((key for key in figure.keys if places and places.of((key,))), figure.keys[0])
    return "%" if figure.kind == "percent" else str(key[2]) if key[0] == "money" and key[2] else None


def _keys(figure: Figure, sentence: Sentence) -> tuple[Key, ...]:
    """Return the keys of a figure, those of the same amount in no currency, and those of a night within a stay."""
    values = dict.fromkeys(key[1] for key in figure.keys if key[0] == "money")
    is_night = figure.kind == "date" and sentence.says("night_words")
    nights = (("stay", *key[1:]) for key in figure.keys if is_night)
    there = in_greenwich(figure.keys) if figure.kind == "time" and sentence.says("greenwich") else ()
    return (*figure.keys, *(("money", value, UNSTATED) for value in values), *nights, *there)


def _fitting(places: list[EvidencePlace], figure: Figure, context: Context) -> EvidencePlace | Reason:
    """Return the first place that fits what the sentence says of a figure, or why none does."""
    elements = context.elements(figure)
    if figure.kind in ("link", "phone") and not _have_own(figure, elements, context.evidence.places):
        elements = frozenset()
    groups = (elements, context.at(figure), *(context.above.values() if context.sentence.is_item else ()))
    bound = [place for place in places if all(fits(place, group) for group in groups)]
    if figure.kind in _BOUND and (on := elements_of(figure, context.sentence, context.days)):
        on_day = [place for place in bound if place.is_prose or fits(place, on)]
        bound = on_day if bound else [place for place in places if is_in(place, on)]
    if figure.kind == "time" and (role := role_of(figure, context.sentence)):
        bound = [place for place in bound if role_of_field(place.path) in (None, role)]
    if not bound:
        return "other"
    facts = [place for place in bound if not place.is_said]
    sentence = context.sentence
    is_asked = figure.kind != "money" or sentence.says_beside("user_figures", figure) or sentence.is_limit(figure)
    if not facts and not is_asked:
        return "said"
    same = _of_basis(facts or bound, figure, context)
    return same[0] if same else "basis"


def _of_basis(found: list[EvidencePlace], figure: Figure, context: Context) -> list[EvidencePlace]:
    """Return the places of what a figure is said to be for: one night or all, a month, one person or all of them."""
    if figure.kind != "money":
        return found
    sentence, basis = context.sentence, context.basis(figure)
    same = [place for place in found if basis is None or basis_at(place) in (None, basis)]
    if period := sentence.period(figure):
        same = [place for place in same if period_of(place.path) in (None, period)]
    if sentence.is_for_all(figure):
        same = [place for place in same if not is_for_one(place.path)]
    if sentence.is_for_one(figure):
        same = [place for place in same if is_for_one(place.path) or basis_of(place.path) != "total"]
    return same


def _is_in_other_currency(figure: Figure, places: Places) -> bool:
    """Return whether all amounts of the evidence are in other currencies than a figure."""
    stated = {key[2] for key in figure.keys if key[0] == "money"} - {None}
    return bool(stated and places.currencies) and stated.isdisjoint(places.currencies)


def _have_own(figure: Figure, elements: frozenset[Element], places: Places) -> bool:
    """Return whether some elements have a figure of this kind, so that it cannot be another one's."""
    keys = (key for key in places.by_key if key[0] == figure.kind)
    return any(is_in(place, elements) for key in keys for place in places.by_key[key])


def _later(figure: Figure, context: Context) -> EvidencePlace | None:
    """Return the source of a day or a time that is so long after, or before, a known one."""
    places = context.evidence.places
    match figure.kind:
        case "date":
            return later_day(figure, context.sentence, context.lengths, places)
        case "time":
            return later_time(figure, context.lengths, places, role_of(figure, context.sentence))
    return None


def _derived(figure: Figure, context: Context) -> Derived | None:
    """Return how a figure follows from others, by rounding or arithmetic."""
    value = value_of(figure)
    if value is None:
        return None
    if value == 100 and (figure.kind == "percent" or context.sentence.is_scale(figure)):
        return Derived(value, "", IDIOM)  # "100 % sure" is a way to say yes, and 100 in "76 out of 100" is the scale
    direction = context.sentence.rounding(figure)
    if figure.kind == "percent" and direction and (place := _rounded_percent(value, context, direction)):
        return Derived(value, f"{place.path} ≈ {value}", place)
    amounts = operands(figure, context)
    elements = context.elements(figure)
    if figure.kind != "percent":
        for operand in amounts:
            is_near = direction is not None and is_rounded(value, operand.value, direction)
            if (is_near or _is_whole_of(value, operand)) and fits(operand.place, elements):
                return Derived(value, f"{operand.place.path} ≈ {value}", operand.place)
    known = _known(amounts, figure, context)
    if figure.kind == "percent":
        return derive_percent(value, known, direction)
    return derive(value, known, direction)


def _rounded_percent(value: Decimal, context: Context, direction: Direction) -> EvidencePlace | None:
    places = context.evidence.places
    known = (other for other in places.values("percent") if is_rounded(value, other, direction))
    return next((place for other in known for place in places.of((("percent", other),))), None)


def _is_whole_of(value: Decimal, operand: Operand) -> bool:
    """Return whether a number that is no money is another one without its decimals."""
    return operand.code is None and operand.value != value and round(operand.value) == value


def _pairs(sentence: Sentence) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield what a sentence says has grown or shrunk, in both ways, if it has few numbers."""
    counts = sorted(sentence.counts())
    if len(counts) <= _FEW and sentence.says("differences"):
        yield from ((abs(one - other), other) for one in counts for other in counts if one != other and other)


def _known(amounts: list[Operand], figure: Figure, context: Context) -> KnownAmounts:
    named = frozenset(element for mention in context.topic for element in mention.elements)
    stated = {operand.value for operand in context.told}
    amount = [operand for operand in amounts if operand.value in stated or is_in(operand.place, named)]
    codes = {key[2] for key in figure.keys if key[0] == "money"} | {None, UNSTATED}
    others = [operand for operand in context.told if codes == {None, UNSTATED} or operand.code in codes]
    derived = [operand for operand in others if operand not in amount and operand.code != "%"]
    known, elements = context.evidence.places, context.elements(figure)
    compares = context.sentence.says("differences")  # what it compares with need not be named
    told = [*amount, *(operand for operand in derived if operand.value not in {a.value for a in amount})]
    counts = {value for unit in ("night", "guest", "adult") for value in known.values("count", unit)}
    counts |= {count for count in known.said_counts if count <= _MOST_SAID}
    own = {key[1] for key in figure.keys if figure.kind == "number"}  # once a count of its own would give any number
    is_bound = is_in_one_statement(figure, context.sentence, context.named)
    only_nights = context.nights and not context.sentence.says("people")
    return KnownAmounts(
        # What is told comes first, because not all of the others are tried.
        amounts=[*told, *(operand for operand in amounts if operand not in amount)],
        told=told,
        fitting=[*told, *(one for one in amounts if one not in amount and (compares or fits(one.place, elements)))],
        things=things_named(context.sentence.text, [one for one in amounts if not one.place.is_said]),
        references=[*list(context.told)[-4:], *(one for one in amounts if one.place.is_said)][:6],
        counts=frozenset(context.sentence.counts() - own),
        known_counts=frozenset(context.nights | (set() if only_nights else counts)),
        is_sum=context.sentence.says("sums"),
        is_addition=context.sentence.says("additions"),
        is_difference=context.sentence.says("differences") or context.sentence.says("user_figures"),
        is_share=context.sentence.says_beside("shares", figure),
        parts=frozenset((*context.sentence.parts(), *_pairs(context.sentence))),
        percents=frozenset(context.sentence.percents()),
        known_percents=frozenset(known.values("percent")),
        stated=frozenset(stated),
        basis=context.basis(figure),
        is_of_people=context.sentence.says("people"),
        is_free=all(place.is_said for place in known.of(_keys(figure, context.sentence))),
        is_worded=context.sentence.calculates,
        is_plain=figure.kind == "number",
        strange=[one for one in (*told, *amounts) if is_bound and not fits(one.place, elements)],
    )

"""Support: the place that a figure of a sentence comes from, or the reason why it may not be said."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

from turnloom.planner.reply.grounding.arithmetic import derive, is_rounded
from turnloom.planner.reply.grounding.assertions import discount_in
from turnloom.planner.reply.grounding.context import Context, Reason
from turnloom.planner.reply.grounding.exchange import exchanged
from turnloom.planner.reply.grounding.figures import PERSONAL, Figure, Key
from turnloom.planner.reply.grounding.known_amounts import Derived, KnownAmounts
from turnloom.planner.reply.grounding.labels import stems
from turnloom.planner.reply.grounding.mentions import Mention, fits, is_in, is_in_one_statement
from turnloom.planner.reply.grounding.moments import TODAY, later_day, later_time, near_time, next_day, recurring_day
from turnloom.planner.reply.grounding.percentages import derive_percent
from turnloom.planner.reply.grounding.place_selection import of_basis, select_place
from turnloom.planner.reply.grounding.places import UNSTATED, Element, EvidencePlace, Operand, Places
from turnloom.planner.reply.grounding.relevance import things_named
from turnloom.planner.reply.grounding.roles import role_of
from turnloom.planner.reply.grounding.round_trips import round_trips
from turnloom.planner.reply.grounding.sentences import Direction, Sentence
from turnloom.planner.reply.grounding.times import pointed_times
from turnloom.planner.reply.grounding.zones import clocks_of, in_greenwich

_COMPUTES = ("sums", "differences", "shares", "additions")
"""Words behind which an amount that belongs to something else may be the result of a calculation."""
_MOST_SAID = 12
_FEW = 4
_MOST_DAYS = 12
_BESIDE = 8
"""Most characters between a weekday and its date."""
_SHORTEST = 4
"""Fewest letters of a word that tells what a percentage is of."""
IDIOM = EvidencePlace("agent", "")
"""The place of what states nothing: an offered day, "100 % sure"."""


def support(figure: Figure, context: Context) -> EvidencePlace | Reason:
    """Return where a figure comes from, or why it may not be said."""
    places = context.evidence.places.of((*_keys(figure, context.sentence), *_elsewhere(figure, context)))
    if figure.kind == "date" and not context.sentence.says("today"):
        places = [place for place in places if place.path != TODAY]
    reason: Reason = "personal" if figure.kind in PERSONAL else "no_source"
    if places:
        found = select_place(places, figure, context)
        if isinstance(found, EvidencePlace):
            return found
        reason = found
    if later := _later(figure, context):
        return later
    if figure.kind == "money" and (place := exchanged(figure, context.sentence.figures, context.evidence.places)):
        return place
    kinds = [kind for kind in _COMPUTES if (reason, kind) != ("basis", "shares")]  # "per week" makes no week's price
    is_worded = any(context.sentence.says(kind) for kind in kinds) or (reason == "basis" and context.sentence.has_sign)
    is_computed = is_worded or reason not in ("other", "basis")
    is_computed = is_computed and not _is_in_other_currency(figure, context.evidence.places)
    derived = _derived(figure, context) if is_computed and next(context.tries, None) else None
    if derived is None:
        return IDIOM if _is_offered(figure, context) else reason
    return replace(derived.place, path=derived.path)


def _is_offered(figure: Figure, context: Context) -> bool:
    """Return whether a figure is a day or a time of an offer: "Shall I look at ten?", "if you need a room in 2027"."""
    if not context.sentence.says("offers"):
        return False
    if figure.kind == "number":
        year = context.evidence.now.date().year
        return value_of(figure) in (year, year + 1)
    return context.sentence.is_question and figure.kind in ("date", "time")


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
    """Return the currency of an amount, the one that `places` have it in if any; `%` for a percentage.

    None if it has none, or two that contradict each other.
    """
    if not figure.keys:
        return None
    likely = (key for key in figure.keys if places and key[0] == "money" and key[2] in places.currencies)
    key = next((key for key in figure.keys if places and places.of((key,))), next(likely, figure.keys[0]))
    return "%" if figure.kind == "percent" else str(key[2]) if key[0] == "money" and key[2] else None


def _keys(figure: Figure, sentence: Sentence) -> tuple[Key, ...]:
    """Return the keys of a figure, those of the same amount in no currency, and those of a night within a stay."""
    values = dict.fromkeys(key[1] for key in figure.keys if key[0] == "money")
    is_night = figure.kind == "date" and sentence.says("night_words")
    of_month = "weekday of month"
    nights = (("stay of month" if key[0] == of_month else "stay", *key[1:]) for key in figure.keys if is_night)
    there = in_greenwich(figure.keys) if figure.kind == "time" and sentence.says("greenwich") else ()
    if figure.kind == "number":
        there = tuple(pointed_times(sentence.whole[figure.start : figure.end]))
    return (*figure.keys, *(("money", value, UNSTATED) for value in values), *nights, *there)


def _elsewhere(figure: Figure, context: Context) -> tuple[Key, ...]:
    """Return the keys of a time by the clocks of a city that its sentence names, where results name time zones."""
    if figure.kind != "time" or not context.evidence.zones:
        return ()
    days = [key[1] for key in context.evidence.places.by_key if key[0] == "date" and isinstance(key[1], date)]
    return clocks_of(figure, context.sentence.text, days[:_MOST_DAYS])


def _is_in_other_currency(figure: Figure, places: Places) -> bool:
    """Return whether all amounts of the evidence are in other currencies than a figure."""
    stated = {key[2] for key in figure.keys if key[0] == "money"} - {None}
    return bool(stated and places.currencies) and stated.isdisjoint(places.currencies)


def _later(figure: Figure, context: Context) -> EvidencePlace | None:
    """Return the source of a day or a time that is so long after, or before, a known one."""
    places = context.evidence.places
    match figure.kind:
        case "date":
            following = next_day(figure, context.sentence, places, context.evidence.now.date())
            later = later_day(figure, context.sentence, context.lengths, places)
            apart = (one for one in context.weekdays if not 0 <= figure.start - one.end <= _BESIDE)
            weekdays = {key[1] for one in apart for key in one.keys if key[0] == "on"}
            today = context.evidence.now.date()
            return following or later or recurring_day(figure, context.sentence, weekdays, places, today)
        case "time":
            lengths = context.lengths | context.evidence.clocks_apart
            later = later_time(figure, lengths, places, role_of(figure, context.sentence))
            return later or near_time(figure, context.sentence, places)
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
            is_of_it = fits(operand.place, elements) and bool(of_basis([operand.place], figure, context))
            if (is_near or _is_whole_of(value, operand)) and is_of_it:
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


def _known(amounts: list[Operand], figure: Figure, context: Context) -> KnownAmounts:
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
        is_share=context.sentence.says_beside("shares", figure) or context.sentence.says_before("shares", figure),
        parts=frozenset((*context.sentence.parts(), *_pairs(context.sentence))),
        percents=frozenset(context.sentence.percents()),
        known_percents=_percents_named(context),
        stated=frozenset(stated),
        basis=context.basis(figure),
        is_of_people=context.sentence.says("people"),
        is_free=all(place.is_said for place in known.of(_keys(figure, context.sentence))),
        is_worded=context.sentence.calculates,
        is_plain=figure.kind == "number",
        is_nightly=context.basis(figure) == "night" and context.sentence.is_nightly(figure),
        says_nights=bool(context.nights),
        nights=frozenset(known.values("count", "night")),
        compared=known.compared,
        people=_people(known),
        is_for_one=context.sentence.is_for_one(figure),
        strange=[
            one
            for one in (*told, *amounts)
            if is_bound
            and not _is_also_of(one, elements, known)
            and (not fits(one.place, elements) or (one not in told and _is_of_other_list(one, elements, context.topic)))
        ],
    )

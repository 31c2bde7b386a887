"""Support: the place that a figure of a sentence comes from, or the reason why it may not be said."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

from turnloom.planner.reply.grounding.arithmetic import derive, is_rounded
from turnloom.planner.reply.grounding.context import Context, Reason
from turnloom.planner.reply.grounding.exchange import exchanged
from turnloom.planner.reply.grounding.figures import PERSONAL, Figure, Key
from turnloom.planner.reply.grounding.known_amounts import Derived
from turnloom.planner.reply.grounding.mentions import fits
from turnloom.planner.reply.grounding.moments import TODAY, later_day, later_time, near_time, next_day, recurring_day
from turnloom.planner.reply.grounding.percentages import derive_percent
from turnloom.planner.reply.grounding.place_selection import of_basis, select_place
from turnloom.planner.reply.grounding.places import UNSTATED, EvidencePlace, Operand, Places
from turnloom.planner.reply.grounding.roles import role_of
from turnloom.planner.reply.grounding.sentence_amounts import known_amounts, operands
from turnloom.planner.reply.grounding.sentences import Direction, Sentence
from turnloom.planner.reply.grounding.times import pointed_times
from turnloom.planner.reply.grounding.values import value_of
from turnloom.planner.reply.grounding.zones import clocks_of, in_greenwich

_COMPUTES = ("sums", "differences", "shares", "additions")
"""Words behind which an amount that belongs to something else may be the result of a calculation."""
_MOST_DAYS = 12
_BESIDE = 8
"""Most characters between a weekday and its date."""
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
    value = value_of(figure, context.evidence.places)
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
    is_free = all(place.is_said for place in context.evidence.places.of(_keys(figure, context.sentence)))
    known = known_amounts(amounts, figure, context, is_free=is_free)
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

"""Contradictions: a count, a duration or a weekday that is said, where the evidence knows other ones only.

What the evidence knows nothing about may be said, and a question or an offer states nothing. A deed may be said only if
a tool that succeeded declares it, or a result names it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

from turnloom.planner.reply.grounding.arithmetic import is_rounded
from turnloom.planner.reply.grounding.assertions import goes_on, is_denied
from turnloom.planner.reply.grounding.context import Context, Reason
from turnloom.planner.reply.grounding.count_bindings import is_of_another_in_texts
from turnloom.planner.reply.grounding.deeds import is_done, is_undone
from turnloom.planner.reply.grounding.figures import Figure, Key
from turnloom.planner.reply.grounding.known_counts import (
    follows,
    is_elliptical,
    is_factor,
    is_sum_of_people,
    known_values,
    tells_left,
)
from turnloom.planner.reply.grounding.lengths import is_known_length
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.mentions import COMMA, Mention, elements_of, fits, is_in
from turnloom.planner.reply.grounding.moments import days_apart, is_off_today, of_clock
from turnloom.planner.reply.grounding.nights import is_night, is_weekday_of_night
from turnloom.planner.reply.grounding.places import Element, EvidencePlace, Places
from turnloom.planner.reply.grounding.policies import denies
from turnloom.planner.reply.grounding.sentences import Sentence

_ONE_OF_THEM: Key = ("count", "item", Decimal(1))
"""What "one hotel" says: little."""
_MEASURES = frozenset({"star", "degree", "area", "metre", "kilometre"})
"""Units that no total is a multiple by."""
_HOUR = 60
_LARGEST_PARTY = 12
"""More people than this are no guests: those of a staff, of a society."""
_DAYS_OF = {"day": 1, "week": 7}
_NEXT_CLAUSE = re.compile(r"[;,]\s|\s[\u2013\u2014-]\s")
"""What may stand between a statement and a question: "I booked it; is that all right?"."""
_ARTICLE = re.compile(r",?\s(?:(?:the|dem|den|der|el|le|il|o|de)\s)?")
_BOUND = frozenset({"count", "duration", "label"})
"""Kinds of claims that belong to the thing that their sentence names."""


def contradiction(claim: Figure, context: Context, derived: Mapping[int, str]) -> Reason | None:
    """Return why the evidence does not let a claim be said. `derived`: where the sentence has what arithmetic gave."""
    sentence, places = context.sentence, context.evidence.places
    if claim.kind in ("deed", "flag"):
        return _of_assertion(claim, context)
    if sentence.is_question or sentence.says("offers"):
        return None
    if claim.kind == "count" and is_of_another_in_texts(claim, context):
        return "other"
    if found := places.of(claim.keys):
        is_free = claim.kind not in _BOUND or _multiplies(claim, context, derived)
        return None if is_free or not _is_of_another(claim, found, context) else "other"
    wrong: dict[str, Callable[[], bool]] = {
        "discount": lambda: True,
        "found": lambda: _is_too_many(claim, sentence, places),
        "small": lambda: _is_unheard(claim, context, derived),
        "label": lambda: _is_mislabelled(claim, context, derived),
        # When a place is open is seldom a date.
        "weekday": lambda: (
            not (
                is_weekday_of_night(claim, context)
                or sentence.says("opening_words")
                or _is_of_date(claim, sentence)
                or _is_denied(claim, sentence)
            )
            and _has_others_only(claim, context, derived)
        ),
    }
    is_of_text = claim.keys[0][-1] in sentence.lists() - {1} and not sentence.is_item
    is_of_text = is_of_text or _counts_days_behind(claim, sentence)
    is_said = claim.keys[0] == _ONE_OF_THEM or is_of_text or _is_remainder(claim, context, derived)
    if is_said or (claim.kind in ("count", "label") and is_elliptical(claim.keys, places)):
        return None
    is_wrong = wrong.get(claim.kind, lambda: _has_others_only(claim, context, derived))
    return "no_source" if is_wrong() else None


def _of_assertion(claim: Figure, context: Context) -> Reason | None:
    """Return why a deed, or a policy, may not be said."""
    sentence = context.sentence
    if claim.kind == "flag":
        return "policy" if denies(claim, context) else None
    is_open = sentence.is_question and not _NEXT_CLAUSE.search(sentence.whole, claim.end, sentence.end)
    return None if is_open or (is_undone if claim.keys[0][0] == "undone" else is_done)(claim, context) else "deed"


def _is_denied(claim: Figure, sentence: Sentence) -> bool:
    """Return whether a clause says of a day that there is nothing: "nothing was proposed for Monday"."""
    return is_denied(sentence.whole[slice(*sentence.clause(claim.start))])


def _is_of_date(claim: Figure, sentence: Sentence) -> bool:
    """Return whether a date stands right behind a weekday: it is read with it."""
    dates = (one for one in sentence.figures if one.kind == "date" and one.start >= claim.end)
    return any(_ARTICLE.fullmatch(sentence.whole, claim.end, date.start) for date in dates)


def _counts_days_behind(claim: Figure, sentence: Sentence) -> bool:
    """Return whether as many days follow as a sentence counts: "two times are next week, on the 24th and 26th …"."""
    days = sum(one.kind == "date" and one.start >= claim.end for one in sentence.figures)
    return claim.keys[0] == ("count", "item", Decimal(days))


def _is_remainder(claim: Figure, context: Context, derived: Mapping[int, str]) -> bool:
    """Return whether a number is how much is left, how many more there are, or how many a percentage stands for."""
    sentence, path = context.sentence, derived.get(claim.start, "") if claim.kind in ("count", "label") else ""
    return path.endswith(" %") or (" - " in path and (sentence.says("differences") or sentence.says("user_figures")))


def _is_too_many(claim: Figure, sentence: Sentence, places: Places) -> bool:
    """Return whether a text says to have found more things than results list, or others than it lists itself."""
    value, sizes = claim.keys[0][1], places.values("count", "item")
    assert isinstance(value, Decimal)
    if not sizes or value in sizes or value in sentence.lists() or value == sum(sizes):
        return False
    is_told = any(place.path.count("[") == 0 and not place.is_said for place in places.of((("number", value),)))
    return not is_told and (value > max(sizes) or bool(sentence.lists()))


def _multiplies(claim: Figure, context: Context, derived: Mapping[int, str]) -> bool:
    """Return whether a number says how many of a thing an amount of its sentence is for: "two seats come to €296"."""
    form, *_, value = claim.keys[0]
    if form == "count" and claim.keys[0][1] in _MEASURES:
        return False
    is_said = value in context.evidence.places.said_counts and context.sentence.says("sums")
    return isinstance(value, Decimal) and (is_said or is_factor(value, derived))


def _is_of_another(claim: Figure, found: Sequence[EvidencePlace], context: Context) -> bool:
    """Return whether the thing or the day that the sentence names has another number of this kind."""
    if claim.keys[0][:2] == ("count", "degree") and spoken(words()["between"]).search(context.sentence.text):
        return False  # of several days, the lowest and the highest
    forms = {key[:-1] for key in claim.keys}
    known = [place for key, some in context.evidence.places.by_key.items() if key[:-1] in forms for place in some]
    return any(
        not any(place.is_prose or fits(place, elements) for place in found)
        and any(is_in(place, elements) for place in known)
        for elements in _said_of(claim, context)
        if elements
    )


def _said_of(claim: Figure, context: Context) -> Iterator[frozenset[Element]]:
    """Yield the elements that a claim may be said of: those of the things and the days that are named around it."""
    start, end = context.sentence.clause(claim.start)
    if not context.named:
        yield context.of_topic()
    if claim.kind == "duration":
        yield context.numbered(claim)
    within = [mention for mention in context.named if claim.start <= mention.start < claim.end]
    days = [day for day in context.days if start <= day.start < end]
    for named in (within or _named_near(claim, context), days):
        yield elements_of(claim, context.sentence, named) or frozenset[Element]().union(
            *(mention.elements for mention in within)
        )


def _named_near(claim: Figure, context: Context) -> list[Mention]:
    """Return the names that a claim belongs to: those before it in its clause, or else those behind it."""
    sentence = context.sentence
    start, end = sentence.clause(claim.start)
    before = [one for one in context.named if one.end <= claim.start]
    inside = [one for one in before if start <= one.start and not sentence.whole[one.start].islower()]
    if not inside and goes_on(sentence.whole[start:end].lstrip(" ,;")):
        inside = before[-1:] if len({one.elements for one in before}) == 1 else []  # "…; it has four stars"
    behind = [one for one in context.named if claim.end <= one.start < end]
    comma = COMMA.search(sentence.whole, claim.end, sentence.end)
    stop = comma.start() if comma else sentence.end  # "by day it takes 3 hours, at night 8 on the Nordlys"
    is_before = any(start <= one.start for one in before)
    return inside or (behind if before and not is_before else []) or [one for one in context.named if one.start < stop]


def _has_others_only(claim: Figure, context: Context, derived: Mapping[int, str]) -> bool:
    """Return whether the evidence has counts of this kind, and all are different."""
    sentence, places = context.sentence, context.evidence.places
    key = claim.keys[0]
    known = known_values(key, places)
    if key[0] == "on":
        return bool(known)
    value, direction = key[-1], sentence.rounding(claim)
    assert isinstance(value, Decimal)
    if key[1] in _DAYS_OF:
        days = value * _DAYS_OF[key[1]]
        if days_apart(days, sentence, places):
            return False
        is_exact = direction is None and days == int(days) and value not in places.said_counts
        if is_exact and sentence.is_from_today(claim):
            return is_off_today(days, places)
    if _is_beside_the_point(claim, value, context, derived):
        return False
    if key[0] == "duration":
        is_known = is_known_length(value, known, context, direction)
        is_multiple = is_factor(value, derived) or is_factor(value / _HOUR, derived)
        return bool(known) and not (is_known or is_multiple or follows(value, known, context))
    return bool(known) and not (
        any(round(other) == value or (direction and is_rounded(value, other, direction)) for other in known)
        or is_factor(value, derived)
        or is_sum_of_people(key, places)
        or ((key[1] != "left" or sentence.says("sums")) and follows(value, known, context))
    )


def _is_beside_the_point(claim: Figure, value: Decimal, context: Context, derived: Mapping[int, str]) -> bool:
    """Return whether a number counts something else than the fields of its unit do."""
    sentence, places = context.sentence, context.evidence.places
    match claim.keys[0][1]:
        case "item" if value + 1 in places.values("count", "item") and sentence.says("others"):
            return True  # all but the one that is spoken of
        case "item":  # how often something happens is no length of a list
            return value in places.small | places.said_counts and sentence.whole[claim.start : claim.end].endswith(
                "times"
            )
        case "guest":  # "about 400 people" of 412 employees
            return claim.start in derived or (value > _LARGEST_PARTY and value in places.small)
        case "left":  # all of a list, or some of it if nothing tells how many are left of what is named
            lengths = places.values("count", "item")
            return value in lengths or (any(value <= length for length in lengths) and not tells_left(context))
    return False


def _is_unheard(claim: Figure, context: Context, derived: Mapping[int, str]) -> bool:
    """Return whether a small number stands nowhere, and is neither some of a list nor two known numbers' sum."""
    places, sentence = context.evidence.places, context.sentence
    value = claim.keys[0][1]
    assert isinstance(value, Decimal)
    if not places.small or value in places.small | places.said_counts or sentence.rounding(claim):
        return False
    is_sum = is_sum_of_people(("count", "guest", value), places)
    if is_sum or any(sentence.says(kind) for kind in ("sums", "differences")) or is_factor(value, derived):
        return False
    if sentence.says("further") and any(value < length for length in places.values("count", "item")):
        return False
    is_weeks = spoken(words()["units"]["week"]["words"]).match(sentence.whole[claim.end : sentence.end].lstrip())
    if days_apart(value * (_DAYS_OF["week"] if is_weeks else 1), sentence, places):
        return False
    if int(value) in {number for key in places.by_key for number in of_clock(key)} or is_night(value, sentence, places):
        return False  # an hour, or a day of a month
    counts = sentence.counts() - {value}
    reached = {result for one in counts for other in counts for result in (one * other, one + other, one - other)}
    reached |= {one * percent / 100 for one in counts for percent in places.values("percent")}  # 25 % of 84
    amounts = [key[1] for figure in sentence.figures for key in figure.keys if key[0] == "money"]
    reached |= {amount * one for amount in amounts for one in counts if isinstance(amount, Decimal)}
    return value not in reached and value not in places.column_sums.values()


def _is_mislabelled(claim: Figure, context: Context, derived: Mapping[int, str]) -> bool:
    """Return whether fields with the word beside a number have other numbers only, and no result has this one."""
    sentence, places = context.sentence, context.evidence.places
    value = claim.keys[0][-1]
    assert isinstance(value, Decimal)
    elements = elements_of(claim, sentence, context.named)
    known = {other for key in claim.keys for other in known_values(key, places, elements)}
    listed = {other for key in claim.keys for other in known_values(("listed", *key[1:]), places) if other}
    others = [one for one in places.of((("number", value),)) if fits(one, elements)]
    if known_values(claim.keys[0], places, elements):  # the word right behind it names a field
        others = [one for one in others if "[" not in one.path or is_in(one, elements)]
    if not (known or listed) or value in {*map(round, known), *known, *places.said_counts} or others:
        return False
    anywhere = {other for key in claim.keys for other in known_values(key, places)}
    if sentence.rounding(claim) or days_apart(value, sentence, places) or follows(value, anywhere | listed, context):
        return False
    return not (any(value <= length for length in listed) or is_factor(value, derived))

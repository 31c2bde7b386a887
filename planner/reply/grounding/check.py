"""Check a text against its evidence, sentence by sentence."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from turnloom.models.contracts.turn import Source
from turnloom.planner.reply.grounding.codes import unknown_codes
from turnloom.planner.reply.grounding.comparisons import miscompared
from turnloom.planner.reply.grounding.consistency import (
    itemised,
    not_apart,
    not_itemised,
    not_together,
    of_other_nights,
    unrelated,
)
from turnloom.planner.reply.grounding.context import Context, Reason
from turnloom.planner.reply.grounding.contradictions import contradiction
from turnloom.planner.reply.grounding.count_bindings import misrated
from turnloom.planner.reply.grounding.date_roles import out_of_role
from turnloom.planner.reply.grounding.days_of_month import days_of_month
from turnloom.planner.reply.grounding.equations import unequal
from turnloom.planner.reply.grounding.evidence import Evidence
from turnloom.planner.reply.grounding.expiry_times import misexpired
from turnloom.planner.reply.grounding.figures import Figure, folded, visible
from turnloom.planner.reply.grounding.forecasts import misforecast
from turnloom.planner.reply.grounding.known_counts import in_celsius
from turnloom.planner.reply.grounding.mentions import (
    Mention,
    dated,
    lists_of,
    mentions,
    of_columns,
    offers_named,
    outside_names,
)
from turnloom.planner.reply.grounding.numerals import in_digits
from turnloom.planner.reply.grounding.opening_days import misopened
from turnloom.planner.reply.grounding.pairings import unpaired
from turnloom.planner.reply.grounding.places import Element, EvidencePlace, Operand, Places
from turnloom.planner.reply.grounding.policies import denied_flags, denied_texts
from turnloom.planner.reply.grounding.proper_names import altered_names
from turnloom.planner.reply.grounding.relative_days import in_words, miscounted, misdated, misnamed
from turnloom.planner.reply.grounding.scan import claims, figures
from turnloom.planner.reply.grounding.sentences import Sentence, sentences
from turnloom.planner.reply.grounding.support import IDIOM, support
from turnloom.planner.reply.grounding.time_ranges import of_two_things
from turnloom.planner.reply.grounding.user_limits import against_limit
from turnloom.planner.reply.grounding.values import code_of, value_of
from turnloom.planner.reply.grounding.weekday_dates import misnamed_weekdays

STALE_S = 600
"""A price is stale after this many seconds."""
_MOST_TOLD = 16
"""Most amounts of a text that arithmetic starts from, and most offers that "all of them" may mean: the last ones."""
_MOST_TRIES = 40
"""Most figures of a text that arithmetic is sought for."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A piece of a text that must not be said."""

    text: str
    kind: str
    reason: Reason
    """`no_source`: no evidence holds it. `personal`: it may belong to somebody else. `page`: only a web page says so,
    and the text does not name the page. `said`: only the user said it. `basis`: it is the amount for one night, or for
    all of them, and the text says the other. `other`: it belongs to something else than the text names. `policy`: a
    result says the opposite. `deed`: no tool that succeeded has done it."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Grounding:
    """The result of a check."""

    sources: tuple[Source, ...]
    violations: tuple[Violation, ...]
    oldest_price_s: int = 0
    """Age of the oldest stale price in the text; 0 if no price is stale."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text as its reader sees it, in digits, and the way back to what was written."""

    seen: str
    digits: str
    in_seen: list[int]
    in_text: list[int]

    def text(self, start: int, end: int) -> str:
        """Return a part of the digits as its reader sees it."""
        return self.seen[self.in_seen[start] : self.in_seen[end]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the text of a part of the digits."""
        return self.in_text[self.in_seen[start]], self.in_text[self.in_seen[end]]


@dataclass(frozen=True, slots=True)
class _Totals:
    """The totals of a text that its own parts add up to."""

    parts: dict[int, str]
    """Where they stand -> their parts."""
    untold: list[Operand] = field(default_factory=list)
    """Those of the sentence or the list that is read: none of their parts may follow from them."""

    def told(self, sentence: Sentence) -> list[Operand]:
        """Return the totals that a sentence may calculate with."""
        if sentence.is_item:
            return []
        told = self.untold[:]
        self.untold.clear()
        return told


def check(text: str, evidence: Evidence) -> Grounding:
    """Trace every figure of a text to its source. The same text and evidence give the same result."""
    seen, in_text = visible(text)
    digits, in_seen = in_digits(seen)
    reading = _Reading(seen, digits, in_seen, in_text)
    sources: dict[Source, None] = {}
    violations = [
        replace(found, start=in_text[found.start], end=in_text[found.end]) for found in _private_values(seen, evidence)
    ]
    violations += [
        Violation(seen[one.start : one.end], one.kind, "no_source", in_text[one.start], in_text[one.end])
        for one in (*altered_names(seen, evidence.texts), *unknown_codes(seen, evidence.texts))
    ]
    oldest_s = 0
    for figure, judged in _judged(digits, evidence):
        found = _of_page(figure, judged, seen) if isinstance(judged, EvidencePlace) else judged
        written = reading.text(*(figure.shown or (figure.start, figure.end)))
        if not isinstance(found, EvidencePlace):
            violations.append(Violation(written, figure.kind, found, *reading.span(figure.start, figure.end)))
            continue
        is_stale = figure.kind == "money" and found.age_s > STALE_S
        if found is IDIOM:
            continue
        oldest_s = max(oldest_s, found.age_s if is_stale else 0)
        sources[Source(text=written, step=found.step, path=found.path, turn=found.turn, stale=is_stale)] = None
    violations = sorted(dict.fromkeys(violations), key=lambda found: found.start)
    return Grounding(tuple(sources), tuple(violations), oldest_s)


def _judged(text: str, evidence: Evidence) -> Iterator[tuple[Figure, EvidencePlace | Reason]]:
    """Yield each figure of a text with its source or a reason, and each claim that contradicts the evidence."""
    read = figures(text)
    said = [in_celsius(claim, evidence.places) for claim in claims(text, read)]
    found, claimed = (outside_names(some, text, evidence.places) for some in (read, said))
    told: deque[Operand] = deque(maxlen=_MOST_TOLD)
    tries = iter(range(1, _MOST_TRIES))
    named: list[Mention] = []
    above: dict[Element, frozenset[Element]] = {}
    listed: deque[frozenset[Element]] = deque(maxlen=_MOST_TOLD)
    stated: set[Decimal] = set()
    read_sentences = list(sentences(text, found))
    totals = _Totals(itemised(read_sentences))
    for sentence in read_sentences:
        told.extend(totals.told(sentence))
        told.extend(operand for figure in sentence.figures for operand in _stated(figure, evidence))
        inside = [claim for claim in claimed if sentence.start <= claim.start < sentence.end]
        lengths, nights = _stated_of(inside, ("duration",)), _stated_of(inside, ("count", "night"))
        relative = list(in_words(sentence, evidence.now.date()))
        dates = _days_in(sentence, inside, relative, evidence.places)
        named = (here := mentions(sentence, evidence.places) or of_columns(sentence, evidence.places)) or named
        above = above | lists_of(dates) | lists_of(here) if sentence.is_item else lists_of(here)
        weekdays = [one for one in inside if one.kind == "weekday"]
        context = Context(
            sentence, evidence, here, told, tries, lengths | stated, named, nights, dates, weekdays, above, listed
        )
        stated = lengths
        derived: dict[int, str] = {}
        for figure, place in _traced(context, totals):
            yield figure, place
            if isinstance(place, EvidencePlace):
                derived[figure.start] = place.path
        yield from ((figure, "no_source") for figure in _inconsistent(context, inside, relative))
        yield from _contradicted(_without_counted(inside, evidence), context, derived)
        listed.extend(offers_named(sentence, here, evidence.places))


def _days_in(sentence: Sentence, inside: Sequence[Figure], relative: Sequence[Figure], places: Places) -> list[Mention]:
    """Return the days of a sentence that name elements of lists, however they are said."""
    counted = [claim for claim in inside if claim.kind not in ("small", "label")]
    numbered = days_of_month(sentence, [*sentence.figures, *counted], places)
    days = [one for one in (*sentence.figures, *inside, *relative, *numbered) if one.kind in ("date", "weekday")]
    return dated(sorted(days, key=lambda day: day.start), places)


def _traced(context: Context, totals: _Totals) -> Iterator[tuple[Figure, EvidencePlace | Reason]]:
    """Yield the figures of a sentence with their sources. Some totals have their parts as the source."""
    for figure in context.sentence.figures:
        place = support(figure, context)
        is_total = place in ("no_source", "other") and figure.start in totals.parts
        is_total = is_total and not context.sentence.is_for_one(figure)
        place = EvidencePlace("agent", totals.parts[figure.start]) if is_total else place
        yield figure, place
        value = value_of(figure, context.evidence.places)
        if isinstance(place, EvidencePlace) and value is not None and place.path:
            known = totals.untold if is_total else context.told
            code = code_of(figure, context.evidence.places) or _code_at(place, context.evidence.places)
            known.append(Operand(value, code, place))


def _code_at(place: EvidencePlace, places: Places) -> str | None:
    """Return the currency of what a calculation starts from."""
    path = place.path.lstrip("(").partition(" ")[0]
    if path == place.path or place.is_prose:
        return None
    at = (one.code for one in places.operands.values() if (one.place.step, one.place.path) == (place.step, path))
    return next(filter(None, at), None)


def _contradicted(
    claimed: Sequence[Figure], context: Context, derived: Mapping[int, str]
) -> Iterator[tuple[Figure, Reason]]:
    yield from ((claim, "policy") for claim in (*denied_flags(context), *denied_texts(context)))
    for claim in claimed:
        if reason := contradiction(claim, context, derived):
            yield claim, reason


def _inconsistent(context: Context, claimed: Sequence[Figure], relative: Sequence[Figure]) -> Iterator[Figure]:
    """Yield the figures of a sentence that cannot be right beside others of it."""
    known = context.evidence.places.operands.values()
    yield from unpaired(context.sentence, context.named)
    yield from unrelated(context.sentence)
    yield from not_apart(context.sentence, context.evidence.places)
    yield from of_other_nights(context.sentence, context.nights)
    yield from not_together(context.sentence, known)
    yield from not_itemised(context.sentence, known)
    yield from unequal(context.sentence)
    yield from miscompared(context)
    yield from against_limit(context)
    yield from misrated(context, claimed)
    yield from misforecast(context)
    yield from out_of_role(context, relative)
    yield from misexpired(context, claimed)
    if context.weekdays:
        yield from misopened(context.sentence, context.weekdays, context.evidence.texts.opening_days)
    yield from misnamed(context.sentence, context.evidence.now.date())
    yield from miscounted(context.sentence, claimed, context.evidence.now.date())
    yield from misdated(context.sentence, relative, context.evidence.places)
    yield from of_two_things(context.sentence, context.evidence.places)
    yield from misnamed_weekdays(
        context.sentence, context.weekdays, context.evidence.places, context.evidence.now.date()
    )


def _without_counted(claimed: Sequence[Figure], evidence: Evidence) -> list[Figure]:
    """Return claims without the labels of numbers that count what a result lists, such as "10 hotels"."""
    counted = {claim.start for claim in claimed if claim.kind == "count" and evidence.places.of(claim.keys)}
    return [claim for claim in claimed if claim.kind != "label" or claim.start not in counted]


def _stated_of(inside: Iterable[Figure], form: tuple[str, ...]) -> set[Decimal]:
    """Return the numbers of a form, such as those of the counts of nights, that claims state."""
    keys = (key for claim in inside for key in claim.keys if key[: len(form)] == form)
    return {key[-1] for key in keys if isinstance(key[-1], Decimal)}


def _stated(figure: Figure, evidence: Evidence) -> Iterator[Operand]:
    value = value_of(figure, evidence.places)
    places = evidence.places.of(figure.keys) if value is not None else []
    if places and value is not None:
        yield Operand(value, code_of(figure, evidence.places), places[0])


def _of_page(figure: Figure, place: EvidencePlace, seen: str) -> EvidencePlace | Reason:
    """Return the place, unless a price is only a page's and the text does not name the page."""
    is_told = not place.page or place.page not in seen.lower()
    return "page" if figure.kind == "money" and place.page is not None and is_told else place


def _private_values(text: str, evidence: Evidence) -> list[Violation]:
    """Find the values that results hold about other people, word for word."""
    plain, places = folded(text)
    found: list[Violation] = []
    for value in evidence.private.found_in(plain, evidence.own.said):
        end = 0
        while (start := plain.find(value, end)) >= 0:
            end = start + len(value)
            if not (_is_in_word(plain[start - 1 : start]) or _is_in_word(plain[end : end + 1])):
                first, last = places[start], places[end - 1] + 1
                found.append(Violation(text[first:last], "personal", "personal", first, last))
    return found


def _is_in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"

"""Policies: what a text affirms or denies of the things that it names, where the results have only the opposite.

They are those that `assertions.yaml` lists, such as cancellation and breakfast, and fields that are true or false.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from turnloom.planner.reply.grounding.assertions import find_assertions, goes_on, is_denied
from turnloom.planner.reply.grounding.context import Context
from turnloom.planner.reply.grounding.figures import Figure, without
from turnloom.planner.reply.grounding.flags import claimed
from turnloom.planner.reply.grounding.lexicon import spoken, words
from turnloom.planner.reply.grounding.mentions import (
    Mention,
    elements_of_claim,
    elements_of_price,
    fits,
    is_beside,
    is_in,
    offers_named,
)
from turnloom.planner.reply.grounding.places import Element
from turnloom.planner.reply.grounding.sentences import Sentence
from turnloom.planner.reply.grounding.text_policies import is_contradicted, policies_in

_WORD = re.compile(r"[^\W\d_]+")
_SIGN = re.compile(r"[^\W_]")
_FEWEST_OF_ALL = 2
_BEFORE = 120
"""Most characters before a sentence such as "It costs extra" that tell what it is about."""


def denies(claim: Figure, context: Context) -> bool:
    """Return whether results have only the opposite of a policy, of one of the things that it is said of."""
    sentence = context.sentence
    if sentence.is_question or _is_conditional(claim, sentence):
        return False
    *kind, polarity = claim.keys[0]
    if polarity and _is_of_the_rest(claim, sentence):
        return any(not place.is_said for place in context.evidence.places.of(((*kind, False),)))
    having = _having_policy((*kind,), context)
    named = elements_of_claim(claim, sentence, having)
    priced = elements_of_price(claim, sentence, context.evidence.places)
    if beside := _right_before(claim, having, sentence):
        named, priced = elements_of_claim(claim, sentence, beside), frozenset()
    priced = named & priced if named else priced  # the amount before a name may be that of another offer
    own = priced or named
    return any(
        _is_opposite((*kind, polarity is is_so), offer, context) for offer, is_so in _said_of(claim, own, context)
    )


def _right_before(claim: Figure, named: Sequence[Mention], sentence: Sentence) -> list[Mention]:
    """Return the names between the last amount and what is said in passing: "A costs 184; B, with a stop, 231"."""
    start, end = sentence.clause(claim.start)
    money = [one.end for one in sentence.figures if one.kind == "money" and one.end <= claim.start]
    if not money or spoken(words()["in_passing"]).match(sentence.whole[start:end].lstrip()) is None:
        return []
    return [one for one in named if money[-1] <= one.start and one.end <= claim.start]


def _having_policy(kind: tuple[object, ...], context: Context) -> list[Mention]:
    """Return the names before a policy of which some list tells it; all names if none does."""
    known = context.evidence.places.of(((*kind, True), (*kind, False)))
    having = [
        mention
        for mention in context.topic
        if any(is_beside(place, element) for place in known for element in mention.elements)
    ]
    return having or context.topic


def denied_flags(context: Context) -> Iterator[Figure]:
    """Yield the words of a sentence that contradict fields that are true or false."""
    sentence, said = context.sentence, context.evidence.said_stems
    if sentence.is_question or sentence.says("offers"):
        return
    # A text that the user has spoken of may be a wish, such as "insurance: no" in what is about to be booked.
    flags = [flag for flag in context.evidence.flags if not (flag.is_word and said.intersection(flag.names))]
    for start, end in _statements(sentence) if flags else ():
        for first, last, named, is_affirmed in claimed(sentence.whole[start:end], flags):
            claim = Figure("flag", start + first, start + last, ())
            own = elements_of_claim(claim, sentence, context.topic)
            for offer, is_so in _said_of(claim, own, context):
                bound = [flag for flag in named if fits(flag.place, offer)]
                if bound and all(flag.value is not (is_affirmed is is_so) for flag in bound):
                    yield claim
                    break


def denied_texts(context: Context) -> Iterator[Figure]:
    """Yield the words of a sentence that say the opposite of what a text of the results says."""
    sentence, places, known = context.sentence, context.evidence.places, context.evidence.texts.policies
    if not known or sentence.is_question or sentence.says("offers"):
        return
    names = context.evidence.texts.names_of(places)
    money = [figure.start for figure in sentence.figures if figure.kind == "money"]
    begin = max(0, sentence.start - _BEFORE) if goes_on(sentence.text) else sentence.start
    for claim in policies_in(sentence.whole[begin : sentence.end]):
        start, end = claim.start + begin, claim.end + begin
        is_price = claim.aspect is None and any(start <= place < end for place in money)
        if start >= sentence.start and not is_price and is_contradicted(claim, names, known):
            yield Figure("flag", start, end, ())


def _is_opposite(key: tuple[object, ...], elements: frozenset[Element], context: Context) -> bool:
    """Return whether results have the opposite of a policy for some elements, and not itself."""
    *kind, polarity = key
    same, opposite = (
        [
            place
            for place in context.evidence.places.of(((*kind, sort),))
            if fits(place, elements) and not context.evidence.places.is_of_other(place, elements)
        ]
        for sort in (polarity, not polarity)
    )
    opposite = [place for place in opposite if not place.is_said]  # what the user has asked for is no policy
    if any(is_in(place, elements) for place in opposite):
        same = [place for place in same if is_in(place, elements)]  # a text about all of them does not count
    return bool(opposite) and not same


def _said_of(claim: Figure, own: frozenset[Element], context: Context) -> Iterator[tuple[frozenset[Element], bool]]:
    """Yield what a clause speaks of, and whether it is said to be so there. `own`: what it names itself."""
    if all_of_them := _all_of_them(claim, context):
        yield from ((offer, True) for offer in all_of_them)
    else:
        yield own, True
        yield from _elliptical(claim, context)


def _all_of_them(claim: Figure, context: Context) -> list[frozenset[Element]]:
    """Return the offers that a text has named, if a clause speaks of all of them: "both are refundable"."""
    sentence = context.sentence
    start, end = sentence.clause(claim.start)
    first = _SIGN.search(sentence.whole, start, end)
    quantified = _all().match(sentence.whole, first.start(), end) if first else None
    if quantified is None or any(start <= mention.start < end for mention in context.named):
        return []
    here = [mention for mention in context.named if mention.end <= start]
    offers = list(dict.fromkeys([*context.listed, *offers_named(sentence, here, context.evidence.places)]))
    count = int(quantified["of"] or quantified["alone"] or len(offers))
    return offers if len(offers) == count >= _FEWEST_OF_ALL else []


def _elliptical(claim: Figure, context: Context) -> Iterator[tuple[frozenset[Element], bool]]:
    """Yield what later clauses say the same of, or the opposite, in few words: "the Golf can, too"."""
    sentence = context.sentence
    for start, end in _with_few(sentence):
        inside = [mention for mention in context.named if start <= mention.start < end]
        if start <= claim.start or not inside:
            continue
        figures = tuple(one for one in sentence.figures if start <= one.start < end)
        names = [Figure("label", one.start - start, one.end - start, ()) for one in inside]
        is_so = _is_so(without(sentence.whole[start:end], names))
        if is_so is not None:
            clause = replace(sentence, start=start, end=end, figures=figures)
            yield from ((offer, is_so) for offer in offers_named(clause, inside, context.evidence.places))


def _with_few(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Yield the places of the clauses of a sentence; few words, as in "the Golf is, too", are one with those before."""
    places: list[tuple[int, int]] = []
    for start, end in sentence.clauses():
        is_few = bool(places) and _has_few(sentence.whole[start:end])
        places[len(places) - is_few :] = [(places[-1][0] if is_few else start, end)]
    yield from places


def _has_few(clause: str) -> bool:
    """Return whether a clause has no words but those of `few_words`."""
    known = spoken(words()["few_words"]["any"])
    return all(known.fullmatch(word) for word in _WORD.findall(clause))


def _is_so(clause: str) -> bool | None:
    """Return whether a clause without names says that it is so there too, or not; None if it says more than that."""
    is_too, is_not = (spoken(words()["few_words"][kind]).search(clause) is not None for kind in ("too", "not"))
    return is_too if (is_too or is_not) and _has_few(clause) else None


@lru_cache
def _all() -> re.Pattern[str]:
    all_of = words()["all_of_them"]
    return re.compile(rf"(?:(?:{all_of})(?=\s)(?: (?P<of>\d{{1,2}})(?=\s))?|(?P<alone>\d{{1,2}})(?=\s))", re.IGNORECASE)


def _is_of_the_rest(claim: Figure, sentence: Sentence) -> bool:
    """Return whether a clause says of all others what a clause before it has said of some: "the others can, too"."""
    start, end = sentence.clause(claim.start)
    if spoken(words()["others"]).search(sentence.whole, start, end) is None:
        return False
    return any(before.keys == claim.keys for before in find_assertions(sentence.whole[sentence.start : start]))


def _statements(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Yield the places of the clauses of a sentence. What stands before a colon is one with what stands behind it."""
    begin: int | None = None
    for start, end in sentence.clauses():
        begin = start if begin is None else begin
        if not sentence.whole[start:end].rstrip().endswith(":"):
            yield begin, end
            begin = None


def _is_conditional(claim: Figure, sentence: Sentence) -> bool:
    """Return whether a policy is a condition, as in "where it is not included", or holds under one before it."""
    start, _ = sentence.clause(claim.start)
    condition = spoken(words()["conditions"])
    if condition.search(sentence.whole, start, claim.start):
        return True
    first = sentence.whole[sentence.start : sentence.clause(sentence.start)[1]]
    return len(first) < start and condition.match(first) is not None and is_denied(first)

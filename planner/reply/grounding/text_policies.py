"""Policies of texts, whatever they are about: that something is free, allowed, open or so at all, or is not.

The policies of `assertions.yaml` have topics, which are the same in all languages. These are compared by the words that
their clauses share, so only with texts of the same language.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from turnloom.planner.reply.grounding.assertions import (
    aspects_of_any,
    goes_on,
    is_conditional,
    is_negated,
    is_so,
    joint_of_words,
    statements,
)
from turnloom.planner.reply.grounding.labels import stem, stems, stems_of_words
from turnloom.planner.reply.grounding.lexicon import spoken, weekdays, words

_SHORTEST = 4
"""Fewest letters of a word that tells what a whole clause is about."""
_LONGEST = 300
"""Most characters of a clause that are read."""
_ENDS = r".;:!?()\n\u060c\u061b\u061f"
_CLAUSE = re.compile(rf"(?:[^{_ENDS},\u3002\u3001]|[.,:](?=\S))+(?:[{_ENDS},\u3002\u3001]|$)")
_GO_ON = ",:\u3001"
"""The ends of a clause behind which the sentence goes on."""
_ADDRESS = re.compile(r"(?<!\S)\S{1,100}(?:://|@)\S{1,200}")
_ASIDE = re.compile(r", (?:lui|elles?|eux|par contre|en revanche|en cambio|invece|dagegen|hingegen|however|though),")
"""What stands between a name and what is said of it: "l'atelier, lui, coûte 55"."""
_SAME = 2 / 3
"""The share of the words of a clause that another one has if both say the same of the same thing, or the opposite."""
_PART = 1 / 2
"""The share of its own words that the other one has in common with it then."""
_FEWEST = 2
_SHORTEST_TEXT = 20
"""Characters of a text that is no name."""


class TextPolicy(NamedTuple):
    """A statement about the things that the words of its clause name."""

    aspect: str | None
    """Which of `aspects_of_any`; None for the clause as a whole."""
    is_so: bool
    start: int
    end: int
    words: tuple[frozenset[str], ...]
    """The stems of each of its words."""
    about: frozenset[str]
    """All of them."""
    own: frozenset[str] = frozenset()
    """Those of a clause's own statement, without the one before it that says what it is about."""
    aspects: frozenset[str] = frozenset()
    """All aspects that the clause as a whole has."""


class PoliciesOfText(NamedTuple):
    """The policies of a text."""

    found: Sequence[TextPolicy]
    about: frozenset[str]
    """The stems of all words of the text."""


def policies_in(text: str) -> Iterator[TextPolicy]:
    """Yield the policies of a text. Questions state none, nor does a sentence from a condition or an exception on."""
    is_open, last, is_new = False, "", True
    plain = _ADDRESS.sub(lambda address: " " * len(address[0]), text)
    for clause in _CLAUSE.finditer(_ASIDE.sub(lambda aside: aside[0].replace(",", " "), plain)):
        said = clause[0][:_LONGEST]
        is_open = is_open or is_conditional(said) or spoken(words()["exceptions"]).search(said) is not None
        topic = ""
        for begin, part in () if is_open or said.endswith(("?", "\u061f")) else statements(said):
            yield from _of(part, clause.start() + begin, topic, topic or last)
            topic = topic or part.strip()
        if any(_words_of(topic)):
            last, is_new = topic if is_new else f"{last} {topic}"[-_LONGEST:], False
        is_end = clause[0][-1] not in _GO_ON
        is_open, is_new = is_open and not is_end, is_new or is_end


def policies_of(text: str) -> PoliciesOfText:
    """Return the policies of a text with the words around them."""
    return PoliciesOfText(list(policies_in(text)) if len(text) >= _SHORTEST_TEXT else [], stems(text))


def is_contradicted(claim: TextPolicy, names: frozenset[str], known: Sequence[PoliciesOfText]) -> bool:
    """Return whether a text says the opposite of a claim, and none says the same. `names`: what tells things apart."""
    of_kind = [(one, text.about) for text in known for one in text.found if one.aspect == claim.aspect]
    if not any(_are_opposite(claim, one) and _are_alike(claim, one, names) for one, _ in of_kind):
        return False
    same = [(one, around) for one, around in of_kind if one.is_so is claim.is_so]
    if claim.aspect is None or claim.about <= _weekdays():
        return not any(_are_alike(claim, one, names) for one, _ in same)
    return all(around.isdisjoint(claim.about) for _, around in same)


def _are_opposite(claim: TextPolicy, other: TextPolicy) -> bool:
    """Return whether one of two statements denies the other: "the tour costs 20" and "it is not refunded" do not."""
    is_of_part = claim.own.isdisjoint(other.about) or other.own.isdisjoint(claim.about)
    denied, affirmed = (other, claim) if claim.is_so else (claim, other)
    is_of_part = is_of_part or (bool(denied.aspects) and denied.aspects.isdisjoint(affirmed.aspects))
    return other.is_so is not claim.is_so and not (claim.aspect is None and is_of_part)


def _are_alike(claim: TextPolicy, other: TextPolicy, names: frozenset[str]) -> bool:
    if claim.aspect is not None:
        return not claim.about.isdisjoint(other.about)
    own = [word for word in claim.words if word.isdisjoint(names)]
    shared = sum(not word.isdisjoint(other.about) for word in own)
    return shared >= max(_FEWEST, len(own) * _SAME, len(other.words) * _PART)


def _of(part: str, start: int, topic: str, last: str) -> Iterator[TextPolicy]:
    """Yield the policies of a statement. `topic`: the one before it in its clause, which says what it is about.

    `last`: the one before it anywhere, which says what "it costs extra" is about.
    """
    found = list(_aspects_of(part, start, topic, last))
    whole = tuple(forms for forms in _words_of(f"{topic} {part}") if any(map(_is_long, forms)))
    if len(whole) >= _FEWEST:
        itself = frozenset[str]().union(*(forms for forms in _words_of(part) if any(map(_is_long, forms))))
        all_of_it, aspects = frozenset[str]().union(*whole), frozenset(one.aspect for one in found if one.aspect)
        yield TextPolicy(None, not is_negated(part), start, start + len(part), whole, all_of_it, itself, aspects)
    yield from found


def _aspects_of(part: str, start: int, topic: str, last: str) -> Iterator[TextPolicy]:
    """Yield the policies of the aspects that a statement has, such as whether something is refunded."""
    for aspect, read in aspects_of_any().items() if not spoken(words()["of_offers"]).search(part) else ():
        for begin, piece in _pieces(part, f"{read['affirms']}|{read['denies']}"):
            affirmed = spoken(read["affirms"]).search(piece)
            if found := affirmed or spoken(read["denies"]).search(piece):
                is_true = (affirmed is not None) is is_so(piece, found)
                own = f"{piece[: found.start()]} {piece[found.end() :]}"
                around = _words_of(f"{topic} {own}")
                if _goes_on_about_last(part, aspect, is_empty=not around):
                    around += _words_of(last)
                places = start + begin + found.start(), start + begin + found.end()
                yield TextPolicy(aspect, is_true, *places, around, frozenset().union(*around))


def _goes_on_about_last(part: str, aspect: str, *, is_empty: bool) -> bool:
    """Return whether a statement says of what the last one was about that it is free, or refunded."""
    is_of_last = (aspect == "free" and is_empty) or (aspect == "refunded" and goes_on(part))
    return is_of_last and spoken(words()["others"]).search(part) is None


def _pieces(part: str, pattern: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a statement that say two things with one verb, with their places: "is open | and closed"."""
    cuts = [joint.end() for joint in joint_of_words().finditer(part) if spoken(pattern).match(part, joint.end())]
    for begin, end in pairwise([0, *cuts, len(part)]):
        yield begin, part[begin:end]


def _words_of(text: str) -> tuple[frozenset[str], ...]:
    """Return the stems of each word of a text that names something: of the weekdays alone if it names any."""
    named = (forms - _common() for forms in stems_of_words(text))
    found = tuple(forms for forms in named if forms)
    return tuple(day for forms in found if (day := forms & _weekdays())) or found


def _is_long(word: str) -> bool:
    return len(word) >= _SHORTEST or not word.isascii()


@lru_cache
def _weekdays() -> frozenset[str]:
    return frozenset(stem(name) for name in weekdays())


@lru_cache
def _common() -> frozenset[str]:
    return frozenset((*stems(words()["of_any_price"]), *stems(words()["of_any_policy"])))

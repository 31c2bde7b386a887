"""The context of a figure: its sentence, what is named there, and what the text has stated before."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from turnloom.planner.reply.grounding.assertions import goes_on
from turnloom.planner.reply.grounding.evidence import Evidence
from turnloom.planner.reply.grounding.fields import Basis
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.mentions import Mention, dated, elements_of
from turnloom.planner.reply.grounding.places import UNSTATED, Element, Operand
from turnloom.planner.reply.grounding.sentences import Sentence

Reason = Literal["no_source", "personal", "page", "said", "basis", "other", "policy", "deed"]
BOUND = frozenset({"money", "number", "percent", "time"})
"""Kinds of figures that belong to the thing, or the day, that their sentence names."""
_NAMED = BOUND | {"link", "phone"}
"""Kinds that belong to the thing that it names."""
_ONE = Decimal(1)


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
    weekdays: Sequence[Figure]
    """The weekdays in it that stand without a date."""
    above: Mapping[Element, frozenset[Element]]
    """Of each list, the elements that the items of the text have named last, here or above it."""
    listed: Sequence[frozenset[Element]]
    """The offers that the text has named before it, in order."""

    @property
    def repeats_user(self) -> bool:
        """Whether the sentence speaks of what the user has named, and no result has a price."""
        amounts = (one for one in self.evidence.places.operands.values() if one.code not in (None, UNSTATED))
        return self.sentence.says("user_figures") and all(one.place.is_said for one in amounts)

    def elements(self, figure: Figure) -> frozenset[Element]:
        """Return the elements of lists that a figure is said of."""
        if figure.kind not in _NAMED:
            return frozenset()
        return elements_of(figure, self.sentence, self.named) if self.named else self.of_topic()

    def numbered(self, figure: Figure) -> frozenset[Element]:
        """Return the elements that have the number of a flight which a figure is said of, unless others are named."""
        numbers = [one for one in self.sentence.figures if one.kind == "identifier"]
        known = dated(numbers, self.evidence.places) if numbers else []
        found = elements_of(figure, self.sentence, known) if known else frozenset[Element]()
        named = elements_of(figure, self.sentence, self.named) if found and self.named else found
        before = [one for one in self.named if one.end <= figure.start and figure.kind not in BOUND]
        is_other = not found & named or any(found.isdisjoint(one.elements) for one in before[-1:])
        return frozenset() if is_other else found

    def at(self, figure: Figure) -> frozenset[Element]:
        """Return the elements that have the only time beside an amount that is the only one of its sentence."""
        if figure.kind != "money":
            return frozenset()
        beside = [one for one in self.sentence.figures if one.kind in ("time", "money") and one is not figure]
        times = beside if [one.kind for one in beside] == ["time"] else []
        if any(";" in self.sentence.whole[min(one.end, figure.end) : max(one.start, figure.start)] for one in times):
            return frozenset()  # it is said of the next thing
        return frozenset().union(*(mention.elements for mention in dated(times, self.evidence.places)))

    def of_topic(self) -> frozenset[Element]:
        """Return the elements that a sentence such as "It costs 90" goes on about, if one name alone came before."""
        named = {mention.elements for mention in self.topic}
        return next(iter(named)) if len(named) == 1 and goes_on(self.sentence.text) else frozenset()

    def basis(self, figure: Figure) -> Basis | None:
        """Return what an amount is said to be for, unless all is for one night."""
        nights = self.evidence.places.nights()
        return None if figure.kind != "money" or nights == {_ONE} else self.sentence.basis(figure)

"""The amounts and counts that arithmetic about a figure may use, and what it gives."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from turnloom.planner.reply.grounding.paths import basis_of
from turnloom.planner.reply.grounding.places import EvidencePlace, Operand
from turnloom.planner.reply.grounding.price_units import units_in


@dataclass(frozen=True, slots=True)
class KnownAmounts:
    """The amounts and counts that the arithmetic of a sentence may use."""

    amounts: Sequence[Operand]
    """Every amount that the figure may follow from, in its currency."""
    told: Sequence[Operand]
    """The amounts among them that the text states, or that belong to what it names."""
    things: Sequence[Sequence[Operand]]
    """The amounts that may be meant by each thing that the sentence names."""
    fitting: Sequence[Operand]
    """The amounts but those of other elements than the figure is said of."""
    trips: Sequence[Operand]
    """What there and back costs, if the sentence may speak of it."""
    other_trips: Sequence[Operand]
    """What there and back costs with other legs than those that the sentence names; it may compare with them."""
    references: Sequence[Operand]
    """The amounts that the user has stated, and the last ones of the text."""
    limits: Sequence[Operand]
    """The amounts that the user has stated, if the words beside the figure speak of them."""
    counts: frozenset[Decimal]
    """Counts in the sentence."""
    counts_before: frozenset[Decimal]
    """Small numbers in the text before it."""
    known_counts: frozenset[Decimal]
    """Counts in the evidence, such as nights."""
    is_sum: bool
    is_difference: bool
    """Whether the sentence has a word of a difference."""
    is_of_limit: bool
    """Whether it speaks of an amount of the user's."""
    is_addition: bool
    is_share: bool
    parts: frozenset[tuple[Decimal, Decimal]]
    """Numbers in the sentence of which one is said to be a part of the other: 19 of 25."""
    percents: frozenset[Decimal]
    """Percentages in the sentence, and those that its fractions stand for."""
    known_percents: frozenset[Decimal] = frozenset()
    """Percentages in the evidence."""
    stated: frozenset[Decimal] = frozenset()
    """The values that the text has stated so far."""
    basis: str | None = None
    is_of_people: bool = False
    """Whether the sentence speaks of what each person pays."""
    is_free: bool = False
    """Whether any calculation will do, because no source has the value itself."""
    is_worded: bool = False
    """Whether the sentence has a word of a calculation."""
    is_plain: bool = False
    """Whether the figure is a number without a currency."""
    is_nightly: bool = False
    """Whether the words right behind the figure say that it is for a night."""
    says_nights: bool = False
    """Whether the sentence says for how many nights it is."""
    nights: frozenset[Decimal] = frozenset()
    """The nights of the stays in the evidence."""
    compared: Collection[frozenset[Decimal]] = ()
    """Pairs of numbers that follow each other in a longer text."""
    people: frozenset[Decimal] = frozenset()
    """How many may share a price: the adults, or all."""
    is_for_one: bool = False
    """Whether the words beside the figure say that it is for one person."""
    bills: Sequence["Derived"] = ()
    """What the user's party pays by the fares of texts."""
    strange: Sequence[Operand] = ()
    """The amounts of other elements than the figure is said of: it is no multiple and no share of them."""

    @property
    def compares(self) -> bool:
        """Whether the sentence may say how far something is from another amount, or from one of the user's."""
        return self.is_difference or self.is_of_limit

    @property
    def is_of_group(self) -> bool:
        """Whether the figure may be what several people pay together."""
        return not self.is_for_one and (self.is_sum or self.is_of_people or any(count > 1 for count in self.counts))

    def may_differ(self, first: Operand, second: Operand) -> bool:
        """Return whether the sentence may say how far two amounts are apart."""
        return self.is_difference or (self.is_of_limit and (first.place.is_said or second.place.is_said))

    def may_add(self, first: Operand, second: Operand) -> bool:
        """Return whether two amounts may be added as they are: not the price of a day to that of several nights."""
        if self.nights <= {1}:
            return True
        plain = [one.place for one in (first, second) if " " not in one.place.path]  # the others are multiples
        is_for_day = any(units_in(place.behind).get("time") == "day" for place in plain)
        return not (is_for_day and any(basis_of(place.path) == "total" for place in plain))


@dataclass(frozen=True, slots=True)
class Derived:
    """A value that follows from others."""

    value: Decimal
    path: str
    """The arithmetic over the paths of its sources."""
    place: EvidencePlace
    is_share: bool = False
    may_be_rounded: bool = False

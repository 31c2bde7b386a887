"""Scopes: what the fields around a value say of it, such as its currency, and whether it may be told."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from turnloom.planner.reply.grounding.contacts import is_of_nobody
from turnloom.planner.reply.grounding.fields import FieldName, field_name
from turnloom.planner.reply.grounding.labels import labels_of
from turnloom.planner.reply.grounding.lexicon import words
from turnloom.planner.reply.grounding.places import EvidencePlace, ResultOrigin

_MOST_LABELS = 3
_CENTS = 100
_SMALL = 100
"""A smaller number beside an amount, in a field that is not named like money, is hardly an amount too."""


@dataclass(frozen=True, slots=True)
class FieldScope:
    """The facts about a value that follow from its place in a result."""

    currencies: frozenset[str] = frozenset()
    is_money: bool = False
    is_beside_money: bool = False
    """Whether it is a small number beside amounts, in a field that is not named like money."""
    is_private: bool = False
    is_redacted: bool = False
    is_public: bool = False
    is_minor: bool = False
    """Whether amounts are in hundredths, as where the code of the currency is written in lower case."""
    is_own: bool = False
    """Whether it is in a record of the user."""
    is_said: bool = False
    page: str | None = None
    """As in `EvidencePlace`."""
    about: frozenset[str] = frozenset()
    """As in `EvidencePlace`."""
    is_prose: bool = False
    """As in `EvidencePlace`."""
    behind: str = ""
    """As in `EvidencePlace`."""
    labels: tuple[str, ...] = ()
    """The stems of the words in the names of its field and of the one that holds it."""
    name: FieldName = field(default_factory=lambda: field_name(""))

    def inside(self, key: str, beside: frozenset[str], public: frozenset[str], redact: frozenset[str]) -> "FieldScope":
        """Return the scope of a field. `beside`: the currencies of its object; `public`, `redact`: the tool's words."""
        name = field_name(key)
        is_private = (self.is_private or name.is_private) and not (self.is_own or name.is_place)
        is_redacted = self.is_redacted or key in redact
        return replace(
            self,
            currencies=name.currencies or beside or self.currencies,
            is_money=(name.is_money or (self.is_money and not name.is_plain)) and not name.is_count,
            is_minor=self.is_minor or name.is_minor,
            is_private=is_private or is_redacted,
            is_redacted=is_redacted,
            is_public=self._is_public_inside(name, is_listed=key in public) and not is_redacted,
            is_said=self.is_said or name.is_said,
            labels=(labels := labels_of(key)) + self.labels[:_MOST_LABELS],
            about=self.about.union(labels),
            name=name.within(self.name),
        )

    def of_value(self, value: Any, *, is_any: bool, has_money: bool) -> "FieldScope":
        """Return the scope with what its value tells. `is_any`: any number here may be money; `has_money`: some is."""
        name, is_nested = self.name.of_value(value, is_minor=self.is_minor), isinstance(value, dict | list)
        is_money = self.is_money or (is_any and not (is_nested or name.is_count or name.is_plain))
        is_small = isinstance(value, int | float) and abs(value) < _SMALL
        return self.changed(name=name, is_money=is_money, is_beside_money=has_money and is_small and not is_money)

    def changed(self, **facts: Any) -> "FieldScope":
        """Return the scope with other facts. Most are as they were, and a copy costs more than to see that."""
        known = ((getattr(self, fact), value) for fact, value in facts.items())
        return self if all(one is other or one == other for one, other in known) else replace(self, **facts)

    def place(self, origin: ResultOrigin, path: str) -> EvidencePlace:
        """Return the place of a value in a result."""
        return EvidencePlace(
            origin.step,
            path,
            origin.turn,
            origin.age_s,
            self.page,
            self.is_said,
            self.about,
            self.behind,
            self.is_prose,
        )

    def operand_codes(self) -> list[str | None]:
        """Return the currencies in which arithmetic may take a number; None for one that may be no money."""
        codes: list[str | None] = [*sorted(self.currencies)]
        if self.is_money:
            return codes
        is_amount = not (self.name.is_count or self.name.is_plain or self.is_beside_money)
        return [None, *codes] if is_amount else [] if self.name.is_count else [None]

    def in_units(self, value: Decimal) -> Decimal:
        """Return an amount in units of its currency."""
        is_whole = bool(self.currencies) and self.currencies <= set(words()["whole_currencies"])
        is_minor = self.name.is_minor or (self.is_minor and self.is_money)
        return value / _CENTS if is_minor and not is_whole else value

    def hides(self, value: Any) -> bool:
        """Return whether a value in a person's record is private: a number is where its own field is."""
        is_anyones = isinstance(value, str) and (is_of_nobody(value) or self.name.is_titled(value))
        return self.is_redacted or (not is_anyones and (isinstance(value, str) or self.name.is_private))

    def _is_public_inside(self, name: FieldName, *, is_listed: bool) -> bool:
        return (self.is_public and not name.is_person) or self.is_own or name.is_public or is_listed

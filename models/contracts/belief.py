"""A belief is the value of an attribute that is chosen when sources disagree. Pure."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from turnloom.models.contracts.knowledge import TRUST, AttributeFact, Item, Rule, Value

_NUMBER = re.compile(r"-?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")
_CRITERIA: tuple[Rule, ...] = ("trust", "corroboration", "trust", "recency")


@dataclass(frozen=True, slots=True)
class Belief:
    """The value believed of an attribute, and the reason."""

    subject: str
    attribute: str
    rule: Rule
    facts: tuple[AttributeFact, ...]
    """All sources, those of the believed value first."""

    @property
    def value(self) -> Value | None:
        """The believed value; None if no rule decides."""
        return None if self.rule == "unresolved" else self.facts[0].value


def comparable(value: Value) -> str:
    """Return a value as text, such that equal values give equal texts despite case, spacing and number format."""
    text = " ".join(unicodedata.normalize("NFKC", str(value)).casefold().split())
    if isinstance(value, bool) or not (isinstance(value, int | float) or _NUMBER.fullmatch(text)):
        return text
    return f"{Decimal(text.replace(',', '')).normalize():f}"


def believe(facts: Iterable[AttributeFact], meaning: Callable[[Value], str] = comparable) -> Belief:
    """Decide between the values that sources give one attribute. Values with the same `meaning` are one.

    Any source outweighs all conclusions of a language model. Between sources, and between conclusions, the first of
    these criteria that differs decides: the number of independent origins, the trust of the best of them, the date of
    the newest. An origin's date is the one that it gives, otherwise the time when we learned of it.
    """
    sides: dict[str, list[AttributeFact]] = defaultdict(list)
    for fact in sorted(facts, key=later, reverse=True):
        sides[meaning(fact.value)].append(fact)
    ranked = sorted(sides.items(), key=lambda side: (_weight(side[1]), side[0]), reverse=True)
    rule: Rule = "agreed"
    if len(ranked) > 1:
        first, second = (_weight(side) for _, side in ranked[:2])
        differing = (name for name, ours, theirs in zip(_CRITERIA, first, second, strict=True) if ours != theirs)
        rule = next(differing, "unresolved")
    said = tuple(fact for _, side in ranked for fact in side)
    return Belief(said[0].subject, said[0].attribute, rule, said)


def later(item: Item) -> tuple[Any, ...]:
    """Return a key that orders versions of an item in time.

    Its text comes last, so that different versions never tie.
    """
    source = item.source
    text = json.dumps(item.model_dump(mode="json"), sort_keys=True)
    return source.at, TRUST.index(source.trust), source.turn, source.step, text


def _weight(side: Iterable[AttributeFact]) -> tuple[Any, ...]:
    """Return the weight of one side of a contradiction, in the order of `_CRITERIA`."""
    concluded = [fact.source for fact in side]
    sources = [source for source in concluded if source.trust != "model"]
    counted = sources or concluded  # what a language model concludes from a source adds nothing to it
    origins = {source.origin for source in counted}
    newest = max(source.as_of or source.at for source in counted)
    return bool(sources), len(origins), max(TRUST.index(source.trust) for source in counted), newest

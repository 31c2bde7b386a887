"""The knowledge graph of a conversation: what it holds, how items are added, and what is believed if sources disagree.

An attribute has one value; anything that can have several is a relationship. A source never overwrites what another
source said. A belief depends on what was said and not on the order in which it arrived.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from turnloom.models.contracts.belief import Belief, believe, later
from turnloom.models.contracts.knowledge import (
    TRUST,
    AttributeFact,
    Entity,
    Finding,
    Hypothesis,
    Item,
    ItemKey,
    Provenance,
    Relationship,
)
from turnloom.planner.knowledge.values import meaning

Kind = TypeVar("Kind", Entity, AttributeFact, Relationship, Hypothesis)

_FACTS_PER_ATTRIBUTE = 8
"""Most sources kept of one attribute: the most trusted, then the newest."""
_ID_LENGTH = 80


@dataclass(frozen=True)
class Knowledge:
    """A conversation's knowledge. Immutable: adding to it gives another graph."""

    items: Mapping[ItemKey, Item] = field(default_factory=dict)

    @cached_property
    def entities(self) -> dict[str, Entity]:
        """The entities by id, in the order of their ids."""
        return {item.id: item for item in self._of(Entity)}

    @cached_property
    def relationships(self) -> list[Relationship]:
        """The relationships, in a fixed order."""
        return list(self._of(Relationship))

    @cached_property
    def hypotheses(self) -> list[Hypothesis]:
        """The hypotheses, in the order of their ids."""
        return list(self._of(Hypothesis))

    @cached_property
    def beliefs(self) -> dict[str, dict[str, Belief]]:
        """The beliefs: entity -> attribute -> belief."""
        facts: dict[tuple[str, str], list[AttributeFact]] = defaultdict(list)
        for fact in self._of(AttributeFact):
            facts[fact.subject, fact.attribute].append(fact)
        found: dict[str, dict[str, Belief]] = defaultdict(dict)
        for (subject, attribute), said in facts.items():
            found[subject][attribute] = believe(said, meaning)
        return dict(found)

    def relationships_of(self, entity: str) -> list[Relationship]:
        """Return the relationships that start at an entity."""
        return self._starting.get(entity, [])

    @property
    def contradictions(self) -> list[Belief]:
        """Attributes whose sources disagree."""
        beliefs = (belief for attributes in self.beliefs.values() for belief in attributes.values())
        return [belief for belief in beliefs if belief.rule != "agreed"]

    def get_entity(self, name: str) -> Entity | None:
        """Return the entity with that id, or the only one with that name."""
        if name in self.entities:
            return self.entities[name]
        wanted = word(name)
        named = [entity for entity in self.entities.values() if word(entity.name) == wanted]
        return named[0] if len(named) == 1 else None

    @cached_property
    def _starting(self) -> dict[str, list[Relationship]]:
        found: dict[str, list[Relationship]] = defaultdict(list)
        for edge in self.relationships:
            found[edge.start].append(edge)
        return dict(found)

    def _of(self, kind: type[Kind]) -> Iterator[Kind]:
        return (item for _, item in sorted(self.items.items()) if isinstance(item, kind))


def with_items(knowledge: Knowledge, items: Iterable[Item]) -> Knowledge:
    """Return the knowledge with these items added. Their order does not change the result."""
    merged = dict(knowledge.items)
    for item in items:
        key = key_of(item)
        if key not in merged or later(item) > later(merged[key]):
            merged[key] = item
    return Knowledge(_bounded(merged))


def recalled(items: Iterable[Item], undone: Container[str] = ()) -> Knowledge:
    """Return these items as knowledge, without what only undone turns have said.

    An entity that was last mentioned in an undone turn stays if another turn says something about it.
    """
    kept = {key_of(item): item for item in items if isinstance(item, Entity) or item.source.turn not in undone}
    about = {name for item in kept.values() for name in _about(item)}
    mentioned = [item for item in kept.values() if isinstance(item, Entity)]
    entities = {one.id for one in mentioned if one.source.turn not in undone or one.id in about}
    return Knowledge({key: item for key, item in kept.items() if _stands(item, entities)})


def items_of(finding: Finding, source: Provenance) -> Iterator[Item]:
    """Yield a finding as items of the graph: its entity, a fact for each attribute, and its links."""
    subject = entity_id(finding.type, finding.name)
    yield Entity(id=subject, type=word(finding.type), name=finding.name, source=source)
    for name, value in finding.attributes.items():
        yield AttributeFact(
            subject=subject, attribute=word(name), value=value, confidence=finding.confidence, source=source
        )
    for link in finding.links:
        end = entity_id(link.type, link.name)
        yield Entity(id=end, type=word(link.type), name=link.name, source=source)
        yield Relationship(
            start=subject,
            kind=word(link.kind),
            end=end,
            attributes=link.attributes,
            confidence=finding.confidence,
            source=source,
        )


def entity_id(kind: str, name: str) -> str:
    """Return the id of an entity, such as `city:tel_aviv`."""
    return f"{word(kind)}:{word(name)}"


def word(text: str) -> str:
    """Write a name as one word without case, accents and punctuation. A long or empty one ends in a digest."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    joined = "_".join(re.findall(r"[^\W_]+", plain))
    if 0 < len(joined) <= _ID_LENGTH:
        return joined
    return f"{joined[: _ID_LENGTH - 9]}_{sha256(text.encode()).hexdigest()[:8]}"


def key_of(item: Item) -> ItemKey:
    """Return the identity of an item. That of a fact includes who said it; the others depend only on what is said."""
    match item:
        case Entity():
            return ItemKey("entity", item.id)
        case AttributeFact(source=source):
            said_by = f"{source.turn} {source.step} {source.trust} {source.origin}"
            return ItemKey("fact", f"{item.subject} {item.attribute} {said_by}")
        case Relationship():
            return ItemKey("relationship", f"{item.start} {item.kind} {item.end}")
        case Hypothesis():
            return ItemKey("hypothesis", item.id)


def _about(item: Item) -> tuple[str, ...]:
    """Return the entities that an item is about."""
    match item:
        case AttributeFact():
            return (item.subject,)
        case Relationship():
            return (item.start, item.end)
    return ()


def _stands(item: Item, entities: Container[str]) -> bool:
    return item.id in entities if isinstance(item, Entity) else all(name in entities for name in _about(item))


def _bounded(items: dict[ItemKey, Item]) -> dict[ItemKey, Item]:
    facts: dict[tuple[str, str], list[tuple[Any, ItemKey]]] = defaultdict(list)
    for key, item in items.items():
        if isinstance(item, AttributeFact):
            rank = (TRUST.index(item.source.trust), later(item))
            facts[item.subject, item.attribute].append((rank, key))
    for ranked in facts.values():
        for _, key in sorted(ranked, reverse=True)[_FACTS_PER_ATTRIBUTE:]:
            del items[key]
    return items

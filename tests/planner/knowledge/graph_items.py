"""Make items of a knowledge graph for tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from turnloom.models.contracts.knowledge import (
    AttributeFact,
    Entity,
    EntityLink,
    Finding,
    Hypothesis,
    Item,
    Provenance,
    Trust,
    Value,
)
from turnloom.planner.knowledge.graph import Knowledge, entity_id, items_of, with_items

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def source(
    step: str = "a",
    *,
    turn: str = "t1",
    origin: str | None = None,
    trust: Trust = "tool",
    hours: float = 0,
    day: int | None = None,
) -> Provenance:
    """Return a source on a day in May, some hours before noon. By default its origin is its step."""
    return Provenance(
        turn=turn,
        step=step,
        path="",
        tool="demo.look",
        origin=origin or step,
        trust=trust,
        at=NOON - timedelta(hours=hours),
        as_of=None if day is None else datetime(2026, 5, day, tzinfo=UTC),
    )


def entity(name: str = "Kyoto", kind: str = "city", **said: Any) -> Entity:
    return Entity(id=entity_id(kind, name), type=kind, name=name, source=source(**said))


def fact(value: Value, attribute: str = "population", subject: str = "city:kyoto", **said: Any) -> AttributeFact:
    return AttributeFact(subject=subject, attribute=attribute, value=value, confidence=1.0, source=source(**said))


def hypothesis(name: str, confidence: float = 0.5, *supports: str, text: str = "It is so.", **said: Any) -> Hypothesis:
    return Hypothesis(
        id=name, text=text, confidence=confidence, supports=list(supports), contradicts=[], source=source(**said)
    )


def graph(*items: Item) -> Knowledge:
    return with_items(Knowledge(), items)


def found(kind: str, name: str, links: tuple[tuple[str, str, str], ...] = (), /, **attributes: Value) -> Finding:
    """Return a finding; each link is (kind, type, name)."""
    linked = [EntityLink(kind=one, type=other, name=end) for one, other, end in links]
    return Finding(type=kind, name=name, attributes=attributes, links=linked)


def told(*findings: Finding, **said: Any) -> list[Item]:
    """Return the findings of one source in the graph."""
    return [item for finding in findings for item in items_of(finding, source(**said))]

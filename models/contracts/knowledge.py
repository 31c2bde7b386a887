"""A conversation's knowledge is entities, facts about them, relationships and hypotheses, each with its source.

A `Finding` is something that a tool or a language model has found out. With its source it becomes items of the
knowledge graph: an entity, one fact for each attribute, one relationship for each link.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, FiniteFloat

from turnloom.models.contracts.base import Confidence, Contract, Moment

Trust = Literal["model", "outside", "tool"]
"""The kind of source, the least trusted first: a language model concluded it from a result, a tool passes on what
others say, a tool knows it itself."""

TRUST: tuple[Trust, ...] = ("model", "outside", "tool")

Rule = Literal["agreed", "corroboration", "trust", "recency", "unresolved"]
"""The rule that decided between the values of an attribute. `agreed`: there is only one value."""

Kind = Literal["entity", "fact", "relationship", "hypothesis", "lesson"]
"""The kind of an item. A lesson says what was learned from one revision of a plan, and how."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
Word = Annotated[str, Field(min_length=1, max_length=50)]
Value = Annotated[str, Field(max_length=1_000)] | bool | int | FiniteFloat


class EntityLink(Contract):
    """A relationship from the thing that a finding is about to another one."""

    kind: Word
    """What relates them, such as `has_attraction`."""
    type: Word
    """Type of the other thing."""
    name: Name
    """Name of the other thing."""
    attributes: dict[Word, Value] = Field(default_factory=dict, max_length=10)


class Finding(Contract):
    """One thing that was found out. Values that may be several are links, not attributes."""

    type: Word
    """Its kind, in one word: city, hotel, attraction."""
    name: Name
    """The name that people use. The same type and name, regardless of case and accents, is the same entity."""
    attributes: dict[Word, Value] = Field(default_factory=dict, max_length=30)
    """One value each."""
    links: list[EntityLink] = Field(default_factory=list, max_length=50)
    path: str = Field("", max_length=200)
    """Where in the result this stands, such as `days[0]`; empty for the whole."""
    origin: str | None = Field(None, max_length=200)
    """Who says so, if that is not the tool's own service: a document, a page. Two findings of one origin do not
    corroborate each other."""
    as_of: Moment | None = None
    """When the origin said so, if that is not now: the date of a document."""
    trust: Trust = "tool"
    confidence: Confidence = 1.0


class Provenance(Contract):
    """The origin of an item."""

    turn: str
    step: str
    path: str
    tool: str
    origin: str
    """Who says so: the document or page, otherwise the service that was asked."""
    trust: Trust
    at: Moment
    """When it was learned."""
    as_of: Moment | None = None
    """When its origin said so, if that was not at `at`."""


class Entity(Contract):
    """A thing in the conversation's knowledge."""

    id: str
    """Made of type and name, such as `city:kyoto`."""
    type: str
    name: str
    source: Provenance
    """Its last mention."""


class AttributeFact(Contract):
    """One value of an attribute, as one source says it."""

    subject: str
    """Id of the entity."""
    attribute: str
    value: Value
    confidence: Confidence
    source: Provenance


class Relationship(Contract):
    """A relationship between two entities."""

    start: str
    kind: str
    end: str
    attributes: dict[str, Value]
    confidence: Confidence
    source: Provenance


class Hypothesis(Contract):
    """Something that may be so."""

    id: str
    text: str
    confidence: Confidence
    supports: list[str]
    """Ids of the entities that speak for it."""
    contradicts: list[str]
    """Ids of the entities that speak against it."""
    source: Provenance


class Lesson(Contract):
    """The knowledge taken from the results of one plan revision. It exists once those results have been read."""

    steps: list[str]
    """The steps whose results were read."""
    new_facts: int
    """Facts that were not known before."""
    contradicted: dict[str, str]
    """Assumption that does not hold -> why."""
    trace: dict[str, object]
    """Language model, prompts, and the faults of its answer."""


Item = Entity | AttributeFact | Relationship | Hypothesis


class ItemKey(NamedTuple):
    """The identity of an item: two items with the same key are one."""

    kind: Kind
    id: str


class FactView(Contract):
    """A value of an attribute, with its source."""

    value: Value
    confidence: Confidence
    source: Provenance


class AttributeView(Contract):
    """An attribute with the value that is believed."""

    name: str
    value: Value | None
    """None if the sources disagree and no rule decides."""
    rule: Rule
    """What decided."""
    facts: list[FactView]
    """Every source, those of the believed value first."""


class RelationshipView(Contract):
    """A relationship, with its score."""

    kind: str
    to: str
    """Id of the other entity."""
    attributes: dict[str, Value]
    confidence: Confidence
    score: float
    source: Provenance


class EntityView(Contract):
    """A thing in the conversation's knowledge, with its attributes and relationships."""

    id: str
    type: str
    name: str
    score: float
    """Relevance to the last message times recency, from 0 to 1."""
    source: Provenance
    """Its last mention."""
    attributes: list[AttributeView]
    relationships: list[RelationshipView]
    """The relationships that start here."""


class ContradictionView(Contract):
    """Sources that disagree about an attribute, and how that was resolved."""

    subject: str
    attribute: str
    rule: Rule
    """The rule that decided; `unresolved` if none did."""
    value: Value | None
    """The value that is believed."""
    facts: list[FactView]
    """Both sides, those of the believed value first."""


class KnowledgePage(Contract):
    """A page of a conversation's entities, in the order of their ids."""

    items: list[EntityView]
    contradictions: list[ContradictionView]
    """Contradictions about the entities on this page."""
    hypotheses: list[Hypothesis]
    """All hypotheses of the conversation."""
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""

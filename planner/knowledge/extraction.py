"""Conclusions: what a language model concludes from results, and how its answer is read."""

from functools import lru_cache
from typing import Any

from pydantic import Field, ValidationError

from turnloom.models.contracts.base import Confidence, Contract
from turnloom.models.contracts.knowledge import EntityLink, Finding, Name, Value, Word
from turnloom.models.errors import InvalidPlan
from turnloom.planner.knowledge.graph import entity_id
from turnloom.planner.llm.json_object import read_object
from turnloom.planner.llm.schema import strict_schema


class ConcludedAttribute(Contract):
    """A property of a thing, with exactly one value."""

    name: Word
    value: Value


class ConcludedLink(Contract):
    """A link from the thing to another thing."""

    kind: Word
    """The kind of link, such as has_attraction, part_of or costs_more_than."""
    type: Word
    """Type of the other thing."""
    name: Name
    """Name of the other thing."""


class ConcludedEntity(Contract):
    """A thing that a result describes."""

    type: Word
    """The type of the thing, in one word."""
    name: Name
    step: str
    """Id of the step whose result says so."""
    confidence: Confidence
    """How sure you are, from 0 to 1."""
    attributes: list[ConcludedAttribute] = Field(max_length=30)
    links: list[ConcludedLink] = Field(max_length=50)

    @property
    def id(self) -> str:
        """The entity's id in the knowledge graph."""
        return entity_id(self.type, self.name)

    def finding(self) -> Finding:
        """Return the entity as a finding, the form in which tools report too."""
        return Finding(
            type=self.type,
            name=self.name,
            attributes={attribute.name: attribute.value for attribute in self.attributes},
            links=[EntityLink(kind=link.kind, type=link.type, name=link.name) for link in self.links],
            confidence=self.confidence,
        )


class ConcludedHypothesis(Contract):
    """Something that may be true and that matters for the goal."""

    id: str | None = Field(max_length=200)
    """Id of the known hypothesis that this one updates; null for a new one."""
    text: str = Field(min_length=1, max_length=500)
    confidence: Confidence
    """How likely it is, given everything that is known, from 0 to 1."""
    supports: list[str] = Field(max_length=10)
    """Ids of the entities that support it."""
    contradicts: list[str] = Field(max_length=10)
    """Ids of the entities that contradict it."""
    step: str
    """Id of the step whose result suggested it, or changed its confidence."""


class Contradicted(Contract):
    """An assumption that a result contradicts."""

    assumption: str
    """Id of the assumption."""
    step: str
    """Id of the step whose result contradicts it."""
    why: str = Field(max_length=500)


class Conclusion(Contract):
    """New knowledge that follows from results."""

    entities: list[ConcludedEntity] = Field(max_length=100)
    hypotheses: list[ConcludedHypothesis] = Field(max_length=20)
    contradicted: list[Contradicted] = Field(max_length=20)


NOTHING = Conclusion(entities=[], hypotheses=[], contradicted=[])


@lru_cache(maxsize=1)
def conclusion_schema() -> dict[str, Any]:
    """Return the response schema of a conclusion."""
    return strict_schema(Conclusion, "context")


def read_conclusion(text: str) -> Conclusion:
    """Read a language model's answer as a conclusion.

    Raises:
        InvalidPlan: the answer is not a conclusion.
    """
    try:
        return Conclusion.model_validate(read_object(text))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:5])
        raise InvalidPlan(f"the conclusion is refused: {faults}", faults=[]) from None

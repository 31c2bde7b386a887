"""What a language model concludes from results: the form of its answer, and how it is read."""

from functools import lru_cache
from typing import Any

from pydantic import Field, ValidationError

from models.contracts.base import Contract
from models.contracts.knowledge import Confidence, Finding, Link, Name, Value, Word
from models.errors import InvalidPlan
from planner.knowledge import entity_id
from planner.llm.decoding import decode
from planner.llm.schema import strict_schema
from tools.registry import Registry


class ConcludedAttribute(Contract):
    """A property of a thing, with its one value."""

    name: Word
    value: Value


class ConcludedLink(Contract):
    """A link to another entity that the model concluded."""

    kind: Word
    """Such as has_attraction, part_of, costs_more_than."""
    type: Word
    """Type of the other thing."""
    name: Name
    """Name of the other thing."""


class ConcludedEntity(Contract):
    """A thing that a result tells about."""

    type: Word
    """What it is, in one word."""
    name: Name
    step: str
    """Id of the step whose result says so."""
    confidence: Confidence
    """How sure you are, from 0 to 1."""
    attributes: list[ConcludedAttribute] = Field(max_length=30)
    links: list[ConcludedLink] = Field(max_length=50)

    @property
    def id(self) -> str:
        """Its id in the knowledge graph."""
        return entity_id(self.type, self.name)

    def finding(self) -> Finding:
        """Return what it says, as tools say it too."""
        return Finding(
            type=self.type,
            name=self.name,
            attributes={attribute.name: attribute.value for attribute in self.attributes},
            links=[Link(kind=link.kind, type=link.type, name=link.name) for link in self.links],
            confidence=self.confidence,
        )


class ConcludedHypothesis(Contract):
    """Something that may be so and that matters for the goal."""

    id: str | None = Field(max_length=200)
    """Id of the known hypothesis that this is; null for a new one."""
    text: str = Field(min_length=1, max_length=500)
    confidence: Confidence
    """How likely it is by all that is known, from 0 to 1."""
    supports: list[str] = Field(max_length=10)
    """Ids of the entities that speak for it."""
    contradicts: list[str] = Field(max_length=10)
    """Ids of the entities that speak against it."""
    step: str
    """Id of the step whose result gave rise to it, or changed its confidence."""


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
    """Read what a language model answered.

    Raises:
        InvalidPlan: it is no conclusion.
    """
    try:
        return Conclusion.model_validate(decode(text, Registry()))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:5])
        raise InvalidPlan(f"the conclusion is refused: {faults}", faults=[]) from None

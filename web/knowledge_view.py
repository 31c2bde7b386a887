"""Show a conversation's knowledge to a caller. Pure: the graph in, contracts out."""

from collections.abc import Sequence

from turnloom.models.contracts.belief import Belief
from turnloom.models.contracts.knowledge import (
    AttributeView,
    ContradictionView,
    Entity,
    EntityView,
    FactView,
    KnowledgePage,
    RelationshipView,
)
from turnloom.planner.knowledge.graph import Knowledge, key_of
from turnloom.planner.knowledge.relevance import Scores


def knowledge_page(
    knowledge: Knowledge, entities: Sequence[Entity], scores: Scores, next_cursor: str | None
) -> KnowledgePage:
    """Return a page of knowledge: these entities, and everything known about them."""
    names = {entity.id for entity in entities}
    return KnowledgePage(
        items=[_entity(entity, knowledge, scores) for entity in entities],
        contradictions=[_contradiction(belief) for belief in knowledge.contradictions if belief.subject in names],
        hypotheses=knowledge.hypotheses,
        next_cursor=next_cursor,
    )


def _entity(entity: Entity, knowledge: Knowledge, scores: Scores) -> EntityView:
    beliefs = knowledge.beliefs.get(entity.id, {})
    return EntityView(
        id=entity.id,
        type=entity.type,
        name=entity.name,
        score=round(scores.of[key_of(entity)], 4),
        source=entity.source,
        attributes=[
            AttributeView(name=name, value=belief.value, rule=belief.rule, facts=_facts(belief))
            for name, belief in beliefs.items()
        ],
        relationships=[
            RelationshipView(
                kind=edge.kind,
                to=edge.end,
                attributes=edge.attributes,
                confidence=edge.confidence,
                score=round(scores.of[key_of(edge)], 4),
                source=edge.source,
            )
            for edge in knowledge.relationships_of(entity.id)
        ],
    )


def _contradiction(belief: Belief) -> ContradictionView:
    return ContradictionView(
        subject=belief.subject,
        attribute=belief.attribute,
        rule=belief.rule,
        value=belief.value,
        facts=_facts(belief),
    )


def _facts(belief: Belief) -> list[FactView]:
    return [FactView(value=fact.value, confidence=fact.confidence, source=fact.source) for fact in belief.facts]

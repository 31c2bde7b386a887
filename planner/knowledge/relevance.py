"""Relevance: which parts of a knowledge graph matter for a goal, which are forgotten, and which fit into a prompt.

    score     = (FLOOR + (1 - FLOOR) * relevance) * 0.5 ** (age / HALF_LIFE)
    relevance = the best match nearby: max over all m within REACH of match(m) * 0.5 ** (edges from here to m)
    match(n)  = BM25 of the goal's words in n (`planner.bm25`)

The words of a node are those of its type, its name, its attributes and their values. A
relationship has the mean relevance of its ends, or its own match if that is better. Age counts from the last mention.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from turnloom.models.contracts.knowledge import (
    AttributeFact,
    Entity,
    Hypothesis,
    Item,
    ItemKey,
    Provenance,
    Relationship,
)
from turnloom.planner.bm25 import matches
from turnloom.planner.knowledge.graph import Knowledge, key_of
from turnloom.planner.words import words_in

HALF_LIFE = timedelta(hours=24)
FLOOR = 0.2
"""The weight of something that has nothing to do with the goal. The next message may have another goal."""
THRESHOLD = 0.05
"""An item that scores less is forgotten: after two half-lives if it never mattered, after more than four if it does."""
MAX_ITEMS = 500
"""Most items of a conversation."""
MAX_HYPOTHESES = 20
_REACH = 3
_CERTAIN = 0.95

Words = Mapping[ItemKey, Counter[str]]


@dataclass(frozen=True, slots=True)
class Scores:
    """The relevance of each entity, relationship and hypothesis, from 0 to 1."""

    of: Mapping[ItemKey, float]

    def ranked(self, items: Iterable[Any]) -> list[Any]:
        """Return items by score, the best first; equal ones by key."""
        return sorted(items, key=lambda item: (-self.of[key_of(item)], key_of(item)))


def score(knowledge: Knowledge, goal: str, now: datetime) -> Scores:
    """Score what is known against the words of a goal."""
    relevance = _relevance(knowledge, goal)
    items = ((key, knowledge.items[key].source) for key in relevance)
    return Scores({key: (FLOOR + (1 - FLOOR) * relevance[key]) * decay(source, now) for key, source in items})


def decay(source: Provenance, now: datetime) -> float:
    """Return the share of a score that age leaves: half after each half-life."""
    return float(0.5 ** (max(now - source.at, timedelta()) / HALF_LIFE))


def is_open(hypothesis: Hypothesis) -> bool:
    """Return whether a hypothesis is neither as good as proved nor as good as refuted."""
    return 1 - _CERTAIN < hypothesis.confidence < _CERTAIN


def prune(knowledge: Knowledge, scores: Scores) -> Knowledge:
    """Forget the items that matter too little, and the least relevant ones beyond the limits.

    An item that an open hypothesis or an unresolved contradiction needs is not forgotten for its score. If there are
    too many items, such items go last.
    """
    needed = _needed(knowledge)
    hypotheses = [one for one in knowledge.hypotheses if is_open(one) or scores.of[key_of(one)] >= THRESHOLD]
    hypotheses = sorted(scores.ranked(hypotheses), key=is_open, reverse=True)[:MAX_HYPOTHESES]
    kept: dict[ItemKey, Item] = {key_of(one): one for one in hypotheses}
    about = _facts(knowledge)
    for entity in sorted(scores.ranked(knowledge.entities.values()), key=lambda one: one.id in needed, reverse=True):
        group: list[Item] = [entity, *about.get(entity.id, ())]
        matters = entity.id in needed or scores.of[key_of(entity)] >= THRESHOLD
        if matters and len(kept) + len(group) <= MAX_ITEMS:
            kept |= {key_of(item): item for item in group}
    for edge in scores.ranked(knowledge.relationships):
        ends = {("entity", edge.start), ("entity", edge.end)}
        if ends <= kept.keys() and scores.of[key_of(edge)] >= THRESHOLD and len(kept) < MAX_ITEMS:
            kept[key_of(edge)] = edge
    return Knowledge(kept)


def snapshot(knowledge: Knowledge, scores: Scores, budget: int) -> dict[str, Any]:
    """Return the most relevant knowledge for a prompt; empty if nothing is known.

    Its JSON has no more characters than the budget. Open hypotheses come first, then entities with the relationships
    that start at them. A disputed attribute lists what each source says.
    """
    shown: dict[str, list[Any]] = {"entities": [], "relationships": [], "hypotheses": []}
    left = budget - len(json.dumps(shown))
    hypotheses = scores.ranked(one for one in knowledge.hypotheses if is_open(one))
    described = [{"hypotheses": [_describe_hypothesis(one)]} for one in hypotheses]
    described += [_describe(knowledge, entity) for entity in scores.ranked(knowledge.entities.values())]
    for parts in described:
        length = sum(len(json.dumps(entry, ensure_ascii=False)) + 2 for part in parts.values() for entry in part)
        if length <= left:
            left -= length
            for place, part in parts.items():
                shown[place] += part
    return shown if any(shown.values()) else {}


def _relevance(knowledge: Knowledge, goal: str) -> dict[ItemKey, float]:
    match = matches(_words(knowledge), set(words_in(goal)))
    near = {name: match[ItemKey("entity", name)] for name in knowledge.entities}
    for _ in range(_REACH):
        before = dict(near)
        for edge in knowledge.relationships:
            near[edge.start] = max(near[edge.start], before[edge.end] / 2)
            near[edge.end] = max(near[edge.end], before[edge.start] / 2)
    found = {ItemKey("entity", name): relevance for name, relevance in near.items()}
    for edge in knowledge.relationships:
        found[key_of(edge)] = max(match[key_of(edge)], (near[edge.start] + near[edge.end]) / 2)
    return found | {key_of(one): match[key_of(one)] for one in knowledge.hypotheses}


def _words(knowledge: Knowledge) -> Words:
    texts: dict[ItemKey, list[str]] = {}
    for key, item in knowledge.items.items():
        match item:
            case Entity():
                attributes = knowledge.beliefs.get(item.id, {}).values()
                said = [str(fact.value) for belief in attributes for fact in belief.facts[:1]]
                texts[key] = [item.type, item.name, *(belief.attribute for belief in attributes), *said]
            case Relationship():
                texts[key] = [item.kind, *item.attributes, *map(str, item.attributes.values())]
            case Hypothesis():
                texts[key] = [item.text]
    return {key: Counter(one for text in said for one in words_in(text)) for key, said in texts.items()}


def _facts(knowledge: Knowledge) -> dict[str, list[AttributeFact]]:
    return {
        subject: [fact for belief in attributes.values() for fact in belief.facts]
        for subject, attributes in knowledge.beliefs.items()
    }


def _needed(knowledge: Knowledge) -> set[str]:
    """Return the entities that an open hypothesis refers to, or that have an unresolved attribute."""
    disputed = {belief.subject for belief in knowledge.contradictions if belief.rule == "unresolved"}
    opened = (one for one in knowledge.hypotheses if is_open(one))
    return disputed.union(*([*one.supports, *one.contradicts] for one in opened))


def _describe(knowledge: Knowledge, entity: Entity) -> dict[str, list[Any]]:
    beliefs = knowledge.beliefs.get(entity.id, {})
    settled = {name: belief.value for name, belief in beliefs.items() if belief.rule != "unresolved"}
    disputed = {
        name: [{"value": fact.value, "step": fact.source.step, "says": fact.source.origin} for fact in belief.facts]
        for name, belief in beliefs.items()
        if belief.rule != "agreed"
    }
    described = {"id": entity.id, "name": entity.name, "attributes": settled, "disputed": disputed}
    return {
        "entities": [{name: value for name, value in described.items() if value}],
        "relationships": [[edge.start, edge.kind, edge.end] for edge in knowledge.relationships_of(entity.id)],
    }


def _describe_hypothesis(hypothesis: Hypothesis) -> dict[str, Any]:
    return hypothesis.model_dump(include={"id", "text", "confidence", "supports", "contradicts"})

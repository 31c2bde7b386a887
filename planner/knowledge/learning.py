"""Learn: add what the steps of a revision found out to the knowledge graph.

In: the graph, and results that are not in it yet.  Out: the graph with them, and the assumptions that no longer hold.

Tools that declare `facts` are read without a language model. One language-model call then extracts what else the
results say, and judges what cannot be compared. If it gives no usable answer, the facts of the tools remain.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from turnloom.models.contracts.knowledge import AttributeFact, Hypothesis, Item, Lesson, Provenance
from turnloom.models.contracts.plan import Assumption
from turnloom.models.errors import InvalidPlan, Unavailable
from turnloom.models.runtime.logging import log
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.packing import cut
from turnloom.planner.knowledge.extraction import NOTHING, Conclusion, conclusion_schema, read_conclusion
from turnloom.planner.knowledge.graph import Knowledge, items_of, with_items, word
from turnloom.planner.knowledge.origins import origin_of, service_of
from turnloom.planner.knowledge.relevance import prune, score, snapshot
from turnloom.planner.knowledge.values import meaning
from turnloom.planner.llm.protocol import LanguageModel, PromptMessage
from turnloom.planner.plan.phases import contradicted
from turnloom.tools.registry import Registry, Tool

_SHARE = 8
"""Knowledge may fill one part in this many of the tokens that a prompt spends on the past."""
_BYTES_PER_TOKEN = 4
_LONGEST_S = 30.0
_LONGEST_TEXT = 2_000
_MOST_FINDINGS = 100
"""Most findings taken from one result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A result to learn from."""

    step: str
    tool: str
    args: Mapping[str, Any]
    result: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The results of one plan revision, from which a turn learns."""

    turn: str
    at: datetime
    """When the results were learned. All results of a round are equally recent."""
    observations: Sequence[Observation]
    assumptions: Sequence[Assumption] = ()
    """The assumptions of the plan."""


def learn(known: Knowledge, round_: Round, context: PlanningContext, llm: LanguageModel) -> tuple[Knowledge, Lesson]:
    """Return the knowledge after a round, and the lesson of the round. It works without a language model, too."""
    told = with_items(known, _said_by_tools(round_, context.tools))
    conclusion, trace = _conclude(told, round_, context, llm) if round_.observations else (NOTHING, {})
    told = with_items(told, _concluded(conclusion, told, round_))
    wrong = {one.assumption: one.why for one in conclusion.contradicted if _is_of(one.assumption, one.step, round_)}
    lesson = Lesson(
        steps=[observation.step for observation in round_.observations],
        new_facts=len(_said(told) - _said(known)),
        contradicted=wrong | contradicted(round_.assumptions, told),
        trace=trace,
    )
    return prune(told, score(told, context.message, context.now)), lesson


def shown(knowledge: Knowledge, context: PlanningContext) -> dict[str, Any]:
    """Return the knowledge that a planning call is shown."""
    budget = context.agent.context_tokens // _SHARE * _BYTES_PER_TOKEN
    return snapshot(knowledge, score(knowledge, context.message, context.now), budget)


def context_messages(
    known: Knowledge, round_: Round, context: PlanningContext
) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a context update, and the sources of its parts."""
    render = context.prompts.render
    safety = render("fragments/safety")
    system = render("system/context", safety=safety.text)
    limit = context.agent.context_tokens // (2 * len(round_.observations) or 1)
    update = render(
        "planning/context_update",
        goal=context.message,
        **{"entities": [], "relationships": [], "hypotheses": []} | shown(known, context),
        assumptions=[one.model_dump(exclude_none=True) for one in round_.assumptions],
        tools=_described(round_, context.tools),
        observations=[
            {"step": one.step, "tool": one.tool, "args": one.args, "result": cut(one.result, limit)}
            for one in round_.observations
        ],
    )
    messages: list[PromptMessage] = [
        {"role": "system", "content": system.text},
        {"role": "user", "content": update.text},
    ]
    return messages, (system.source, safety.source, update.source)


def _said_by_tools(round_: Round, tools: Registry) -> Iterator[Item]:
    for observation in round_.observations:
        tool = tools.tools.get(observation.tool)
        if tool is not None and tool.facts is not None:
            yield from _said_by(tool, observation, round_)


def _said_by(tool: Tool, observation: Observation, round_: Round) -> list[Item]:
    assert tool.facts is not None
    try:
        findings = list(islice(tool.facts(tool.output.model_validate(observation.result)), _MOST_FINDINGS))
    except Exception:  # noqa: BLE001 - a pack's own code may fail; knowing less is better than not answering
        log.warning("facts.failed", tool=tool.name, step_id=observation.step, exc_info=True)
        return []
    sources = [
        Provenance(
            turn=round_.turn,
            step=observation.step,
            path=finding.path,
            tool=tool.name,
            origin=finding.origin or service_of(tool.name),
            trust=finding.trust,
            at=round_.at,
            as_of=finding.as_of,
        )
        for finding in findings
    ]
    return [item for finding, source in zip(findings, sources, strict=True) for item in items_of(finding, source)]


def _conclude(
    known: Knowledge, round_: Round, context: PlanningContext, llm: LanguageModel
) -> tuple[Conclusion, dict[str, object]]:
    messages, prompts = context_messages(known, round_, context)
    trace: dict[str, object] = {"prompts": list(prompts)}
    try:
        generation = llm.generate(
            messages,
            purpose="context",
            model=context.agent.llm,
            schema=conclusion_schema(),
            timeout_s=min(context.timeout_s / 2, _LONGEST_S),
        )
    except Unavailable as error:
        log.warning("context.skipped", code=error.code)
        return NOTHING, trace | {"failed": error.code}
    trace["llm"] = generation.model
    try:
        return read_conclusion(generation.text), trace
    except InvalidPlan as error:
        log.warning("context.refused", reason=str(error)[:200])
        return NOTHING, trace | {"failed": str(error), "text": generation.text[:_LONGEST_TEXT]}


def _concluded(conclusion: Conclusion, known: Knowledge, round_: Round) -> Iterator[Item]:
    """Yield the conclusions of the language model that name the observation they come from."""
    sources = {one.step: _concluded_from(one, round_) for one in round_.observations}
    for entity in conclusion.entities:
        if entity.step in sources:
            yield from items_of(entity.finding(), sources[entity.step])
    names = known.entities.keys() | {entity.id for entity in conclusion.entities}
    old = {hypothesis.id for hypothesis in known.hypotheses}
    for hypothesis in conclusion.hypotheses:
        if hypothesis.step in sources:
            yield Hypothesis(
                id=hypothesis.id if hypothesis.id in old else word(hypothesis.text),
                text=hypothesis.text,
                confidence=hypothesis.confidence,
                supports=sorted(names & set(hypothesis.supports)),
                contradicts=sorted(names & set(hypothesis.contradicts)),
                source=sources[hypothesis.step],
            )


def _concluded_from(observation: Observation, round_: Round) -> Provenance:
    return Provenance(
        turn=round_.turn,
        step=observation.step,
        path="",
        tool=observation.tool,
        origin=origin_of(observation.tool, observation.result),
        trust="model",
        at=round_.at,
    )


def _is_of(assumption: str, step: str, round_: Round) -> bool:
    """Return whether a judgement names an observation and an assumption that cannot be compared."""
    left = {one.id for one in round_.assumptions if None in (one.subject, one.attribute, one.value)}
    return assumption in left and step in {observation.step for observation in round_.observations}


def _said(knowledge: Knowledge) -> set[tuple[str, str, str]]:
    facts = (item for item in knowledge.items.values() if isinstance(item, AttributeFact))
    return {(fact.subject, fact.attribute, meaning(fact.value)) for fact in facts}


def _described(round_: Round, tools: Registry) -> dict[str, str]:
    used = sorted({observation.tool for observation in round_.observations} & tools.tools.keys())
    return {name: tools.tools[name].description for name in used}

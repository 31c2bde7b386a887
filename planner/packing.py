"""Pack what a planning call is told of the past into its agent's budget of tokens, by relevance and recency.

In: a planning context with all there is.  Out: the same with what fits, results cut where they are long.  Pure: the
same context gives the same bytes. The budget is of summary, knowledge, history, memory and results; rules, tools and
the message itself are not chosen from, and come on top.

No vocabulary is at hand for every model, so a token is taken for four bytes of UTF-8: about right for English, and
nearer for other scripts than four characters would be.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.agents import AgentProfile
from planner.context import Exchange, PlanningContext
from planner.results import Remembered, StepOutcome

VERBATIM = 16
"""So many exchanges are shown word by word; the older half of more is summed up."""
_BYTES_PER_TOKEN = 4
_CUTS = ((20, 600), (12, 400), (6, 200), (3, 100), (2, 50), (1, 25))
"""How a long value is shortened, until it fits: items of each list, characters of each text."""
_GONE = "…"
_HISTORY_HALF_LIFE = 4
"""After so many further exchanges an exchange counts half."""
_MEMORY_HALF_LIFE_S = 1_800
_WORD = re.compile(r"\w{3,}")


def tokens(value: Any) -> int:
    """Estimate the tokens of a text, or of a value written as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


def history_tokens(history: Sequence[Exchange]) -> int:
    """Estimate the tokens of exchanges."""
    return sum(tokens(exchange.message) + tokens(exchange.reply) for exchange in history)


def wants_summary(history: Sequence[Exchange], agent: AgentProfile) -> bool:
    """Tell whether older exchanges are to be summed up: there are many of them, or they take half of the budget."""
    return len(history) > VERBATIM or history_tokens(history) > agent.context_tokens // 2


def older(history: Sequence[Exchange], agent: AgentProfile) -> Sequence[Exchange]:
    """Return the exchanges to sum up: all but the last ones that take a quarter of the budget, eight at most."""
    stay, room = 0, agent.context_tokens // 4
    for exchange in reversed(history):
        room -= history_tokens([exchange])
        if stay and (room < 0 or stay == VERBATIM // 2):
            break
        stay += 1
    return history[: len(history) - stay]


def summary_tokens(agent: AgentProfile) -> int:
    """Return how long a summary may be."""
    return agent.context_tokens // 8


def cut(value: Any, limit: int) -> Any:
    """Return a value whose JSON has no more than so many tokens: later items of lists and ends of texts go first."""
    if tokens(value) <= limit:
        return value
    if isinstance(value, str):
        room = max(0, limit * _BYTES_PER_TOKEN - len(_GONE.encode()) - 1)
        return value.encode("utf-8", "replace")[:room].decode("utf-8", "ignore") + _GONE
    shorter = (_shortened(value, items, characters) for items, characters in _CUTS)
    return next((short for short in shorter if tokens(short) <= limit), _GONE)


def packed(context: PlanningContext) -> PlanningContext:
    """Return the context with as much of the past as its agent's budget has room for."""
    budget = context.agent.context_tokens
    summary = cut(context.summary, summary_tokens(context.agent)) if context.summary else None
    done = _cut_results(context.done, budget // 3)
    used = sum(tokens(part) for part in (summary, context.knowledge) if part)
    used += sum(tokens(step.result) for step in done if step.result is not None)
    memory = [replace(entry, result=cut(entry.result, budget // 8)) for entry in context.memory]
    kept = _chosen([*_exchanges(context), *_entries(memory, _words(context.message))], budget - used)
    return replace(
        context,
        summary=summary,
        done=done,
        history=[exchange for place, exchange in enumerate(context.history) if ("history", place) in kept],
        memory=[entry for place, entry in enumerate(memory) if ("memory", place) in kept],
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Something of the past that there may be room for."""

    kind: str
    place: int
    tokens: int
    score: float


def _exchanges(context: PlanningContext) -> Iterator[_Candidate]:
    wanted = _words(context.message)
    for place, exchange in enumerate(context.history):
        age = len(context.history) - 1 - place
        relevance = _overlap(wanted, f"{exchange.message} {exchange.reply}")
        # Without the last exchange "the first one" and "make it three" mean nothing.
        score = (1 + relevance) * 0.5 ** (age / _HISTORY_HALF_LIFE) + (2 if age == 0 else 0)
        yield _Candidate("history", place, history_tokens([exchange]), score)


def _entries(memory: Sequence[Remembered], wanted: frozenset[str]) -> Iterator[_Candidate]:
    for place, entry in enumerate(memory):
        shown = entry.shown()
        relevance = _overlap(wanted, json.dumps(shown, ensure_ascii=False, default=str))
        yield _Candidate("memory", place, tokens(shown), (1 + relevance) * 0.5 ** (entry.age_s / _MEMORY_HALF_LIFE_S))


def _chosen(candidates: Sequence[_Candidate], room: int) -> frozenset[tuple[str, int]]:
    """Return kind and place of the best ones that fit together."""
    kept = set()
    for candidate in sorted(candidates, key=lambda each: (-each.score, each.kind, -each.place)):
        if candidate.tokens <= room:
            room -= candidate.tokens
            kept.add((candidate.kind, candidate.place))
    return frozenset(kept)


def _cut_results(done: Sequence[StepOutcome], limit: int) -> list[StepOutcome]:
    """Cut the results of this turn's steps to a limit for all of them. That there are these steps stays known."""
    each = limit // max(1, sum(step.result is not None for step in done))
    return [step if step.result is None else replace(step, result=_cut_or_none(step.result, each)) for step in done]


def _cut_or_none(result: Any, limit: int) -> Any:
    short = cut(result, limit)
    return short if tokens(short) <= limit else None


def _shortened(value: Any, items: int, characters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else value[:characters] + _GONE
    if isinstance(value, list):
        rest = [f"{_GONE} {len(value) - items} more"] if len(value) > items else []
        return [*(_shortened(item, items, characters) for item in value[:items]), *rest]
    if isinstance(value, dict):
        return {name: _shortened(inner, items, characters) for name, inner in value.items()}
    return value


def _overlap(wanted: frozenset[str], text: str) -> float:
    """Return which share of the message's words a text has."""
    return len(wanted & _words(text)) / len(wanted) if wanted else 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))

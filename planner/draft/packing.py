"""Pack the past into the token budget of a planning call, by relevance and recency.

In: a planning context with everything.  Out: the same with the parts that fit, and long results cut.  Pure: the same
context gives the same bytes. The budget covers summary, knowledge, history, memory and results. Rules, tools and the
message itself are always included and come on top.

While everything fits, the past is appended: each exchange is followed by what its turn found. Only what is left over is
chosen for the message.

There is no vocabulary for every model, so a token is taken for four bytes of UTF-8. That is about right for English,
and closer for other scripts than four characters would be.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.words import words_in

VERBATIM = 16
"""If there are more exchanges than this, older ones are summarised, and at most half as many are kept word for word."""
_BYTES_PER_TOKEN = 4
_CUTS = ((20, 600), (12, 400), (6, 200), (3, 100), (2, 50), (1, 25))
"""How a long value is shortened until it fits: items kept of each list, characters kept of each text."""
_GONE = "…"
_HISTORY_HALF_LIFE = 4
"""An exchange counts half after this many further exchanges."""
_ALL_FIRST = 10
"""Added to the score of exchanges that take at most half of the budget. They all stay."""
_STEADY = 4
"""Results that stand with their turns begin at a turn whose number is a multiple of this."""
_MEMORY_HALF_LIFE_S = 1_800
_SHORTEST_WORD = 3
"""Shorter words, such as "of", say little about a message."""
_LINES = 40
"""The part of the budget that an older result of a tool may take: at 6,000 tokens a link with what it is for."""


def tokens(value: Any) -> int:
    """Estimate the tokens of a text, or of a value written as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


def history_tokens(history: Sequence[Exchange]) -> int:
    """Estimate the tokens of exchanges, and of the results that stand with them."""
    said = sum(tokens(exchange.message) + tokens(exchange.reply) for exchange in history)
    return said + sum(_found_tokens(exchange) for exchange in history)


def wants_summary(history: Sequence[Exchange], agent: AgentProfile) -> bool:
    """Return whether to summarise older exchanges: they are many, or exchanges take over half of the budget."""
    return len(history) > VERBATIM or history_tokens(history) > agent.context_tokens // 2


def older(history: Sequence[Exchange], agent: AgentProfile) -> Sequence[Exchange]:
    """Return the exchanges to summarise: all but the newest.

    The newest fit into a quarter of the budget. At least one and at most eight of them stay.
    """
    stay, room = 0, agent.context_tokens // 4
    for exchange in reversed(history):
        room -= history_tokens([exchange])
        if stay and (room < 0 or stay == VERBATIM // 2):
            break
        stay += 1
    return history[: len(history) - stay]


def summary_tokens(agent: AgentProfile) -> int:
    """Return the most tokens that a summary may have."""
    return agent.context_tokens // 8


def cut(value: Any, limit: int) -> Any:
    """Shorten a value until its JSON has at most `limit` tokens. Later list items and the ends of texts go first."""
    if tokens(value) <= limit:
        return value
    if isinstance(value, str):
        room = max(0, limit * _BYTES_PER_TOKEN - len(_GONE.encode()) - 1)
        return value.encode("utf-8", "replace")[:room].decode("utf-8", "ignore") + _GONE
    shorter = (_shortened(value, items, characters) for items, characters in _CUTS)
    return next((short for short in shorter if tokens(short) <= limit), _GONE)


def packed(context: PlanningContext) -> PlanningContext:
    """Return the context with as much of the past as fits into its agent's budget."""
    budget = context.agent.context_tokens
    summary = cut(context.summary, summary_tokens(context.agent)) if context.summary else None
    done = _cut_results(context.done, budget // 3)
    used = sum(tokens(part) for part in (summary, context.knowledge) if part)
    used += sum(tokens(step.result) for step in done if step.result is not None)
    context = replace(context, summary=summary, done=done)
    return _appended(context, budget - used) or _rechosen(context, budget - used)


def _appended(context: PlanningContext, room: int) -> PlanningContext | None:
    """Return the context with each exchange followed by its results; None if that does not fit.

    The next prompt only adds to this one, so that a provider's prompt cache holds. Results without a place beside their
    exchange are chosen for the message; they are paid for in every turn, so they take an eighth of the budget at most.
    """
    budget = context.agent.context_tokens
    history = _with_results(context.history, context.memory, budget)
    room -= history_tokens(history)
    if history_tokens(context.history) > budget // 2 or room < 0:
        return None
    beside = {(entry.turn, entry.step) for exchange in history for entry in exchange.found}
    rest = [entry for entry in _cut_memory(context, budget) if (entry.turn, entry.step) not in beside]
    kept = _chosen(_entries(rest, _words(context.message)), min(room, budget // 8))
    memory = [entry for place, entry in enumerate(rest) if ("memory", place) in kept]
    return replace(context, history=history, memory=memory)


def _cut_memory(context: PlanningContext, budget: int) -> list[RecalledResult]:
    """Cut the newest result of each tool, and the one that fits the message best, to an eighth of the budget.

    The tool's others are for other dates or other wishes. They are cut to a line.
    """
    memory = [replace(entry, result=cut(entry.result, budget // 8)) for entry in context.memory]
    scores = [candidate.score for candidate in _entries(memory, _words(context.message))]
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(memory):
        places.setdefault(entry.tool, []).append(place)
    whole = {place for of_tool in places.values() for place in (of_tool[0], max(of_tool, key=scores.__getitem__))}
    return [
        entry if place in whole else replace(entry, result=cut(entry.result, budget // _LINES))
        for place, entry in enumerate(memory)
    ]


def _rechosen(context: PlanningContext, room: int) -> PlanningContext:
    """Return the context with the exchanges and results that fit the message best."""
    memory = _cut_memory(context, context.agent.context_tokens)
    kept = _chosen([*_exchanges(context), *_entries(memory, _words(context.message))], room)
    return replace(
        context,
        history=[exchange for place, exchange in enumerate(context.history) if ("history", place) in kept],
        memory=[entry for place, entry in enumerate(memory) if ("memory", place) in kept],
    )


def _with_results(history: Sequence[Exchange], memory: Sequence[RecalledResult], budget: int) -> list[Exchange]:
    """Return exchanges with the results of their turns, as far as these take at most three eighths of the budget.

    Beyond that they begin at a turn whose number is a multiple of four, so that the beginning seldom moves.
    """
    whole = [replace(exchange, found=_found(exchange, memory, budget // 8)) for exchange in history]
    sizes = accumulate(_found_tokens(exchange) for exchange in reversed(whole))
    fitting = sum(size <= budget * 3 // 8 for size in sizes)
    first = len(whole) - fitting
    steady = (place for place in range(first, len(whole)) if history[place].seq % _STEADY == 0)
    start = next(steady, first) if first else 0
    return [*history[:start], *whole[start:]]


def _found(exchange: Exchange, memory: Sequence[RecalledResult], limit: int) -> tuple[RecalledResult, ...]:
    """Return the results of an exchange's turn, oldest first, each cut without regard to any other."""
    entries = (entry for entry in reversed(memory) if entry.turn == exchange.turn)
    return tuple(replace(entry, result=cut(entry.result, limit)) for entry in entries)


def _found_tokens(exchange: Exchange) -> int:
    return sum(tokens(entry.shown_with(exchange.seq)) for entry in exchange.found)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A part of the past that may be included."""

    kind: str
    place: int
    tokens: int
    score: float


def _exchanges(context: PlanningContext) -> Iterator[_Candidate]:
    wanted = _words(context.message)
    first = _ALL_FIRST if history_tokens(context.history) <= context.agent.context_tokens // 2 else 0
    for place, exchange in enumerate(context.history):
        age = len(context.history) - 1 - place
        relevance = _overlap(wanted, f"{exchange.message} {exchange.reply}")
        # "the first one" and "make it three" mean nothing without the last exchange.
        score = (1 + relevance) * 0.5 ** (age / _HISTORY_HALF_LIFE) + (2 if age == 0 else 0)
        yield _Candidate("history", place, history_tokens([exchange]), first + score)


def _entries(memory: Sequence[RecalledResult], wanted: frozenset[str]) -> Iterator[_Candidate]:
    for place, entry in enumerate(memory):
        shown = entry.shown()
        relevance = _overlap(wanted, json.dumps(shown, ensure_ascii=False, default=str))
        yield _Candidate("memory", place, tokens(shown), (1 + relevance) * 0.5 ** (entry.age_s / _MEMORY_HALF_LIFE_S))


def _chosen(candidates: Iterable[_Candidate], room: int) -> frozenset[tuple[str, int]]:
    """Return kind and place of the best candidates that fit together."""
    kept = set()
    for candidate in sorted(candidates, key=lambda each: (-each.score, each.kind, -each.place)):
        if candidate.tokens <= room:
            room -= candidate.tokens
            kept.add((candidate.kind, candidate.place))
    return frozenset(kept)


def _cut_results(done: Sequence[StepResult], limit: int) -> list[StepResult]:
    """Cut the results of this turn's steps to a total limit. A step stays even if its result has no room."""
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
    """Return the share of the message's words that a text contains."""
    return len(wanted & _words(text)) / len(wanted) if wanted else 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(words_in(text, shortest=_SHORTEST_WORD))

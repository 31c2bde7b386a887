"""The turns that a report lists: of each, what a reader needs to judge whether it is better now. Pure."""

from collections.abc import Mapping, Sequence

from turnloom.models.contracts.replay import ReplayedTurn, ReportedStep, ReportedTurn, StepRecord
from turnloom.tools.registry import Tool
from turnloom.workers.replay.matching import Pair, match

_LONGEST = 1_000
"""Most characters of a message or a reply."""


def reported_turn(turn: ReplayedTurn, tools: Mapping[str, Tool]) -> ReportedTurn:
    """Return what a report shows of a turn."""
    before = turn.recorded.steps
    after = turn.replayed.steps if turn.replayed else []
    matching = match(before, after, tools)
    looks_at_status = "status" not in turn.recorded.unrecorded
    changed = [pair for pair in matching.pairs if pair.parts() or (looks_at_status and _ends_otherwise(pair))]
    return ReportedTurn(
        conversation_id=turn.conversation_id,
        seq=turn.seq,
        agent=turn.recorded.agent,
        outcome=turn.outcome,
        reason=turn.reason,
        differences=turn.differences,
        noise=turn.noise,
        message=_cut(turn.recorded.message) or "",
        reply_before=_cut(turn.recorded.reply),
        reply_after=_cut(turn.replayed.reply) if turn.replayed else None,
        before=_steps(before, {pair.recorded.step.id for pair in changed}, {call.step.id for call in matching.gone}),
        after=_steps(after, {pair.replayed.step.id for pair in changed}, {call.step.id for call in matching.new}),
    )


def _steps(steps: Sequence[StepRecord], changed: set[str], alone: set[str]) -> list[ReportedStep]:
    return [
        ReportedStep(
            id=step.id,
            tool=step.tool,
            needs=step.needs,
            status=step.status,
            mark="only_here" if step.id in alone else "changed" if step.id in changed else "same",
        )
        for step in steps
    ]


def _ends_otherwise(pair: Pair) -> bool:
    return pair.recorded.step.status != pair.replayed.step.status


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

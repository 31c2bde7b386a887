"""The past of a recorded turn is what its planner knew: earlier exchanges, slots and results, as they were recorded.

Each turn is replayed with the recorded past, not with what replays of earlier turns have led to. So a difference in one
turn is no difference in those after it. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import StepRecord
from turnloom.models.runtime.local_time import timezone_of
from turnloom.planner.knowledge.graph import Knowledge, recalled
from turnloom.tools.call_identity import call_hash
from turnloom.tools.registry import Registry, Tool
from turnloom.workers.running.result_memo import MAX_RESULT_BYTES, kept_s

_EXCHANGES, _RESULTS = 24, 20
"""Most exchanges and results that a planner is told of, as in `models/ledger/turns.py`."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """The knowledge of a planner before its turn."""

    history: Sequence[Exchange] = ()
    summary: str | None = None
    slots: dict[str, Any] = field(default_factory=dict)
    asked: Sequence[dict[str, Any]] = ()
    memory: Sequence[RecalledResult] = ()
    """Newest first."""
    knowledge: Knowledge = field(default_factory=Knowledge)


def past_of(conversation: RecordedConversation, turn: RecordedTurn, tools: Registry) -> Past:
    """Return the past of a turn. `tools` say how long their results are remembered."""
    earlier = _earlier(conversation, turn)
    covered = conversation.summary_seq
    shows_summary = covered is not None and turn.seq > covered
    return Past(
        history=_history(conversation, earlier, covered if shows_summary else None),
        summary=conversation.summary if shows_summary else None,
        slots=dict(earlier[-1].record.slots) if earlier else {},
        asked=next((each.asked for each in earlier if each.seq == turn.seq - 1), ()),
        memory=_memory(turn, earlier, tools),
        knowledge=recalled(conversation.knowledge, _Others([*conversation.older, *(each.turn_id for each in earlier)])),
    )


class _Others:
    """All turns but some."""

    def __init__(self, turns: Iterable[str]) -> None:
        self._turns = frozenset(turns)

    def __contains__(self, turn_id: object) -> bool:
        return turn_id not in self._turns


def _earlier(conversation: RecordedConversation, turn: RecordedTurn) -> list[RecordedTurn]:
    """Return the turns that had ended when this one was planned, and that were not rolled back."""
    others = (each for each in conversation.turns if each.seq != turn.seq and not each.is_forgotten)
    found = [each for each in others if _had_ended(each, turn)]
    return sorted(found, key=lambda each: (each.ended_at.timestamp() if each.ended_at else 0.0, each.seq))


def _had_ended(other: RecordedTurn, turn: RecordedTurn) -> bool:
    return other.seq < turn.seq if other.ended_at is None else other.ended_at <= turn.begun_at


def _history(
    conversation: RecordedConversation, earlier: Sequence[RecordedTurn], summary_seq: int | None
) -> list[Exchange]:
    first = 1 - len(conversation.past)
    before = [
        Exchange(each.message, each.reply, seq=first + place)
        for place, each in enumerate(conversation.past)
        if summary_seq is None or first + place > summary_seq
    ]
    own = [_exchange(each) for each in earlier if summary_seq is None or each.seq > summary_seq]
    return [*before, *own][-_EXCHANGES:]


def _exchange(turn: RecordedTurn) -> Exchange:
    reply = turn.record.reply or ""
    return Exchange(turn.shown_message, reply, turn.seen, turn.turn_id, turn.seq, author=turn.author)


def _memory(turn: RecordedTurn, earlier: Sequence[RecordedTurn], tools: Registry) -> list[RecalledResult]:
    """Return the results that were remembered when a turn was planned, as `hot.fresh_memory` would."""
    kept: dict[tuple[str, str], _Remembered] = {}
    for found in sorted(_results(earlier, tools), key=lambda found: found.at):
        if found.tool.effect != "read":
            for other in kept.values():
                other.holds = False
        if found.is_kept:
            kept[found.tool.name, found.key] = found
    fresh = [found for found in kept.values() if found.expires_at > turn.begun_at]
    fresh.sort(key=lambda found: (-found.at.timestamp(), found.tool.name, found.key))
    places: dict[str, int] = {}
    for found in fresh:
        found.place = places[found.tool.name] = places.get(found.tool.name, 0) + 1
    chosen = sorted(fresh, key=lambda found: found.place)[:_RESULTS]
    chosen.sort(key=lambda found: (-found.at.timestamp(), found.tool.name, found.key))
    return [found.recalled(turn.begun_at) for found in chosen]


@dataclass
class _Remembered:
    """A recorded result that a conversation may remember."""

    tool: Tool
    key: str
    step: StepRecord
    turn_id: str
    at: datetime
    expires_at: datetime
    holds: bool
    is_kept: bool
    place: int = 0

    def recalled(self, now: datetime) -> RecalledResult:
        return RecalledResult(
            tool=self.tool.name,
            args=self.step.args,
            result=self.step.result,
            turn=self.turn_id,
            step=self.step.id,
            age_s=max(0, int((now - self.at).total_seconds())),
            holds=self.holds,
        )


def _results(earlier: Iterable[RecordedTurn], tools: Registry) -> Iterator[_Remembered]:
    """Yield what ended in these turns and matters for the memory. A result that was remembered before stays as old."""
    for turn in earlier:
        for step in turn.record.steps:
            tool = tools.tools.get(step.tool)
            if tool is None or step.ended_at is None or step.id in turn.uncalled or step.status == "skipped":
                continue
            key = call_hash(tool, step.args)
            is_kept = step.status == "succeeded" and key is not None and _is_remembered(tool, step.result)
            if is_kept or tool.effect != "read":
                yield _Remembered(
                    tool=tool,
                    key=key or "",
                    step=step,
                    turn_id=turn.turn_id,
                    at=step.ended_at,
                    expires_at=_expiry(tool, step.ended_at, turn),
                    holds=tool.effect == "read",
                    is_kept=is_kept,
                )


def _is_remembered(tool: Tool, result: Any) -> bool:
    return tool.remembered_s > 0 and len(orjson.dumps(result)) <= MAX_RESULT_BYTES


def _expiry(tool: Tool, at: datetime, turn: RecordedTurn) -> datetime:
    return at + timedelta(seconds=kept_s(tool, at.astimezone(ZoneInfo(timezone_of(turn.person)))))

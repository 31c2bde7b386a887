"""A conversation is replayed turn by turn, each with its recorded past. A fault of one turn ends no other."""

from collections.abc import Callable
from datetime import UTC, datetime

from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import Aspect, ReplayedOutcome, ReplayedTurn, TurnRecord
from turnloom.models.errors import TurnloomError
from turnloom.models.runtime.logging import log
from turnloom.workers.replay.first_context import offered_to
from turnloom.workers.replay.noise import JudgedTurn, judge
from turnloom.workers.replay.past import Past, past_of
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import ToolResults
from turnloom.workers.replay.turn_replay import TurnReplay
from turnloom.workers.replay.virtual_run import DIVERGED

ResultsOf = Callable[[RecordedTurn, Past], ToolResults]
"""Returns the source of a turn's tool results."""

_BEFORE_THE_CALL: frozenset[Aspect] = frozenset({"tools", "arguments", "edges", "slots", "policy"})
"""The aspects of a turn in which one that has diverged can be compared: it has no reply."""


def replay(conversation: RecordedConversation, setting: Setting, results_of: ResultsOf) -> list[ReplayedTurn]:
    """Replay the turns of a conversation that can be replayed, in their order.

    Raises:
        Unavailable: Postgres does not answer. Nothing else: a turn that cannot be replayed is `failed`.
    """
    return [_replay(conversation, turn, setting, results_of) for turn in conversation.turns if turn.is_replayed]


def not_replayed(conversation: RecordedConversation, reason: str) -> list[ReplayedTurn]:
    """Return the turns of a conversation as failed ones."""
    turns = [turn for turn in conversation.turns if turn.is_replayed]
    return [_failed(conversation, turn, reason) for turn in turns]


def unreadable(conversation_id: str, reason: str) -> list[ReplayedTurn]:
    """Return one failed turn that stands for a conversation whose record cannot be read."""
    record = TurnRecord(message="", agent="", at=datetime.fromtimestamp(0, UTC), status="failed")
    return [
        ReplayedTurn(
            conversation_id=conversation_id, seq=1, outcome="failed", reason=reason, recorded=record, replayed=None
        )
    ]


def _replay(
    conversation: RecordedConversation, turn: RecordedTurn, setting: Setting, results_of: ResultsOf
) -> ReplayedTurn:
    offered = offered_to(conversation, turn, setting.tailored, setting.tools, setting.tenant_id)
    try:
        past = past_of(conversation, turn, setting.tools)
        made = [
            TurnReplay(setting, conversation, turn, past, offered, results_of(turn, past)).replayed()
            for _ in range(setting.repeat)
        ]
        return _outcome(conversation, turn, judge(turn.record, made, setting.tools.tools))
    except TurnloomError as error:
        return _failed(conversation, turn, str(error))
    except Exception as error:  # noqa: BLE001 - recorded turns of any age and origin meet the planner here
        log.exception("turn.not_replayed", conversation_id=conversation.conversation_id, seq=turn.seq)
        return _failed(conversation, turn, f"internal error: {type(error).__name__}; see the worker's log")


def _outcome(conversation: RecordedConversation, turn: RecordedTurn, judged: JudgedTurn) -> ReplayedTurn:
    replayed, differences = judged.replayed, judged.differences
    reason: str | None = None
    outcome: ReplayedOutcome = "different" if differences else "same"
    if replayed.status == DIVERGED:
        differences = [one for one in differences if one.aspect in _BEFORE_THE_CALL]
        reason, outcome = _missing(replayed), "diverged"
    elif not (replayed.reply or "").strip():
        reason, outcome = "it ended without a reply", "failed"
    return ReplayedTurn(
        conversation_id=conversation.conversation_id,
        seq=turn.seq,
        outcome=outcome,
        differences=differences,
        noise=judged.noise,
        reason=reason,
        recorded=turn.record,
        replayed=replayed,
    )


def _failed(conversation: RecordedConversation, turn: RecordedTurn, reason: str) -> ReplayedTurn:
    return ReplayedTurn(
        conversation_id=conversation.conversation_id,
        seq=turn.seq,
        outcome="failed",
        reason=reason,
        recorded=turn.record,
        replayed=None,
    )


def _missing(replayed: TurnRecord) -> str:
    steps = [step for step in replayed.steps if step.status == DIVERGED]
    calls = ", ".join(f"{step.tool} (step {step.id!r})" for step in steps)
    return f"there is no recorded result for {calls}"

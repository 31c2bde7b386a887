"""A conversation is replayed turn by turn, each with its recorded past. A fault of one turn ends no other."""

from collections.abc import Callable

from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import Aspect, Difference, ReplayedTurn, TurnRecord
from turnloom.models.errors import TurnloomError
from turnloom.models.runtime.logging import log
from turnloom.tools.registry import Registry
from turnloom.workers.replay.comparison import compare
from turnloom.workers.replay.past import Past, past_of
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import ToolResults
from turnloom.workers.replay.turn_replay import TurnReplay
from turnloom.workers.replay.virtual_run import DIVERGED
from turnloom.workers.turns.tool_availability import ToolAvailability, access_for, granted

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


def _replay(
    conversation: RecordedConversation, turn: RecordedTurn, setting: Setting, results_of: ResultsOf
) -> ReplayedTurn:
    offered = _offered(conversation, turn, setting)
    reason, replayed = None, None
    try:
        past = past_of(conversation, turn, setting.tools)
        results = results_of(turn, past)
        replayed = TurnReplay(setting, conversation, turn, past, offered, results).replayed()
        differences = compare(turn.record, replayed)
    except TurnloomError as error:
        reason, differences = str(error), []
    except Exception as error:  # noqa: BLE001 - recorded turns of any age and origin meet the planner here
        log.exception("turn.not_replayed", conversation_id=conversation.conversation_id, seq=turn.seq)
        reason, differences = f"internal error: {type(error).__name__}; see the worker's log", []
    return _judged(conversation, turn, replayed, differences, reason)


def _offered(conversation: RecordedConversation, turn: RecordedTurn, setting: Setting) -> ToolAvailability:
    """Return the tools that a turn's plan may call. No service counts as down: outages are in the record."""
    profile = setting.tailored.agents.profiles.get(turn.record.agent)
    tools = setting.tools.allowed(profile.tools) if profile else Registry()
    if conversation.is_foreign:
        return ToolAvailability(tools)
    user_id = turn.person.get("id")
    return granted(tools, user_id, access_for(setting.tenant_id, user_id, tools))


def _judged(
    conversation: RecordedConversation,
    turn: RecordedTurn,
    replayed: TurnRecord | None,
    differences: list[Difference],
    reason: str | None,
) -> ReplayedTurn:
    has_diverged = replayed is not None and replayed.status == DIVERGED
    if has_diverged:
        differences = [one for one in differences if one.aspect in _BEFORE_THE_CALL]
        reason = _missing(replayed)
    elif replayed is not None and not (replayed.reply or "").strip():
        reason = "it ended without a reply"
    outcome = "diverged" if has_diverged else "failed" if reason else "different" if differences else "same"
    return ReplayedTurn(
        conversation_id=conversation.conversation_id,
        seq=turn.seq,
        outcome=outcome,
        differences=differences,
        reason=reason,
        recorded=turn.record,
        replayed=replayed,
    )


def _missing(replayed: TurnRecord | None) -> str:
    steps = [step for step in replayed.steps if step.status == DIVERGED] if replayed else []
    calls = ", ".join(f"{step.tool} (step {step.id!r})" for step in steps)
    return f"there is no recorded result for {calls}"

"""Events record what happened to a turn."""

from typing import Any

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.turn import FINAL_TURN_STATUSES

EVENTS = {
    "turn.queued": "The turn is recorded. `conversation_id`, `seq`: its place in the conversation. It comes again, "
    "once, if the language model fails and the turn is tried again later: `code`: why, `retry_at`: the next time.",
    "plan.started": "A planner has claimed the turn. `revision`: the revision of the coming plan.",
    "plan.step": "The language model has written one more step; its plan may still be refused. `step`, `tool`. A step "
    "that only reads may start from now on, before `plan.ready`.",
    "plan.ready": "The plan is checked and recorded. `revision`, `action`, `steps`: id, tool and needs of each.",
    "plan.revised": "The turn was planned again. The fields of `plan.ready`; `steps` are the new ones.",
    "step.started": "A worker has begun a step that it has claimed. `step`, `tool`, `attempt`, `worker`.",
    "step.retry": "A tool failed for now and is tried again, within the same claim or, after a longer pause, "
    "in another. `step`, `tool`, `attempt`, `try`: tries so far, in the second case claims, `code`: why, "
    "`pause_ms`: the pause before the next. If a fallback takes its place, `tool` is the fallback's.",
    "approval.requested": "A call waits for a person's decision. `step`, `tool`, `args`, in which what the tool keeps "
    "secret is masked, `args_hash`, `lapses_at`: after that it counts as rejected.",
    "step.finished": "A step is final. `step`, `tool`, `status`, `attempt`, `duration_ms`, and `error` unless it "
    "succeeded; `cache` if its result was memoised. A step that was never claimed has no attempt; one that never "
    "ran, or whose worker was lost, no duration. "
    "One that is `unknown` comes once more, without duration, when an operator decides it before the turn is final.",
    "hook.vetoed": "A hook refused a call of a tool or of the language model, or an answer of one. `hook`, `point`: "
    "where it was asked, `reason`, `step`: null for the language model.",
    "hook.failed": "A hook broke, or returned an unusable value, and was skipped. `hook`, `point`, `reason`: the "
    "name of the exception, `step`.",
    "reply.delta": "A piece of the reply while the language model writes it. `text`. Never in the ledger: its id is "
    "that of the event before it and a number, as in `7.3`.",
    "reply.done": "The whole reply; it replaces the deltas. `text`, `artifacts`, `question`, `grounded`, `sources`, "
    "`suggestions`. A superseded turn has none, and neither has one that ends while a person writes in its "
    "conversation: its reply is for the record and is not sent.",
    "turn.succeeded": "The turn is final and was answered. `error` is null.",
    "turn.failed": "The turn is final, and its reply says so. `error`: `code` and `message`.",
    "turn.cancelled": "The turn is final: somebody cancelled it, and `error` is null; or a person writes in its "
    "conversation, and the `code` of `error` is `paused`.",
    "turn.superseded": "The turn is final: a newer message took its place. `superseded_by`: the id of that message's "
    "turn; `error` is null.",
}
"""Events of a turn: type -> when it happens, and the fields of its `data` beside `turn_id` and `at`."""
FINAL_EVENTS = frozenset(f"turn.{status}" for status in FINAL_TURN_STATUSES)
"""The types of a turn's last event."""


EVENT_ID = r"^[0-9]{1,9}(?:\.[0-9]{1,9})?$"
"""The id of an event is its place in the ledger; of a delta, the id of the event before it and a number."""


class Event(Contract):
    """Something that happened to a turn."""

    seq: int
    """Place in the turn's events, from 1 without gaps."""
    type: str
    """`turn.queued`, `plan.ready`, `step.finished`, … as documented in docs/reference/events.md."""
    data: dict[str, Any]
    """Always `turn_id` and `at`, then the fields of the type. (The ledger keeps these two as columns.)"""


def read_events(stored: Any) -> list[Event]:
    """Read events as the ledger stores them: `{turn_id, at, after, events: [{type, data}]}`, or nothing."""
    if not stored:
        return []
    common = {"turn_id": stored["turn_id"], "at": stored["at"]}
    return [
        Event.model_construct(seq=seq, type=event["type"], data=common | event.get("data", {}))
        for seq, event in enumerate(stored["events"], stored["after"] + 1)
    ]

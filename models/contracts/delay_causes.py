"""Causes: this module names the one reason why a turn makes no progress. Pure: facts in, an explanation out.

The first of these that applies is named: the end; an earlier turn of the conversation; the reason why it is held; then
the planner, the steps or the responder, whichever has the turn. There, work that nobody holds is named before work that
somebody does. Among the steps the order is: one whose worker is lost, one that no worker takes, one that waits for a
worker, one that waits for a person, the one that has run longest, and last one that waits for its time. Work that
nobody holds needs a message, so the broker and the workers of its queue are checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from turnloom.models.contracts.base import rfc3339
from turnloom.models.contracts.explanation import Cause, Explanation
from turnloom.models.contracts.turn import FINAL_TURN_STATUSES, Priority, TurnStatus

_RECOVERING = "maintenance"
"""The queue of the sweep. Without its worker nothing is recovered."""


@dataclass(frozen=True)
class OpenStep:
    """A step that runs, is parked, or could run because all steps that it needs have ended."""

    id: str
    tool: str
    queue: str
    since: datetime
    """When it was claimed; if nobody has claimed it, when it was parked or became ready."""
    worker: str | None = None
    lease_until: datetime | None = None
    """None: nobody has claimed it."""
    lapses_at: datetime | None = None
    """None: it does not wait for a person."""
    not_before: datetime | None = None
    """None: it does not wait for its time."""
    error: Mapping[str, str] | None = None
    """`{code, message}` of the failure that it waits after."""
    unsure: bool = False
    """Whether its backend must still be asked for the outcome of its call."""


@dataclass(frozen=True)
class HeldTurn:
    """A queued turn that is first in its conversation and is not yet handed to the planners."""

    due_at: datetime
    settles_at: datetime | None
    """The end of the wait for further messages of its burst."""
    by: Literal["user", "tenant"]
    """Whose other turns it waits behind, if it is due."""
    priority: Priority
    in_work: int
    """The turns of this one, of its class, that are in work."""
    window: int
    """How many of them there may be; 0: any number."""


@dataclass(frozen=True)
class Postponed:
    """A turn that is planned or answered later, because its language model does not answer."""

    until: datetime
    message: str
    """The reason, as far as it is known."""


@dataclass(frozen=True)
class Facts:
    """A snapshot of the ledger about one turn, and about the workers that could take it."""

    at: datetime
    turn_id: UUID
    status: TurnStatus
    since: datetime
    """When it entered this status."""
    attempt: int
    lease_until: datetime | None
    lease: timedelta
    """The longest time that a lease lasts after a living holder has renewed it."""
    earlier: tuple[UUID, TurnStatus] | None
    """The conversation's active turn, if this one waits for it."""
    held: HeldTurn | None
    """None: it is not held."""
    postponed: Postponed | None
    """None: it is not postponed."""
    steps: Sequence[OpenStep]
    """The steps of a turn that runs or waits for a person."""
    slots: Mapping[str, int]
    """Tasks that the living workers run at the same time, by queue."""
    is_taken_over: bool
    """Whether a person writes in its conversation, and it was closed for that or is what the person wrote."""
    at_work: int
    """Turns of its tenant that are planned or answered now, limited by its slots for the language model."""

    @property
    def queues(self) -> set[str]:
        """The queues that the turn may wait on."""
        return {"plan", "respond", _RECOVERING, *(step.queue for step in self.steps)}


def explain(facts: Facts, messages: Mapping[str, int] | None) -> Explanation:
    """Return the cause. `messages`: how many wait on each queue, None if the broker does not answer."""
    case = _Case(facts, messages)
    if facts.status in FINAL_TURN_STATUSES:
        why = "; a person writes in its conversation in place of the agent" if facts.is_taken_over else ""
        return case.because("finished", f"the turn ended at {rfc3339(facts.since)}: {facts.status}{why}")
    if facts.earlier is not None:
        active, status = facts.earlier
        message = f"turn {active} of the same conversation comes first and is {status}; turns run one at a time"
        return case.because("earlier_turn", message, turn=str(active))
    if facts.status == "queued":
        return _queued(case)
    if facts.status == "planning":
        return _planning(case)
    if facts.status == "responding":
        return _responding(case)
    return _running(case)


@dataclass(frozen=True)
class _Work:
    """The work that is in progress or comes next."""

    what: str
    since: datetime
    lease_until: datetime | None = None
    step: str | None = None


@dataclass(frozen=True)
class _Case:
    """A turn's facts with the state of the broker."""

    facts: Facts
    messages: Mapping[str, int] | None

    def is_held(self, lease_until: datetime | None) -> bool:
        return lease_until is not None and lease_until >= self.facts.at

    def claimed(self, work: _Work, held: Cause, lost: Cause) -> Explanation:
        """Explain claimed work: `held` while the lease lasts, then `lost`."""
        if self.is_held(work.lease_until):
            message = f"{work.what} has been running since {rfc3339(work.since)}; a living worker renews the lease"
            return self.because(held, message, work, until=work.lease_until)
        work = replace(work, since=work.lease_until or work.since)
        if self.messages is None or _RECOVERING not in self.facts.slots:
            return self.waits(replace(work, what=f"the recovery of {work.what}"), _RECOVERING)
        message = f"{work.what} was lost: the lease ended at {rfc3339(work.since)}; recovery takes it back in seconds"
        return self.because(lost, message, work)

    def waits(self, work: _Work, queue: str) -> Explanation:
        """Explain work that waits for a worker of a queue."""
        waits = f"{work.what} has waited on queue {queue!r} since {rfc3339(work.since)}"
        slots = self.facts.slots.get(queue)
        if self.messages is None:
            return self.because("broker_down", f"{waits}; Redis does not answer", work, queue=queue)
        if slots is None:
            return self.because("no_worker", f"{waits}; no living worker takes from it", work, queue=queue)
        there = f"messages there: {self.messages.get(queue, 0)}, slots of its workers: {slots}"
        if queue == "plan":
            there = f"{there}; turns of its tenant that are planned or answered now: {self.facts.at_work}"
        return self.because("waiting_for_worker", f"{waits}; {there}", work, queue=queue)

    def because(
        self,
        cause: Cause,
        message: str,
        work: _Work | None = None,
        *,
        until: datetime | None = None,
        queue: str | None = None,
        turn: str | None = None,
    ) -> Explanation:
        return Explanation(
            turn_id=str(self.facts.turn_id),
            status=self.facts.status,
            cause=cause,
            message=message,
            since=work.since if work else self.facts.since,
            until=until,
            step=work.step if work else None,
            queue=queue,
            turn=turn,
        )


def _queued(case: _Case) -> Explanation:
    held = case.facts.held
    if held is None:
        return case.waits(_Work("the turn", case.facts.since), "plan")
    due = rfc3339(held.due_at)
    if held.due_at <= case.facts.at and 0 < held.window <= held.in_work:
        turns = "batch turns" if held.priority == "batch" else "turns"
        busy = f"{held.in_work} {turns} of the {held.by} are in work, of {held.window} allowed at the same time"
        message = f"{busy}; this one, due since {due}, starts when one of them ends and earlier due ones have started"
        return case.because("user_busy" if held.by == "user" else "tenant_busy", message)
    if held.due_at <= case.facts.at:
        return case.waits(_Work("the release of the turn", held.due_at), _RECOVERING)
    if held.settles_at is not None and held.settles_at >= held.due_at:
        message = f"the turn waits for further messages that belong to it until {due}"
        return case.because("burst_window", message, until=held.due_at)
    message = f"earlier messages of its sender are missing; the turn waits for them until {due}"
    return case.because("order_window", message, until=held.due_at)


def _postponed(case: _Case, what: str, postponed: Postponed) -> Explanation:
    message = f"{what} failed for now ({postponed.message}); it is tried again at {rfc3339(postponed.until)}"
    return case.because("retry_at", message, until=postponed.until)


def _planning(case: _Case) -> Explanation:
    if case.facts.postponed:
        return _postponed(case, "the planning", case.facts.postponed)
    work = _Work("the planning", case.facts.since, case.facts.lease_until)
    if work.lease_until is None:
        return case.waits(replace(work, what="the next plan"), "plan")
    return case.claimed(work, "planning", "planner_lost")


def _responding(case: _Case) -> Explanation:
    facts = case.facts
    if facts.postponed:
        return _postponed(case, "the making of the reply", facts.postponed)
    work = _Work("the making of the reply", facts.since, facts.lease_until)
    if facts.lease_until and facts.lease_until > facts.at + facts.lease:
        # Recovery gives the next responder more time each time; a responder that has come renews for less.
        return case.waits(work, "respond")
    return case.claimed(work, "responding", "responder_lost")


def _running(case: _Case) -> Explanation:
    step = min(case.facts.steps, key=lambda step: (_urgency(case, step), step.since))
    work = _Work(f"step {step.id!r} ({step.tool})", step.since, step.lease_until, step.id)
    since = rfc3339(step.since)
    if step.lapses_at is not None:
        message = f"{work.what} has waited for approval since {since}; it is rejected at {rfc3339(step.lapses_at)}"
        return case.because("approval", message, work, until=step.lapses_at)
    if step.not_before is not None:
        cause, happened = _parked(step)
        message = f"{work.what}, begun at {since}, {happened}; it is tried again at {rfc3339(step.not_before)}"
        return case.because(cause, message, work, until=step.not_before)
    if step.lease_until is None:
        return case.waits(work, step.queue)
    return case.claimed(replace(work, what=f"{work.what} on {step.worker}"), "step_running", "step_lost")


def _parked(step: OpenStep) -> tuple[Cause, str]:
    error = step.error or {}
    said = error.get("message", "")
    if error.get("code") == "RATE_LIMITED":
        return "rate_limit", f"reached a rate limit ({said})"
    if error.get("code") == "CIRCUIT_OPEN":
        return "circuit_open", f"waits to ask what became of its call ({said})"
    return "retry_at", f"waits to ask what became of its call ({said})" if step.unsure else "failed for now"


def _urgency(case: _Case, step: OpenStep) -> int:
    """Return the rank of a step that a turn waits for: the lowest is named."""
    if step.lapses_at is not None:
        return 3
    if step.not_before is not None:
        return 5
    if step.lease_until is None:
        return 2 if step.queue in case.facts.slots else 1
    return 4 if case.is_held(step.lease_until) else 0

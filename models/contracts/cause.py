"""Explain: name the one cause for which a turn is not further on than it is. Pure: facts in, an explanation out.

What comes first is named first: the end; an earlier turn of the conversation; what it is held for; then, of the
planner, the steps or the responder, whichever has the turn, what nobody holds before what somebody works on. Of the
steps that is: one whose worker is lost, one that no worker takes, one that waits for a worker, one that waits for a
person, the one that has run longest, and last one that waits for its time. What nobody holds goes on by a message, so
the broker and the workers of its queue are looked at there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from models.contracts.base import rfc3339
from models.contracts.explanation import Cause, Explanation
from models.contracts.turn import FINAL_TURN_STATUSES, TurnStatus

_RECOVERING = "maintenance"
"""The queue of the sweep, without which nothing is recovered."""


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
    """`{code, message}` of the failure for which it does."""
    unsure: bool = False
    """Its backend is still to be asked what became of its call."""


@dataclass(frozen=True)
class Held:
    """A queued turn that its conversation has come to and that is not handed to the planners yet."""

    due_at: datetime
    settles_at: datetime | None
    """Until when further messages of its burst are awaited."""
    handed_out: int
    """Turns of its tenant that are."""
    window: int
    """How many may be, at most; 0: any number."""


@dataclass(frozen=True)
class Postponed:
    """A turn that is planned or answered later, because its language model is out."""

    until: datetime
    message: str
    """Why, as far as is known."""


@dataclass(frozen=True)
class Facts:
    """A snapshot of the ledger about one turn, and about the workers that could take it."""

    at: datetime
    turn_id: UUID
    status: TurnStatus
    since: datetime
    """When it came to this status."""
    attempt: int
    lease_until: datetime | None
    lease: timedelta
    """How long a lease lasts that a living holder has renewed, at most."""
    earlier: tuple[UUID, TurnStatus] | None
    """The conversation's active turn, where this one waits for it."""
    held: Held | None
    """None: it is not held."""
    postponed: Postponed | None
    """None: it is not postponed."""
    steps: Sequence[OpenStep]
    """Of a turn that runs or waits for a person."""
    slots: Mapping[str, int]
    """Tasks that the living workers run at the same time, by queue."""
    at_work: int
    """Turns of its tenant that are planned or answered now: no more than it has slots for the language model."""

    @property
    def queues(self) -> set[str]:
        """The queues that the turn may wait on."""
        return {"plan", "respond", _RECOVERING, *(step.queue for step in self.steps)}


def explain(facts: Facts, messages: Mapping[str, int] | None) -> Explanation:
    """Return the cause; `messages` wait on the queues, None where the broker is out."""
    case = _Case(facts, messages)
    if facts.status in FINAL_TURN_STATUSES:
        return case.because("finished", f"the turn ended at {rfc3339(facts.since)}: {facts.status}")
    if facts.earlier is not None:
        active, status = facts.earlier
        message = f"turn {active} of the same conversation comes first, and is {status}; they run one at a time"
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
    """The piece of work that is under way or comes next."""

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
        """Explain what somebody has claimed: `held` while the lease lasts, then `lost`."""
        if self.is_held(work.lease_until):
            message = f"{work.what} has been under way since {rfc3339(work.since)}; a living worker renews the lease"
            return self.because(held, message, work, until=work.lease_until)
        work = replace(work, since=work.lease_until or work.since)
        if self.messages is None or _RECOVERING not in self.facts.slots:
            return self.waits(replace(work, what=f"the recovery of {work.what}"), _RECOVERING)
        message = f"{work.what} was lost: the lease ended at {rfc3339(work.since)}; recovery takes it back in seconds"
        return self.because(lost, message, work)

    def waits(self, work: _Work, queue: str) -> Explanation:
        """Explain what is to be taken from a queue, by way of the broker."""
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
    if held.due_at <= case.facts.at and 0 < held.window <= held.handed_out:
        busy = f"{held.handed_out} turns of the tenant are in work, of {held.window} that may be at the same time"
        message = f"{busy}; this one, due since {due}, goes on when one of them ends and those due before it have gone"
        return case.because("tenant_busy", message)
    if held.due_at <= case.facts.at:
        return case.waits(_Work("the release of the turn", held.due_at), _RECOVERING)
    if held.settles_at is not None and held.settles_at >= held.due_at:
        message = f"further messages that belong to it are awaited until {due}"
        return case.because("burst_window", message, until=held.due_at)
    message = f"messages that its sender wrote before it are missing, and are awaited until {due}"
    return case.because("order_window", message, until=held.due_at)


def _postponed(case: _Case, what: str, postponed: Postponed) -> Explanation:
    message = f"{what} failed in passing ({postponed.message}); it is tried again at {rfc3339(postponed.until)}"
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
        # Recovery gives the next responder longer to come each time; one that has come renews for less.
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
        return "rate_limit", f"came upon a limit ({said})"
    if error.get("code") == "CIRCUIT_OPEN":
        return "circuit_open", f"waits to ask what became of its call ({said})"
    return "retry_at", f"waits to ask what became of its call ({said})" if step.unsure else "failed in passing"


def _urgency(case: _Case, step: OpenStep) -> int:
    """Rank what a turn waits for: the lower, the sooner it is named."""
    if step.lapses_at is not None:
        return 3
    if step.not_before is not None:
        return 5
    if step.lease_until is None:
        return 2 if step.queue in case.facts.slots else 1
    return 4 if case.is_held(step.lease_until) else 0

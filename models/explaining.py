"""Explain: name the one cause for which a turn is not further on than it is. Pure: facts in, an explanation out.

What comes first is named first: the end; an earlier turn of the conversation; then, of the planner, the steps or the
responder, whichever has the turn, what nobody holds before what somebody works on. Of the steps that is: one whose
worker is lost, one that no worker takes, one that waits for a worker, and last the one that has run longest. What
nobody holds goes on by a message, so the broker and the workers of its queue are looked at there.
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
    """A step that runs, or that could because all steps that it needs have ended."""

    id: str
    tool: str
    queue: str
    since: datetime
    """When it was claimed; when it became ready, if nobody has claimed it."""
    worker: str | None
    lease_until: datetime | None
    """None: nobody has claimed it."""


@dataclass(frozen=True)
class Facts:
    """What the ledger knows at one moment of a turn, and of those who could work on it."""

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
    steps: Sequence[OpenStep]
    """Of a running turn."""
    slots: Mapping[str, int]
    """Tasks that the living workers run at the same time, by queue."""

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
        return case.waits(_Work("the turn", facts.since), "plan")
    if facts.status == "planning":
        return case.claimed(_Work("the planning", facts.since, facts.lease_until), "planning", "planner_lost")
    if facts.status == "responding":
        return _responding(case)
    return _running(case)


@dataclass(frozen=True)
class _Work:
    """What is done, or is to be done, next."""

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


def _responding(case: _Case) -> Explanation:
    facts = case.facts
    work = _Work("the making of the reply", facts.since, facts.lease_until)
    if facts.lease_until and facts.lease_until > facts.at + facts.lease:
        # Recovery gives the next responder longer to come each time; one that has come renews for less.
        return case.waits(work, "respond")
    return case.claimed(work, "responding", "responder_lost")


def _running(case: _Case) -> Explanation:
    def rank(step: OpenStep) -> tuple[bool, bool, bool, datetime]:
        claimed = step.lease_until is not None
        held = case.is_held(step.lease_until)
        return not claimed or held, claimed, claimed or step.queue in case.facts.slots, step.since

    step = min(case.facts.steps, key=rank)
    name = f"step {step.id!r} ({step.tool})"
    if step.lease_until is None:
        return case.waits(_Work(name, step.since, step=step.id), step.queue)
    work = _Work(f"{name} on {step.worker}", step.since, step.lease_until, step.id)
    return case.claimed(work, "step_running", "step_lost")

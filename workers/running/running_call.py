"""A running call of a tool, and the times at which it is claimed, recorded or given up."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from turnloom.models.ledger.steps import ClaimedStep, FinishedStep
from turnloom.workers.running.outcomes import given_up
from turnloom.workers.running.read_ahead import LedgerTime
from turnloom.workers.running.tool_metrics import count_given_up

UNCLAIMED_S = 0.25
"""How long a read may run without a claim."""
_QUICK_S, _GATHER_S = 0.02, 0.01
"""A read that ends within the first time waits the second for others, so that they are recorded together."""
GATHER_MOST_S = 0.04
"""How long the first of these waits at most, if one after another joins it."""


@dataclass
class RunningCall:
    """A running call. Its times are on the monotonic clock."""

    lane: list[str]
    step: ClaimedStep
    began_at: float
    give_up_at: float
    is_told: bool
    """Whether the ledger knows that it has begun."""
    ended_at: float = 0.0

    @property
    def claim_at(self) -> float:
        """When it must be claimed; infinite if it is."""
        return inf if self.step.attempt else self.began_at + UNCLAIMED_S

    def rest(self) -> list[str]:
        """Return the steps of its lane after it."""
        return self.lane[self.lane.index(self.step.id) + 1 :]

    def gathers_until(self, ended_at: float) -> float:
        """Return until when others may join it: if a read ended at once they often do, and one commit is enough."""
        is_quick = self.step.effect == "read" and ended_at - self.began_at < _QUICK_S
        return ended_at + _GATHER_S if is_quick else ended_at

    @property
    def is_quick_until(self) -> float:
        """Until when it may end so soon that another one waits for it."""
        return self.began_at + _QUICK_S + _GATHER_S

    def timed(self, outcome: FinishedStep, clock: LedgerTime) -> FinishedStep:
        """Return an outcome with the ledger's times of the end, and of a begin that it does not know."""
        began_at = None if self.is_told else clock.of(self.began_at)
        return replace(outcome, attempt=self.step.attempt, began_at=began_at, ended_at=clock.of(self.ended_at))

    def give_up(self) -> FinishedStep:
        """Count a call that has overrun its time, and return its outcome."""
        outcome = given_up(self.step)
        count_given_up(self.step.tool, outcome, self.step.timeout_ms / 1000)
        return outcome


def may_join_until(calls: Iterable[RunningCall]) -> float:
    """Return until when one of these calls may end at once; a past time if all last longer, or there is none."""
    return max((call.is_quick_until for call in calls), default=-inf)

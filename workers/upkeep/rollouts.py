"""Take rollouts back whose new text does worse than the old one.

Turns are compared that were received while the rollout ran, so that whatever else happens meets both texts alike. A
rate of the new text counts as worse if it is above the old one's by more than the rollout bears, and chance does not
explain it.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from turnloom.models.connections.database import snapshot, transaction
from turnloom.models.contracts.quality import QualityLine
from turnloom.models.contracts.rollout import Sides
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import quality, rollouts
from turnloom.models.ledger.quality import TurnSpan
from turnloom.models.ledger.rollouts import RolloutEnd
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.logging import log
from turnloom.models.tables.rollouts import RolloutRow
from turnloom.workers.broker.app import app
from turnloom.workers.evals.proportions import chance_of_more

_CHANCE = 0.001
"""A difference that chance alone makes this rarely is none of chance. It is small, because a rollout is looked at again
and again."""
_LOOKS_BACK = timedelta(days=1)
"""Turns that are older no longer count, so that a look at a long rollout stays cheap."""


class _Rate(NamedTuple):
    hits: int
    trials: int

    @property
    def share(self) -> float:
        return self.hits / self.trials if self.trials else 0.0


@app.task(name="check_rollouts", send_events=False)
def check_rollouts() -> None:
    """Look at each running rollout, and take it back if its text does worse."""
    with snapshot() as db:
        found = rollouts.all_running(db)
    for row in found:
        try:
            _check(row)
        except Unavailable as error:  # the next rollout may be quicker to look at
            log.warning("rollout.unchecked", rollout_id=str(row.id), reason=str(error))


def _check(row: RolloutRow) -> None:
    now = datetime.now(UTC)
    span = TurnSpan(max(row.created_at, now - _LOOKS_BACK), now + timedelta(minutes=1))
    with snapshot(row.tenant_id) as db:
        sides = quality.sides(db, row.tenant_id, rollouts.as_running(row), span)
    reason = why_worse(sides, row.max_worse, row.min_turns)
    if reason is None:
        return
    with transaction(row.tenant_id) as db:
        is_mine = rollouts.end(db, row.tenant_id, row.id, RolloutEnd("taken_back", "turnloom", reason))
    if is_mine:
        log.warning("rollout.taken_back", rollout_id=str(row.id), name=row.name, reason=reason)
        counts().add("turnloom_rollouts_taken_back_total")


def why_worse(sides: Sides, max_worse: float, min_turns: int) -> str | None:
    """Return in which rate the new text is worse, in words; None if it is not, or if nobody can tell yet."""
    if sides.new is None or sides.old is None or sides.new.turns < min_turns:
        return None
    rates = {"failed turns": _failed, "ungrounded replies": _ungrounded}
    for name, rate in rates.items():
        new, old = rate(sides.new), rate(sides.old)
        if new.share - old.share > max_worse and chance_of_more(*new, *old) < _CHANCE:
            return f"{name}: {new.hits} of {new.trials} with the new text, {old.hits} of {old.trials} with the old one"
    return None


def _failed(line: QualityLine) -> _Rate:
    return _Rate(line.failed, line.turns)


def _ungrounded(line: QualityLine) -> _Rate:
    return _Rate(line.checked - line.grounded, line.checked)

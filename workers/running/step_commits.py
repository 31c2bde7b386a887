"""Steps are looked at, claimed and recorded here. Looks and records share commits with this process's other threads."""

import os
from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.connections.group_commit import GroupCommit
from turnloom.models.ledger import step_batches, steps
from turnloom.models.ledger.step_batches import AdvanceRequest, LookRequest
from turnloom.models.ledger.steps import Advance, Holder, StepClaim
from turnloom.workers.turns.turn_events import committing


def look(asked: LookRequest) -> StepClaim | None:
    """Look at the lanes of a message; None: they must be claimed.

    Raises:
        Unavailable: Postgres does not answer.
    """
    return _looks().commit(asked)


def claim(turn_id: UUID, lanes: Sequence[Sequence[str]], generation: int, holder: Holder) -> StepClaim:
    """Claim the next steps of lanes, in their own commit, and announce it.

    Raises:
        Unavailable: Postgres does not answer, and the steps may have been claimed.
    """
    with committing(turn_id) as committed, statement() as db:
        return committed(steps.claim(db, turn_id, lanes, generation, holder))


def advance(asked: AdvanceRequest) -> Advance:
    """Record finished steps, and claim ready ones.

    Raises:
        Unavailable: Postgres does not answer, and the steps may have been recorded.
    """
    advanced = _records().commit(asked)
    if advanced is not None:
        return advanced
    with statement() as db:
        return steps.advance(db, *asked)


@lru_cache
def _looks() -> GroupCommit[LookRequest, StepClaim]:
    return GroupCommit("look", step_batches.look_all)


@lru_cache
def _records() -> GroupCommit[AdvanceRequest, Advance]:
    return GroupCommit("record", step_batches.advance_all)


os.register_at_fork(after_in_child=_looks.cache_clear)
os.register_at_fork(after_in_child=_records.cache_clear)

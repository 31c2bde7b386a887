"""Postponement gives back a turn whose language model fails for now, to be tried again while its deadline allows.

Meanwhile it holds no planner's slot. The results of its steps stay.
"""

from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import recovery
from turnloom.models.runtime.logging import log
from turnloom.workers.turns.turn_events import committing

PAUSES_MS = (2_000, 5_000, 15_000, 30_000)
"""Pauses before the second attempt, the third and so on; the last one repeats."""


def postpone(turn_id: UUID, attempt: int, error: Unavailable) -> bool:
    """Postpone a turn under this fence until the language model may answer again.

    False: the failure will not pass, the turn's deadline comes first, or the fence is old.
    """
    if not error.passes:
        return False
    least_ms = round((error.retry_after_s or 0) * 1000)
    reason = {"code": error.code, "message": str(error)}
    pauses_ms = [max(pause, least_ms) for pause in PAUSES_MS]
    with committing(turn_id) as committed, statement() as db:
        events = committed(recovery.postpone(db, turn_id, attempt, pauses_ms, reason))
    if events is None:
        return False
    log.info("turn.postponed", turn_id=str(turn_id), error=error.code)
    return True

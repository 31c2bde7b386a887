"""Recover: find what nobody holds.

Today that is one thing: a turn that is recorded and that no planner has taken. Its row is the outbox; what the broker
lost, or never got, is sent again.
"""

from datetime import timedelta

from models.database import transaction
from models.ledger import turns
from models.logging import log
from models.settings import settings
from workers.app import app
from workers.dispatch import dispatch_turn

_BATCH = 500


@app.task(name="sweep")
def sweep() -> None:
    """Dispatch the turns that have waited for a planner longer than the grace, which doubles each time."""
    with transaction() as db:
        unsent = turns.take_unsent(db, timedelta(seconds=settings().sweep_grace_s), _BATCH)
    for turn_id in unsent:
        dispatch_turn(turn_id)
    if unsent:
        log.info("turns.redispatched", count=len(unsent))

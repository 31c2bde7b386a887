"""Keep how each tenant's turns went, day by day, for the trend.

Days are computed anew while they may still change: a turn may end, and its user may rate it, on a later day. A task
that did not run, because beat or the database was down, is made up by the next one.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from turnloom.models.connections.database import snapshot, transaction
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import quality
from turnloom.models.runtime.logging import log
from turnloom.workers.broker.app import app

_OPEN_DAYS = 3
"""Today and the days before it that are computed again."""
_MOST_DAYS = 31
"""Days that are made up, at most."""


@app.task(name="keep_quality", send_events=False)
def keep_quality() -> None:
    """Keep the last days of all tenants. Each day of a tenant is a commit of its own."""
    for day in days_due(datetime.now(UTC).date()):
        with snapshot() as db:
            tenants = quality.tenants_of(db, day)
        kept = sum(_keep(tenant_id, day) for tenant_id in tenants)
        log.info("quality.kept", day=day.isoformat(), tenants=kept)


def _keep(tenant_id: UUID, day: date) -> bool:
    """Keep a tenant's day. False: it took Postgres too long, which must not keep others from theirs."""
    try:
        with transaction(tenant_id) as db:
            quality.keep_day(db, tenant_id, day)
    except Unavailable as error:
        log.warning("quality.not_kept", tenant_id=str(tenant_id), day=day.isoformat(), reason=str(error))
        return False
    return True


def days_due(today: date) -> Iterator[date]:
    """Yield the days to compute, the oldest first: those that are open, and those since the last one that was kept."""
    with snapshot() as db:
        last = quality.last_day(db)
    first = today - timedelta(days=_OPEN_DAYS - 1)
    if last is not None:
        first = min(first, max(last, today - timedelta(days=_MOST_DAYS - 1)))
    for after in range((today - first).days + 1):
        yield first + timedelta(days=after)

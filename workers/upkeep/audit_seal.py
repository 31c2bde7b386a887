"""The audit seal signs the state of the audit log's chains, and logs each head, so that logs keep it too."""

from functools import lru_cache

from turnloom.models.connections.database import transaction
from turnloom.models.ledger.audit_heads import seal
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.app import app


@app.task(name="seal_audit", send_events=False)
def seal_audit() -> None:
    """Sign the chains that have new records."""
    key = settings().audit_key
    if key is None:
        _miss_key()
        return
    with transaction() as db:
        heads = seal(db, key.encode())
    for head in heads:
        log.info("audit.sealed", **head.shown())


@lru_cache
def _miss_key() -> None:
    """Log once per process that nothing is sealed."""
    log.warning("audit.unsealed", missing="TURNLOOM_AUDIT_KEY")

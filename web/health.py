"""Health: whether this process is alive, and whether a turn can be taken and worked on."""

from apiflask import APIBlueprint
from flask import Response

from models import migration
from models.contracts.listing import Health
from models.database import transaction
from models.errors import Unavailable
from models.ledger import readiness
from models.settings import settings
from web.bodies import json_response
from workers.dispatch import unserved_queues

_migrated: set[str] = set()
"""Databases that this process has found up to date, by URL: they do not go back while it runs."""

blueprint = APIBlueprint("health", __name__, tag="Health")


@blueprint.get("/healthz")
@blueprint.output(Health)
@blueprint.doc(operation_id="healthz")
def healthz() -> Response:
    """Tell that this process answers."""
    return json_response(Health(status="ok"))


@blueprint.get("/readyz")
@blueprint.output(Health)
@blueprint.doc(operation_id="readyz")
def readyz() -> Response:
    """Tell that a turn can be accepted and workers are there to plan, run and answer it; 503 names what is missing."""
    with transaction() as db:
        lacking = readiness.lacking(db)
    lacking = lacking or _pending(settings().database_url)
    if not lacking and (queues := unserved_queues()):
        lacking = f"no living worker takes from {', '.join(queues)}; start one"
    if lacking:
        raise Unavailable(lacking, code="not_ready")
    return json_response(Health(status="ready"))


def _pending(url: str) -> str | None:
    if url in _migrated:
        return None
    lacking = migration.pending(url)
    if lacking is None:
        _migrated.add(url)
    return lacking

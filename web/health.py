"""Report whether this process answers, whether it can accept turns, and whether workers are there to work on them."""

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.listing import Health
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import readiness
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import revisions
from turnloom.tools.pack_index import branches
from turnloom.web.json_body import json_response
from turnloom.workers.upkeep.living_processes import living_processes

_migrated: set[str] = set()
"""URLs of the databases that this process has found up to date. They do not go back while it runs."""

blueprint = APIBlueprint("health", __name__, tag="Health")


class HealthQuery(Contract):
    """The extent of the check."""

    deep: bool = False
    """Whether to check the workers and beat, too."""


@blueprint.get("/healthz")
@blueprint.input(HealthQuery, location="query")
@blueprint.output(Health)
@blueprint.doc(operation_id="healthz")
def healthz(query_data: HealthQuery) -> Response:
    """Show that this process answers.

    With `deep=1`, also check that turns can be accepted, and that beat and workers for every queue are alive; 503 names
    what is missing. That is for people and alerts, not for a probe that restarts or hides this process.
    """
    if query_data.deep and (missing := _why_not_ready() or living_processes().lacking):
        raise Unavailable(f"turns would not be worked on: {missing}", code="not_healthy")
    return json_response(Health(status="ok"))


@blueprint.get("/readyz")
@blueprint.output(Health)
@blueprint.doc(operation_id="readyz")
def readyz() -> Response:
    """Show that turns can be accepted; 503 names what is missing. An accepted turn waits for workers and Redis."""
    if missing := _why_not_ready():
        raise Unavailable(f"no turn can be accepted: {missing}", code="not_ready")
    return json_response(Health(status="ready"))


def _why_not_ready() -> str | None:
    """Return a sentence that names what keeps turns from being accepted; None if nothing does."""
    with transaction() as db:
        missing = readiness.lacking(db)
    return missing or _pending(settings().database_url)


def _pending(url: str) -> str | None:
    if url in _migrated:
        return None
    missing = revisions.pending(url, branches(settings().packs))
    if missing is None:
        _migrated.add(url)
    return missing

"""The limits of tenants, as this process knows them: what it has looked up is believed for a few seconds."""

from typing import cast
from uuid import UUID

from flask import current_app

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.limits import Limits
from turnloom.models.ledger import limits
from turnloom.models.runtime.ttl_cache import TtlCache
from turnloom.web import request_gate

_FRESH_S, _KEPT_S = 2.0, 4.0
_REMEMBERED = 10_000
_EXTENSION = "turnloom.limits"


def install(extensions: dict[str, object]) -> None:
    """Give an application its cache of limits."""
    extensions[_EXTENSION] = TtlCache(_look, fresh_s=_FRESH_S, kept_s=_KEPT_S, at_most=_REMEMBERED)


def limits_of(tenant_id: UUID) -> Limits:
    """Return the limits of a tenant, at most four seconds old.

    Raises:
        Unavailable: Postgres does not answer.
    """
    known = cast("TtlCache[UUID, Limits]", current_app.extensions[_EXTENSION])
    found = known.get(tenant_id)
    assert found is not None
    return found


def _look(tenant_id: UUID, _: Limits | None) -> Limits:
    with request_gate.lookups().passed(), transaction(tenant_id) as db:
        return limits.of(db, tenant_id)

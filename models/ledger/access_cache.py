"""The access cache holds users' scopes and accounts for two seconds, for planning and for calls that only read.

A plan and its steps, which begin side by side, so read them once. Threads that ask for different users read side by
side; those that ask for the same user share one look. What a user has just allowed or connected counts at once: only
access that suffices is taken from the cache. Calls with an effect do not use it.
"""

from collections.abc import Set as AbstractSet
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.ledger.integrations import UserAccess, access_of
from turnloom.models.runtime.ttl_cache import TtlCache

_FRESH_S, _KEPT_S = 2.0, 4.0
_REMEMBERED = 10_000
"""Most users that a process caches."""


def recent_access_of(tenant_id: UUID, user_id: str, scopes: AbstractSet[str]) -> UserAccess:
    """Return what a user allows tools to do, at most a few seconds old if it includes these scopes.

    Raises:
        Unavailable: Postgres does not answer.
    """
    key = tenant_id, user_id
    found = _known.get(key)
    assert found is not None
    suffices = scopes <= found.scopes and all(account.status == "active" for account in found.accounts.values())
    return found if suffices else _look(key, None)


def _look(key: tuple[UUID, str], _: UserAccess | None) -> UserAccess:
    with transaction(key[0]) as db:
        return access_of(db, *key)


_known: TtlCache[tuple[UUID, str], UserAccess] = TtlCache(_look, fresh_s=_FRESH_S, kept_s=_KEPT_S, at_most=_REMEMBERED)

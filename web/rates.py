"""Refuse messages above the rate of their user, key, account or tenant.

Each rate is a token bucket in Redis, which all web processes share. While Redis is out, the ledger says how many turns
a user and a tenant have opened lately. It knows neither keys nor accounts.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.connections.redis import run_script
from turnloom.models.contracts.rate import Rate, times_and_window_s
from turnloom.models.errors import RateLimited, Unavailable
from turnloom.models.ledger import arrivals
from turnloom.models.runtime.settings import settings
from turnloom.web import request_gate
from turnloom.web.auth import caller


@dataclass(frozen=True)
class _Bound:
    """A rate, whose it is, and under which name it is counted."""

    rate: Rate
    whose: str
    name: str
    person: str | None = None
    is_in_ledger: bool = False


def demand_rate(user_id: str | None) -> None:
    """Count a message of the caller's. The development key has no rate.

    Raises:
        RateLimited: it is above a rate, and was not counted.
    """
    if caller().is_development:
        return
    bounds = [*_bounds(caller().tenant_id, user_id, key=str(caller().key_id))]
    wait_s = _wait_s(caller().tenant_id, bounds)
    if wait_s > 0:
        rates = ", ".join(f"{bound.rate.replace('/', ' a ')} {bound.whose}" for bound in bounds)
        raise RateLimited(f"too many messages for now; accepted are {rates}", retry_after_s=wait_s)


def is_within_rate(tenant_id: UUID, account: str, sender: str) -> bool:
    """Count a message of a channel. False: it is above a rate, and was not counted."""
    return _wait_s(tenant_id, [*_bounds(tenant_id, sender, account=account)]) <= 0


def _bounds(tenant_id: UUID, person: str | None, *, key: str = "", account: str = "") -> Iterator[_Bound]:
    rates = settings()
    if rates.user_rate:
        # Ids of users may be phone numbers: Redis need not know them.
        digest = hashlib.sha256((person or "").encode()).hexdigest()[:32]
        yield _Bound(rates.user_rate, "of a user", f"{tenant_id}:user:{digest}", person or "", is_in_ledger=True)
    if key and rates.key_rate:
        yield _Bound(rates.key_rate, "with a key", f"{tenant_id}:key:{key}")
    if account and rates.account_rate:
        yield _Bound(rates.account_rate, "of an account", f"{tenant_id}:account:{account}")
    if rates.tenant_rate:
        yield _Bound(rates.tenant_rate, "of a tenant", f"{tenant_id}:tenant", is_in_ledger=True)


def _wait_s(tenant_id: UUID, bounds: list[_Bound]) -> float:
    """Return how long a message has to wait; 0: it was counted in each rate."""
    if not bounds:
        return 0
    names = [f"turnloom:messages:{bound.name}" for bound in bounds]
    rates = [number for bound in bounds for number in _bucket(bound.rate)]
    try:
        return int(run_script("pace", names, rates)) / 1_000
    except Unavailable:
        return max(_wait_by_ledger_s(tenant_id, bound) if bound.is_in_ledger else 0 for bound in bounds)


def _bucket(rate: Rate) -> tuple[float, int]:
    times, window_s = times_and_window_s(rate)
    return window_s * 1_000 / times, times


def _wait_by_ledger_s(tenant_id: UUID, bound: _Bound) -> float:
    times, window_s = times_and_window_s(bound.rate)
    with request_gate.lookups().passed(), transaction(tenant_id) as db:
        lately = arrivals.count(db, tenant_id, bound.person, window_s, times)
    return window_s / times if lately >= times else 0

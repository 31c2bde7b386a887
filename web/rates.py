"""Refuse messages above the rate of their user, key, account or tenant.

Each rate is a token bucket in Redis, which all web processes share. A process remembers which buckets it has found
empty, for a second at most: a flood of messages costs no question to Redis for each. While Redis is out, the ledger
says how many turns a user and a tenant have opened lately. It knows neither keys nor accounts.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast
from uuid import UUID

from flask import current_app

from turnloom.models.connections.database import transaction
from turnloom.models.connections.redis import run_script
from turnloom.models.contracts.rate import Rate, times_and_window_s
from turnloom.models.errors import RateLimited, Unavailable
from turnloom.models.ledger import arrivals
from turnloom.web import request_gate
from turnloom.web.auth import caller
from turnloom.web.limits import limits_of

_BELIEVED_S = 1.0
_REMEMBERED = 10_000
_EXTENSION = "turnloom.rates"


@dataclass(frozen=True, slots=True)
class _Bound:
    """A rate, what the tenant's limits call it, whose it is, and under which name it is counted."""

    rate: Rate
    limit: str
    whose: str
    name: str
    person: str | None = None
    is_in_ledger: bool = False


class EmptyBuckets:
    """The buckets that were found empty a moment ago: when each has its next token, and until when that is believed."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, Rate], tuple[float, float]] = OrderedDict()

    def note(self, bound: _Bound, wait_s: float) -> None:
        """Remember that a bucket is empty for this many seconds."""
        now = time.monotonic()
        self._known[bound.name, bound.rate] = now + wait_s, now + min(wait_s, _BELIEVED_S)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def wait_s(self, bound: _Bound) -> float:
        """Return how long a bucket is still empty; 0 if Redis must be asked, as after a change of the rate."""
        next_token_at, believed_until = self._known.get((bound.name, bound.rate), (0.0, 0.0))
        now = time.monotonic()
        return next_token_at - now if now < believed_until else 0.0


def install(extensions: dict[str, object]) -> None:
    """Give an application its memory of empty buckets."""
    extensions[_EXTENSION] = EmptyBuckets()


def demand_rate(user_id: str | None) -> None:
    """Count a message of the caller's. The development key has no rate.

    Raises:
        RateLimited: it is above a rate, which the error names, and was not counted.
    """
    if caller().is_development:
        return
    bounds = [*_bounds(caller().tenant_id, user_id, key=str(caller().key_id))]
    if wait := _wait(caller().tenant_id, bounds):
        allowed = f"{wait.bound.rate.replace('/', ' per ')} {wait.bound.whose}"
        message = f"too many messages for now: the limit {wait.bound.limit} allows {allowed}"
        raise RateLimited(message, retry_after_s=wait.seconds)


def is_within_rate(tenant_id: UUID, account: str, sender: str) -> bool:
    """Count a message of a channel. False: it is above a rate, and was not counted."""
    return _wait(tenant_id, [*_bounds(tenant_id, sender, account=account)]) is None


def _bounds(tenant_id: UUID, person: str | None, *, key: str = "", account: str = "") -> Iterator[_Bound]:
    rates = limits_of(tenant_id)
    if rates.user_rate:
        # Ids of users may be phone numbers: Redis need not know them.
        digest = hashlib.sha256((person or "").encode()).hexdigest()[:32]
        counted_as = f"{tenant_id}:user:{digest}"
        yield _Bound(rates.user_rate, "user_rate", "of a user", counted_as, person or "", is_in_ledger=True)
    if key and rates.key_rate:
        yield _Bound(rates.key_rate, "key_rate", "with a key", f"{tenant_id}:key:{key}")
    if account and rates.account_rate:
        yield _Bound(rates.account_rate, "account_rate", "of an account", f"{tenant_id}:account:{account}")
    if rates.rate:
        yield _Bound(rates.rate, "rate", "of a tenant", f"{tenant_id}:tenant", is_in_ledger=True)


class _Wait(NamedTuple):
    """The wait of a message, and the rate that asks for it."""

    seconds: float
    bound: _Bound


def _wait(tenant_id: UUID, bounds: list[_Bound]) -> _Wait | None:
    """Return how long a message has to wait; None: it was counted in each rate."""
    if not bounds:
        return None
    empty = cast("EmptyBuckets", current_app.extensions[_EXTENSION])
    if known := _longest(_Wait(empty.wait_s(bound), bound) for bound in bounds):
        return known
    names = [f"turnloom:messages:{bound.name}" for bound in bounds]
    rates = [number for bound in bounds for number in _bucket(bound.rate)]
    try:
        wait_ms, place = run_script("pace", names, rates)
    except Unavailable:
        return _longest(_Wait(_wait_by_ledger_s(tenant_id, bound), bound) for bound in bounds if bound.is_in_ledger)
    if wait_ms <= 0:
        return None
    wait = _Wait(wait_ms / 1_000, bounds[place - 1])
    empty.note(wait.bound, wait.seconds)
    return wait


def _longest(waits: Iterable[_Wait]) -> _Wait | None:
    return max((wait for wait in waits if wait.seconds > 0), key=lambda wait: wait.seconds, default=None)


def _bucket(rate: Rate) -> tuple[float, int]:
    times, window_s = times_and_window_s(rate)
    return window_s * 1_000 / times, times


def _wait_by_ledger_s(tenant_id: UUID, bound: _Bound) -> float:
    times, window_s = times_and_window_s(bound.rate)
    with request_gate.lookups().passed(), transaction(tenant_id) as db:
        lately = arrivals.count(db, tenant_id, bound.person, window_s, times)
    return window_s / times if lately >= times else 0

"""Call back: post the document of each final turn to the address that its caller gave.

In: the callbacks that are due in the ledger.  Out: signed requests, and what became of them.
The ledger is the queue. A message on `deliver` only wakes a worker, which takes what is due until nothing is. A process
posts to few receivers at the same time, and to each over few connections, because a slow one holds a thread.
"""

import base64
import hmac
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from turnloom.models.connections.database import statement, transaction
from turnloom.models.errors import PolicyDenied, ToolFailed, TurnloomError
from turnloom.models.ledger import callback_secrets, callbacks, turn_snapshots
from turnloom.models.ledger.callback_secrets import PREFIX
from turnloom.models.ledger.callbacks import CallbackOutcome, ClaimedCallback
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse, exchange, retry_after_s
from turnloom.workers.broker.app import app
from turnloom.workers.dispatch import send
from turnloom.workers.turns.process_parts import tailored
from turnloom.workers.turns.turn_view import turn_view

LIMIT_S = 10.0
"""How long a receiver may take to answer."""
_LEASE_MS = 20_000
_AT_ONCE = 4
"""Requests of one process at the same time: its other threads plan and answer turns."""
_AT_ONE_RECEIVER = 2
_TURN_S = 5.0
"""How long a task goes on with callbacks; then it leaves its thread to other work, and wakes another one."""
_FIRST_GAP_S = 5.0
_LONGEST_GAP_S = 4 * 3600.0
_GONE = 410

_free = threading.BoundedSemaphore(_AT_ONCE)
_counting = threading.Lock()
_posting: Counter[str] = Counter()
"""How many requests to each receiver are under way, or about to be."""


@app.task(name="call_back")
def call_back(turn_id: str) -> None:
    """Send callbacks that are due: this turn's, or others'."""
    if not _free.acquire(blocking=False):
        return  # those that are at work take this one, too
    until = time.monotonic() + _TURN_S
    try:
        while (claimed := _claim()) is not None:
            _send(claimed)
            if time.monotonic() >= until:
                send("call_back", UUID(turn_id), queue="deliver")
                return
    finally:
        _free.release()


def sign(secret: str, callback_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a callback as Standard Webhooks defines it."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.digest(key, f"{callback_id}.{timestamp}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


def gap_s(failures: int, asked_s: float | None = None) -> float:
    """Return the pause after so many failed attempts, about three times the one before. `asked_s`: Retry-After."""
    gap = min(_FIRST_GAP_S * 3.0 ** min(failures, 12), _LONGEST_GAP_S)
    # Receivers that failed together are not to be called together again.
    return max(gap * random.uniform(0.8, 1.2), min(asked_s or 0.0, _LONGEST_GAP_S))  # noqa: S311 - no secret


def _claim() -> ClaimedCallback | None:
    # Threads claim one after the other: each has to know which receivers the others have chosen.
    with _counting:
        busy = [receiver for receiver, requests in _posting.items() if requests >= _AT_ONE_RECEIVER]
        with statement() as db:
            claimed = callbacks.claim(db, busy, _LEASE_MS)
        if claimed is not None:
            _posting[claimed.receiver] += 1
    return claimed


def _leave(receiver: str) -> None:
    with _counting:
        _posting[receiver] -= 1
        if not _posting[receiver]:
            del _posting[receiver]


def _send(claimed: ClaimedCallback) -> None:
    reach("callback.claimed")
    try:
        outcome = _attempt(claimed)
    finally:
        _leave(claimed.receiver)
    reach("callback.answered")
    with statement() as db:
        status = callbacks.record(db, claimed.turn_id, claimed.attempt, outcome)
    _tell(claimed, outcome, status)


def _attempt(claimed: ClaimedCallback) -> CallbackOutcome:
    try:
        answer = _post(claimed, _document(claimed))
    except PolicyDenied as error:
        return _failed("failed", "url_not_allowed", str(error))
    except TimeoutError as error:
        return _again(claimed, "timeout", str(error))
    except TurnloomError as error:
        return _again(claimed, error.code.lower(), str(error))
    except Exception as error:  # noqa: BLE001 - one callback that breaks us must not keep the others from being sent
        log.exception("callback.broken", turn_id=str(claimed.turn_id))
        return _again(claimed, "internal_error", type(error).__name__)
    return _judged(claimed, answer)


def _document(claimed: ClaimedCallback) -> bytes:
    with statement() as db:
        found = turn_snapshots.read(db, [claimed.turn_id]).get(claimed.turn_id)
    if found is None:
        raise ToolFailed("the turn is gone", code="NOT_FOUND")
    return turn_view(found, tailored(claimed.tenant_id).agents).model_dump_json().encode()


def _post(claimed: ClaimedCallback, body: bytes) -> UpstreamResponse:
    with transaction() as db:
        callback_secrets.ensure(db, claimed.tenant_id)
        signing = callback_secrets.signing(db, claimed.tenant_id)
    request = UpstreamRequest(
        url=claimed.url,
        method="POST",
        headers=_headers(claimed, body, signing),
        content=body,
        max_bytes=0,  # nothing in it concerns us
        is_named_by_others=True,
    )
    return exchange(request, time.monotonic() + LIMIT_S)


def _headers(claimed: ClaimedCallback, body: bytes, signing: Sequence[str]) -> dict[str, str]:
    callback_id = str(claimed.turn_id)
    return {
        "content-type": "application/json",
        "webhook-id": callback_id,
        "webhook-timestamp": str(claimed.now),
        "webhook-signature": " ".join(sign(secret, callback_id, claimed.now, body) for secret in signing),
    }


def _judged(claimed: ClaimedCallback, answer: UpstreamResponse) -> CallbackOutcome:
    if 200 <= answer.status < 300:
        return CallbackOutcome("delivered", answer.status)
    if answer.status == _GONE:
        return _failed("failed", "gone", "the receiver wants no more callbacks here (HTTP 410)", answer=_GONE)
    if 300 <= answer.status < 400:
        said = f"the receiver redirects (HTTP {answer.status}), which is not followed; give its final address"
        return _again(claimed, "redirected", said, answer)
    return _again(claimed, "refused", f"the receiver answered with HTTP {answer.status}", answer)


def _again(claimed: ClaimedCallback, code: str, said: str, answer: UpstreamResponse | None = None) -> CallbackOutcome:
    wait_s = gap_s(claimed.failures, None if answer is None else retry_after_s(answer))
    return _failed("pending", code, said, answer=answer.status if answer else None, wait_ms=round(wait_s * 1000))


def _failed(status: Literal["pending", "failed"], code: str, said: str, **fields: Any) -> CallbackOutcome:
    return CallbackOutcome(status, error={"code": code, "message": said}, **fields)


def _tell(claimed: ClaimedCallback, outcome: CallbackOutcome, status: str | None) -> None:
    ids = {"turn_id": str(claimed.turn_id), "attempt": claimed.attempt}
    if status is None:
        log.warning("callback.fenced", **ids)
        return
    ended = "retried" if status == "pending" else status
    counts().add("turnloom_callbacks_total", ended)
    error = (outcome.error or {}).get("code")
    log.info(f"callback.{ended}", **ids, answer=outcome.answer, error=error)

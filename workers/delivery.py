"""Delivery sends the replies of channels' turns: one part after another to each recipient.

The ledger is the outbox. A task looks for the next part of a turn's recipient, renders the reply if that is still to be
done, waits for its pace, claims the part, sends it and records the outcome; then it looks again. What may have been
sent is asked about before it is sent again, or ends `unknown`. A thread of each worker that takes `deliver` finds what
nobody has sent in time: lost messages, dead workers, and parts whose time has come.
"""

import time
from functools import lru_cache
from typing import Any
from uuid import UUID

from celery.signals import worker_ready, worker_shutdown

from turnloom.models.connections.database import statement
from turnloom.models.errors import TurnloomError, Unavailable
from turnloom.models.ledger import deliveries
from turnloom.models.ledger.deliveries import DeliveryOutcome, NextDelivery
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log
from turnloom.workers.broker.app import app
from turnloom.workers.channels import pace, rendering, send_attempt
from turnloom.workers.channels.accounts import OpenAccount, OpenAccounts
from turnloom.workers.dispatch import dispatch_deliveries

INTERVAL_S = 0.25
"""The pause between two looks for parts that are due."""
_BATCH = 200
_LEASE_MS = round(2 * send_attempt.CALL_S + 4) * 1_000
"""A claim covers the question whether a part was sent, the call that sends it, and the record."""
_PATIENCE_MS = 250
"""A part that has to wait longer for its pace is left for later, so that it takes no slot."""


@app.task(name="deliver")
def deliver(turn_id: str) -> None:
    """Send what is next for the recipient of a turn, until nothing is left that may be sent now."""
    while _deliver_next(UUID(turn_id)):
        pass


def release() -> None:
    """Have the parts sent that nobody has sent in time."""
    with statement() as db:
        due = deliveries.take_due(db, _BATCH)
    dispatch_deliveries(due)


def _deliver_next(turn_id: UUID) -> bool:
    """Take the next part a step further; False if there is none, or it has to wait."""
    with statement() as db:
        found = deliveries.next_of(db, turn_id)
    if found is None:
        return False
    account = _account(found)
    if isinstance(account, DeliveryOutcome):
        return _end(found, account)
    if found.is_request and (why_not := _unasked(found, account)):
        return _end(found, why_not)
    if found.body is None:
        return _render(found, account)
    return _has_pace(found, account) and _send(found, account)


def _account(found: NextDelivery) -> OpenAccount | DeliveryOutcome:
    """Return the account of a part, or what comes of it without one."""
    channel, _, name = found.channel.partition(":")
    try:
        account = _accounts().find(channel, name)
    except Unavailable:
        raise
    except TurnloomError as error:
        log.error("channel.unusable", channel=channel, error=error.code)
        return send_attempt.postponed(found, "account_unusable", "the account cannot be used; see `turnloom doctor`")
    if account is None or account.tenant_id != found.tenant_id:
        return send_attempt.failed("account_missing", "the channel's account was removed")
    return account


def _unasked(found: NextDelivery, account: OpenAccount) -> DeliveryOutcome | None:
    """Return what comes of a request that its person is not to see; None if they are."""
    if account.account.config.approvers == "keys":
        return send_attempt.withheld("approvers", "only keys approve calls of this account")
    if found.request is None:
        return send_attempt.withheld("moot", "what it asks is no longer to be decided")
    return None


def _render(found: NextDelivery, account: OpenAccount) -> bool:
    if found.reply is None and found.says is None:
        return _end(found, send_attempt.failed("erased", "the reply was erased"))
    try:
        parts, offers = rendering.rendered(found, account)
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, the recipient's other replies must not wait for ever
        log.exception("delivery.not_rendered", turn_id=str(found.turn_id))
        return _end(found, send_attempt.failed("internal_error", "the reply could not be rendered; see the log"))
    with statement() as db:
        deliveries.store_parts(db, found.turn_id, found.part, parts, offers)
    reach("delivery.rendered")
    return True


def _has_pace(found: NextDelivery, account: OpenAccount) -> bool:
    """Wait a moment for the part's pace; False if it takes longer, and the part is left for later."""
    wait_ms = pace.wait_ms(account, found.recipient)
    if 0 < wait_ms <= _PATIENCE_MS:
        time.sleep(wait_ms / 1_000)
        wait_ms = pace.wait_ms(account, found.recipient)
    if wait_ms > 0:
        with statement() as db:
            deliveries.delay(db, found.turn_id, found.part, wait_ms)
    return wait_ms == 0


def _send(found: NextDelivery, account: OpenAccount) -> bool:
    with statement() as db:
        claimed = deliveries.claim(db, found.turn_id, found.part, _LEASE_MS)
    if claimed is None:
        return False
    reach("delivery.claimed")
    try:
        outcome = send_attempt.attempt(found, claimed, account)
    except Exception as error:  # noqa: BLE001 - the message may have gone out, and must not be sent again for ever
        log.exception("delivery.broken", turn_id=str(found.turn_id), part=found.part)
        outcome = DeliveryOutcome(status="unknown", error={"code": "internal_error", "message": type(error).__name__})
    reach("delivery.sent")
    return _record(found, claimed.attempt, outcome)


def _end(found: NextDelivery, outcome: DeliveryOutcome) -> bool:
    """Record what comes of a part that is not sent."""
    with statement() as db:
        claimed = deliveries.claim(db, found.turn_id, found.part, _LEASE_MS)
    return claimed is not None and _record(found, claimed.attempt, outcome)


def _record(found: NextDelivery, attempt_number: int, outcome: DeliveryOutcome) -> bool:
    with statement() as db:
        status = deliveries.record(db, found.turn_id, found.part, attempt_number, outcome)
    ids = {"turn_id": str(found.turn_id), "part": found.part, "attempt": attempt_number}
    if status is None:
        log.warning("delivery.fenced", **ids)
        return True
    channel = found.channel.partition(":")[0]
    code = outcome.error["code"] if outcome.error else None
    counts().add("turnloom_deliveries_total", channel, "retried" if status == "pending" else status)
    tell = log.warning if status in ("failed", "unknown") else log.info
    tell("delivery.recorded", channel=channel, status=status, code=code, **ids)
    return True


@lru_cache
def _accounts() -> OpenAccounts:
    return OpenAccounts()


_releasing: list[Daemon] = []


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    if "deliver" in sender.app.amqp.queues.consume_from:
        _releasing.append(Daemon("deliveries", release, every_s=INTERVAL_S).start())


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    for daemon in _releasing:
        daemon.ask_to_stop()

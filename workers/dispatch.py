"""Dispatch hands work to a queue, after the commit that recorded it. The recorded row is the outbox.

If the broker is out, a turn is delayed but not lost: the failure is logged, and the sweep sends it again.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from uuid import UUID

from kombu.exceptions import OperationalError

from turnloom.models.connections import redis
from turnloom.models.connections.redis import Failed, push
from turnloom.models.ledger.approvals import Decided
from turnloom.models.ledger.cancellation import ClosedTurn
from turnloom.models.runtime.batching import Gatherer
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker import stock_celery
from turnloom.workers.broker.messages import TaskMessage, write
from turnloom.workers.broker.queues import QUEUES
from turnloom.workers.turns.turn_events import follow

PUBLISH_ERRORS: tuple[type[BaseException], ...] = (OSError, Failed, OperationalError)
"""The errors of publishing while the broker is out."""

_SETTLING_S = 2.0

ALIVE = timedelta(seconds=6)
"""A worker counts as gone after three missed heartbeats."""


def waiting_messages() -> dict[str, int]:
    """Return how many messages wait in each queue; an empty dict if the broker does not answer."""
    return queue_lengths(QUEUES) or {}


def queue_lengths(queues: Iterable[str]) -> dict[str, int] | None:
    """Return how many messages wait in each of these queues; None if the broker does not answer."""
    return stock_celery.queue_lengths(queues) if settings().broker_url else redis.queue_lengths(queues)


def dispatch_turns(turn_ids: Sequence[UUID]) -> None:
    """Put turns on the planners' queue together."""
    if turn_ids:
        _send_all([_message("plan_turn", turn_id, queue="plan") for turn_id in turn_ids])


def dispatch_deliveries(turn_ids: Sequence[UUID]) -> None:
    """Have the replies of channels' turns sent."""
    if turn_ids:
        _send_all([_message("deliver", turn_id, queue="deliver") for turn_id in turn_ids])


def dispatch_soon(turn_id: UUID) -> None:
    """Put a turn on the planners' queue within a moment, together with others. The caller does not wait."""
    _dispatcher().put(_message("plan_turn", turn_id, queue="plan"))


def settle() -> None:
    """Wait until every turn given to `dispatch_soon` is on its queue, or Redis has been out for too long."""
    _dispatcher().settle(_SETTLING_S)


def dispatch_reply(closed: ClosedTurn) -> None:
    """Announce that a turn was closed, and have it answered."""
    follow(closed.id, closed, "turn.closed")
    if closed.respond is not None:
        send("respond", closed.id, closed.respond, queue="respond")


def dispatch_decision(decided: Decided) -> None:
    """Announce a new decision, and let its turn go on with its steps or its reply."""
    follow(decided.turn_id, decided, "approval.decided")
    if decided.respond is None:
        send("resume", decided.turn_id, queue="maintenance")
    else:
        send("respond", decided.turn_id, decided.respond, queue="respond")
    if decided.deliver:
        dispatch_deliveries([decided.turn_id])


def send(task: str, turn_id: UUID, *arguments: int | str, queue: str) -> None:
    """Send one task by name."""
    _send_all([_message(task, turn_id, *arguments, queue=queue)])


@lru_cache
def _dispatcher() -> Gatherer[TaskMessage]:
    return Gatherer("dispatcher", _send_all)


os.register_at_fork(after_in_child=_dispatcher.cache_clear)


def _send_all(messages: Sequence[TaskMessage]) -> None:
    try:
        publish(messages)
    except PUBLISH_ERRORS as error:
        log.warning("dispatch.failed", messages=len(messages), task=messages[0].task, error=type(error).__name__)


def _message(task: str, turn_id: UUID, *arguments: int | str, queue: str) -> TaskMessage:
    return TaskMessage(task, (str(turn_id), *arguments), queue, argsrepr=str(turn_id))


def publish(messages: Sequence[TaskMessage]) -> None:
    """Send messages, in one command for each queue.

    Raises:
        PUBLISH_ERRORS: the broker is out; any of the messages may have been sent.
    """
    if not settings().has_fast_broker:
        stock_celery.publish(messages)
        return
    queues: dict[str, list[bytes]] = defaultdict(list)
    for each in messages:
        queues[each.queue].append(write(each))
    for queue, written in queues.items():
        push(queue, written)
    for each in messages:
        reach(f"{each.task}.sent")

"""Hand work to a queue, after the commit that recorded it. The recorded row is the outbox.

A broker that is out delays a turn and loses nothing: the failure is logged, and the sweep sends again.
"""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from celery.utils import uuid
from kombu import Producer
from kombu.exceptions import OperationalError

from models.crash_points import reach
from models.database import transaction
from models.gathering import Gatherer
from models.ledger import workers
from models.ledger.approvals import Decided
from models.ledger.control import ClosedTurn
from models.logging import log
from models.redis import Failed, announce, queue_lengths
from workers.app import QUEUES, app

PUBLISH_ERRORS: tuple[type[BaseException], ...] = (OperationalError, OSError, Failed)
"""What publishing fails with when the broker is out."""


ALIVE = timedelta(seconds=6)
"""A worker that has missed three heartbeats counts as gone."""


def waiting_messages() -> dict[str, int]:
    """Return how many messages wait in each queue; none where Redis is out."""
    return queue_lengths(QUEUES) or {}


def dispatch_turns(turn_ids: Sequence[UUID]) -> None:
    """Put turns on the planners' queue, all of them together."""
    if turn_ids:
        _send_all([_message("plan_turn", turn_id, queue="plan") for turn_id in turn_ids])


def dispatch_soon(turn_id: UUID) -> None:
    """Put a turn on the planners' queue within a moment, with others that come meanwhile; the caller does not wait."""
    _dispatcher().put(_message("plan_turn", turn_id, queue="plan"))


def dispatch_reply(closed: ClosedTurn) -> None:
    """Tell the readers of a closed turn, and have it answered."""
    reach("turn.closed")
    announce(closed.id, closed.events)
    if closed.respond is not None:
        send("respond", closed.id, closed.respond, queue="respond")


def dispatch_decision(decided: Decided) -> None:
    """Tell the readers of a turn what was decided just now, and have it go on: with its steps, or with its reply."""
    reach("approval.decided")
    announce(decided.turn_id, decided.events)
    if decided.respond is None:
        send("resume", decided.turn_id, queue="maintenance")
    else:
        send("respond", decided.turn_id, decided.respond, queue="respond")


def send(task: str, turn_id: UUID, *arguments: int | str, queue: str) -> None:
    """Send one task by name."""
    _send_all([_message(task, turn_id, *arguments, queue=queue)])


@dataclass(frozen=True)
class Message:
    """A task to send. Its result is never asked for."""

    task: str
    args: tuple[Any, ...]
    queue: str
    argsrepr: str
    """What Flower shows as its arguments."""
    label: str | None = None
    """What Flower shows as its name."""
    time_limit: int | None = None
    """Seconds after which the process that runs it is ended, where it is one of a pool's."""


@lru_cache
def _dispatcher() -> Gatherer[Message]:
    return Gatherer("dispatcher", _send_all)


os.register_at_fork(after_in_child=_dispatcher.cache_clear)


def _send_all(messages: Sequence[Message]) -> None:
    try:
        publish(messages)
    except PUBLISH_ERRORS as error:
        log.warning("dispatch.failed", messages=len(messages), task=messages[0].task, error=type(error).__name__)


def _message(task: str, turn_id: UUID, *arguments: int | str, queue: str) -> Message:
    return Message(task, (str(turn_id), *arguments), queue, argsrepr=str(turn_id))


def publish(messages: Sequence[Message]) -> None:
    """Send messages on one connection, several of them together, without what Celery does for results and canvases.

    Raises:
        PUBLISH_ERRORS: the broker is out; any of the messages may have been sent.
    """
    with app.producer_pool.acquire(block=True) as producer, _together(producer, messages):
        for each in messages:
            _publish(producer, each)


def _together(producer: Producer, messages: Sequence[Message]) -> AbstractContextManager[object]:
    several = len(messages) > 1
    return producer.batch() if several else nullcontext()  # type: ignore[attr-defined]  # new in kombu 5.7


def _publish(producer: Producer, message: Message) -> None:
    written = app.amqp.as_task_v2(
        uuid(),
        message.task,
        message.args,
        shadow=message.label,
        time_limit=message.time_limit,
        ignore_result=True,
        argsrepr=message.argsrepr,
        kwargsrepr="{}",
    )
    app.amqp.send_task_message(producer, message.task, written, queue=message.queue, declare=[], retry=False)


def workers_alive() -> bool:
    """Tell whether a worker that plans turns has said lately that it is there.

    Raises:
        Unavailable: Postgres does not answer.
    """
    with transaction() as db:
        return workers.are_alive(db, "plan", ALIVE)

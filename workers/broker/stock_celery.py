"""Celery's own publishing, in place of ours: with `TURNLOOM_BROKER_FAST=0`, for any broker that Celery knows."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kombu.exceptions import OperationalError

from turnloom.workers.broker.app import app

if TYPE_CHECKING:
    from turnloom.workers.broker.messages import TaskMessage


def publish(messages: "Iterable[TaskMessage]") -> None:
    """Send messages one by one.

    Raises:
        OperationalError: the broker is out.
    """
    for message in messages:
        app.send_task(
            message.task,
            message.args,
            queue=message.queue,
            shadow=message.label,
            time_limit=message.time_limit,
            argsrepr=message.argsrepr,
            kwargsrepr="{}",
            ignore_result=True,
            retry=False,  # the ledger holds the work, and the sweep sends it again
        )


def queue_lengths(queues: Iterable[str]) -> dict[str, int] | None:
    """Return how many messages wait in each of these queues; None if the broker does not answer."""
    with app.connection_or_acquire() as connection:
        try:
            return {queue: _length(queue, connection.default_channel) for queue in queues}
        except (OperationalError, *connection.connection_errors, *connection.channel_errors):
            return None


def _length(queue: str, channel: Any) -> int:
    declared: Any = app.amqp.queues[queue].bind(channel).queue_declare()
    return int(declared.message_count)

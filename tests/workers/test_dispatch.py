"""Messages that wait to be sent together are not forgotten."""

import pytest

from tests.factories import queue_length
from turnloom.models.runtime.ids import new_id
from turnloom.workers.dispatch import dispatch_soon, settle


@pytest.mark.usefixtures("database", "redis_url")
def test_a_process_sends_waiting_messages_before_it_ends() -> None:
    """Messages that wait to be sent together are sent before the process ends."""
    for _ in range(50):
        dispatch_soon(new_id())

    settle()

    assert queue_length("plan") == 50

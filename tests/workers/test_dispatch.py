"""Messages whose dispatch is delayed for a moment are not forgotten."""

import pytest

from tests.factories import queue_length
from turnloom.models.runtime.ids import new_id
from turnloom.workers.dispatch import dispatch_soon, settle


@pytest.mark.usefixtures("database", "redis_url")
def test_a_process_that_ends_hands_on_first() -> None:
    """Messages that wait for a moment are sent before it settles."""
    for _ in range(50):
        dispatch_soon(new_id())

    settle()

    assert queue_length("plan") == 50

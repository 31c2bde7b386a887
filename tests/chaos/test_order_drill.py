"""Turns keep their order under load: many conversations, posted out of order, on four worker processes for tools."""

import pytest

from tests.chaos.drills import LONG, PLACEMENT
from tests.journeys.ordering import assert_ran_in_order, post_shuffled
from turnloom.models.runtime.settings import settings
from turnloom.workers.embedded.stack import Stack, StackOptions

CONVERSATIONS, TURNS = (200, 20) if LONG else (40, 10)
MIXED = 40
"""The number of conversations whose turns are posted at the same time."""


@pytest.mark.drill
@pytest.mark.timeout(900)
def test_every_conversation_is_answered_in_order() -> None:
    """Sixteen clients post 200 conversations of 20 turns. Each conversation runs one turn at a time, in sequence."""
    settings.cache_clear()
    own = {"TURNLOOM_ORDER_WINDOW_MS": "60000", "TURNLOOM_PLACEMENT": PLACEMENT}
    options = StackOptions(data_dir=None, port=0, tool_workers=4, settings=own)
    with Stack(options) as stack:
        for first in range(0, CONVERSATIONS, MIXED):
            post_shuffled(stack, range(first, first + MIXED), TURNS, seed=first)

        assert_ran_in_order(stack, CONVERSATIONS, TURNS, within_s=600)

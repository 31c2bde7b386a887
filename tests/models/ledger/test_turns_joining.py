"""A channel's messages, whose ids have gaps, become parts of the turns that wait."""

import pytest

from tests.models.ledger.channel_turns import receive
from tests.models.ledger.stopping import view

pytestmark = pytest.mark.usefixtures("database")


def test_a_channels_messages_are_merged_in_the_order_of_their_ids() -> None:
    """The ids of a channel have gaps. Whichever message arrives first, the turn has them as they were written."""
    arrived = {number: receive(number, f"{number} {'x' * (number % 7)}") for number in (40, 52, 46, 37, 49, 60)}

    (turn_id,) = {opened.turn_id for opened in arrived.values()}
    assert turn_id is not None
    assert [line.split()[0] for line in view(turn_id).message.split("\n")] == ["37", "40", "46", "49", "52", "60"]


def test_a_late_message_of_a_channel_joins_the_turn_that_it_belongs_to() -> None:
    """Of two turns that wait, a message goes to the one whose messages were written around it or just before it."""
    first = receive(10, "x" * 7_980)
    second = receive(20, "x" * 7_980)

    between, before = receive(15, "between"), receive(5, "before")

    assert (between.turn_id, before.turn_id) == (first.turn_id, first.turn_id)
    assert (second.outcome, second.turn_id != first.turn_id) == ("opened", True)

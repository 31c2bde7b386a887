"""The client is used with the whole service."""

from turnloom.client import Client
from turnloom.workers.embedded.stack import Stack


def test_a_turn_is_asked_for_waited_for_and_followed(stack: Stack) -> None:
    """The turn, its events and its cancellation come typed; a repeated message is the same turn."""
    plan = {"steps": [{"id": "a", "tool": "sim.echo", "args": {"value": 7}}]}
    with Client(stack.url, stack.dev_key) as client:
        turn = client.ask("hello", within_s=30, plan=plan, message_id="client-1", conversation_id="client")
        again = client.post("hello", plan=plan, message_id="client-1", conversation_id="client")
        told = list(client.stream(turn.turn_id))
        rest = list(client.stream(turn.turn_id, after=told[-2].id))
        state = client.cancel(turn.turn_id)

    assert (turn.status, turn.steps[0].result, bool(turn.reply and turn.reply.text)) == (
        "succeeded",
        {"value": 7},
        True,
    )
    assert again.turn_id == turn.turn_id
    assert (told[0].type, told[-1].type, rest) == ("turn.queued", "turn.succeeded", told[-1:])
    assert state.status == "succeeded"

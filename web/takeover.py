"""Let a person take a conversation over: pause it, write in it in place of its agent, and hand it back."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.listing import ConversationView
from turnloom.models.contracts.takeover import PersonMessage
from turnloom.models.contracts.turn import Links, TurnAccepted
from turnloom.models.ledger import conversations, takeover
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.operators import operator
from turnloom.web.auth import caller, requires
from turnloom.web.conversation_view import conversation_view
from turnloom.web.json_body import json_response
from turnloom.web.message_checks import identified
from turnloom.web.url_ids import known_id
from turnloom.workers.dispatch import dispatch_deliveries, dispatch_reply

R = TypeVar("R")
_EXAMPLE = {"message": "Good morning, this is Dana. I have just upgraded your room.", "author": "Dana"}

blueprint = APIBlueprint("takeover", __name__, url_prefix="/v1/conversations", tag="Conversations")


def _of_ones_own(view: Callable[..., R]) -> Callable[..., R]:
    """Look for the conversation before reading the body, so that a 422 tells a stranger nothing about it."""

    @wraps(view)
    def found(conversation_id: str, **inputs: object) -> R:
        with transaction(caller().tenant_id) as db:
            conversations.get(db, caller().tenant_id, known_id(conversation_id, "conversation"))
        return view(conversation_id, **inputs)

    return found


@blueprint.post("/<conversation:conversation_id>/pause")
@requires("conversations:write")
@blueprint.output(ConversationView, description="The conversation is paused, now or before")
@blueprint.doc(operation_id="pause_conversation")
def pause(conversation_id: str) -> Response:
    """Pause a conversation, so that a person can write in place of its agent.

    From now on its turns are recorded and not answered: each ends `cancelled` at once, with an error of the code
    `paused`. Turns in work end so too. Calls of theirs that may change something are left to end, and their outcome is
    recorded. A reply that is not being sent yet is withheld.
    """
    with statement([caller().tenant_id]) as db:
        paused = takeover.pause(db, caller().tenant_id, known_id(conversation_id, "conversation"), operator())
    for turn in paused.closed:
        dispatch_reply(turn)
    if paused.is_new:
        log.info("conversation.paused", key_id=str(caller().key_id), turns_closed=len(paused.closed))
    return _shown(conversation_id)


@blueprint.post("/<conversation:conversation_id>/resume")
@requires("conversations:write")
@blueprint.output(ConversationView, description="The agent answers again, now or before")
@blueprint.doc(operation_id="resume_conversation")
def resume(conversation_id: str) -> Response:
    """Hand a conversation back to its agent.

    The agent answers from the next message on, and knows what was said meanwhile. What was recorded while the
    conversation was paused is not answered.
    """
    with statement([caller().tenant_id]) as db:
        is_new = takeover.resume(db, caller().tenant_id, known_id(conversation_id, "conversation"), operator())
    if is_new:
        log.info("conversation.resumed", key_id=str(caller().key_id))
    return _shown(conversation_id)


@blueprint.post("/<conversation:conversation_id>/messages")
@requires("conversations:write")
@_of_ones_own
@blueprint.input(PersonMessage, example=_EXAMPLE)
@blueprint.output(TurnAccepted, 202, description="The message is durably recorded; on a channel it is sent now")
@blueprint.doc(operation_id="write_message")
def write(conversation_id: str, json_data: PersonMessage) -> Response:
    """Write to the user in place of the agent.

    The message stands in the history as a turn of its own, which is final: its `reply` is the message, `author` says
    who wrote it. In a conversation of a channel it is sent there like a reply, and its turn shows the `deliveries`. A
    `message_id` (or header `Idempotency-Key`) that came before in the conversation gets 200 with the first answer, or
    409 if the body differs. The conversation need not be paused; pause it first if the agent is to be silent.
    """
    with statement([caller().tenant_id]) as db:
        written = takeover.write(db, caller().tenant_id, conversation_id, identified(json_data), operator())
    if written.outcome == "written":
        reach("message.written")
        log.info("message.written", turn_id=str(written.turn_id), seq=written.seq, key_id=str(caller().key_id))
    if written.deliver:
        dispatch_deliveries([written.turn_id])
    address = f"/v1/turns/{written.turn_id}"
    answer = TurnAccepted(
        turn_id=str(written.turn_id),
        conversation_id=conversation_id,
        seq=written.seq,
        status="succeeded",
        links=Links(self=address, events=f"{address}/events"),
    )
    response = json_response(answer, 202 if written.outcome == "written" else 200)
    response.headers["Location"] = address
    return response


def _shown(conversation_id: str) -> Response:
    with transaction(caller().tenant_id) as db:
        return json_response(conversation_view(conversations.get(db, caller().tenant_id, conversation_id)))

"""Answer OpenAI's clients: every agent is a model, and a turn is a chat completion."""

import re
import time

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.contracts.chat import (
    ChatCompletion,
    ChatRequest,
    CompletionChoice,
    CompletionMessage,
    Model,
    ModelList,
    completion_usage,
)
from turnloom.models.contracts.turn import TurnAccepted, TurnRequest
from turnloom.models.errors import Invalid, NotFound, Unavailable
from turnloom.models.ledger.turns import OpenedTurn
from turnloom.web.auth import caller, demand, requires
from turnloom.web.catalogue import catalogue
from turnloom.web.errors import fault
from turnloom.web.json_body import json_response, validated
from turnloom.web.openai_front.chunks import Chunks
from turnloom.web.openai_front.transcript import Transcript, read_transcript
from turnloom.web.openai_front.transcript_turn import open_transcript
from turnloom.web.openai_front.turn_stream import id_headers, streamed
from turnloom.web.stream_places import demand_place
from turnloom.web.turn_answers import finished

_PATIENCE_S = 600.0
"""How long a client waits for a reply that is not streamed: as long as the official client does."""
_RETRY_AFTER_S = 5.0
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAMES = 32
"""Most names that a header lists."""
_OURS = ("conversation_id", "steps")
"""What in the metadata is for us."""
_BATCH_TIER = "flex"
_EXAMPLE = {"model": "travel", "messages": [{"role": "user", "content": "What is there to see in Rome?"}]}

blueprint = APIBlueprint("openai", __name__, url_prefix="/v1", tag="OpenAI")


@blueprint.post("/chat/completions")
@requires("turns:write", reads=False)
@blueprint.input(ChatRequest, example=_EXAMPLE)
@blueprint.output(ChatCompletion, description="The reply, or with `stream` a stream of chunks")
@blueprint.doc(operation_id="create_chat_completion")
def complete(json_data: ChatRequest) -> Response:
    """Answer as OpenAI's chat completions do.

    `model` names the agent, the last message of the user is answered, and `user` is the user's id. The conversation is
    that of `metadata.conversation_id`; otherwise the one that the messages before continue, or a new one that begins
    with them. The header `X-Turnloom-Ignored` lists parameters that have no effect here. The key also needs the scope
    `turns:read`. A retry with the same `Idempotency-Key`, or one that the official client counts, gets the turn of the
    first attempt. The turn goes on if the client disconnects.
    """
    demand("turns:read")
    _refuse_unsupported(json_data)
    if json_data.stream:
        demand_place()
    transcript = read_transcript(json_data.messages)
    answer, opened = open_transcript(transcript, _turn_request(json_data, transcript))
    response = (_streamed if json_data.stream else _whole)(json_data, answer, opened)
    if ignored := _ignored(json_data, transcript):
        response.headers["X-Turnloom-Ignored"] = ", ".join(ignored)
    return response


@blueprint.get("/models")
@requires("turns:write")
@blueprint.output(ModelList)
@blueprint.doc(operation_id="list_models")
def models() -> Response:
    """List the agents that the key may use, as models."""
    return json_response(ModelList(data=[Model(id=name) for name in catalogue().agents.profiles]))


@blueprint.get("/models/<model>")
@requires("turns:write")
@blueprint.output(Model)
@blueprint.doc(operation_id="get_model")
def model(model: str) -> Response:
    """Show an agent as a model."""
    _demand_model(model)
    return json_response(Model(id=model))


def _demand_model(name: str) -> None:
    """Refuse a name that no agent of the tenant has.

    Raises:
        NotFound: there is no such agent; the message names those that there are.
    """
    if name not in (names := catalogue().agents.profiles):
        detail = f"there is no model of this name; there are: {', '.join(names)}"
        raise NotFound(f"model: {detail}", code="model_not_found", faults=[fault("model", "model_not_found", detail)])


def _refuse_unsupported(chat: ChatRequest) -> None:
    if chat.n not in (None, 1):
        detail = "a message has one reply; leave n out, or send 1"
        raise Invalid(f"n: {detail}", faults=[fault("n", "unsupported_value", detail)])
    _demand_model(chat.model)


def _turn_request(chat: ChatRequest, transcript: Transcript) -> TurnRequest:
    metadata = chat.metadata or {}
    given = {
        "message": transcript.message,
        "agent": chat.model,
        "user": {"id": chat.user} if chat.user else None,
        "conversation_id": metadata.get("conversation_id"),
        "priority": "batch" if chat.service_tier == _BATCH_TIER else "interactive",
        "metadata": {name: value for name, value in metadata.items() if name not in _OURS},
    }
    try:
        return validated(TurnRequest, given, strict=False)
    except Invalid as error:
        # The client knows these by other names.
        first = error.faults[0]
        names = {"message": f"messages[{transcript.place}].content", "conversation_id": "metadata.conversation_id"}
        field = names.get(first["field"], first["field"])
        raise Invalid(f"{field}: {first['detail']}", faults=[{**first, "field": field}]) from None


def _whole(chat: ChatRequest, answer: TurnAccepted, opened: OpenedTurn) -> Response:
    view = finished(answer, opened, _PATIENCE_S)
    if view is None or view.reply is None:
        message = f"turn {answer.turn_id} has not ended yet, and goes on; send the same request again, or read the turn"
        raise Unavailable(message, code="turn_unfinished", retry_after_s=_RETRY_AFTER_S)
    completion = ChatCompletion(
        id=f"chatcmpl-{answer.turn_id}",
        created=int(view.created_at.timestamp()),
        model=chat.model,
        choices=[CompletionChoice(message=CompletionMessage(content=view.reply.text))],
        usage=completion_usage(view.usage),
        turnloom_turn_id=answer.turn_id,
        turnloom_conversation_id=answer.conversation_id,
    )
    response = json_response(completion)
    response.headers.update(id_headers(answer))
    return response


def _streamed(chat: ChatRequest, answer: TurnAccepted, opened: OpenedTurn) -> Response:
    chunks = Chunks(
        answer=answer,
        tenant_id=caller().tenant_id,
        model=chat.model,
        created=int(time.time()),
        shows_usage=bool(chat.stream_options and chat.stream_options.include_usage),
        shows_steps=(chat.metadata or {}).get("steps") == "true",
    )
    return streamed(answer, opened, chunks.write, "text/event-stream")


def _ignored(chat: ChatRequest, transcript: Transcript) -> list[str]:
    """Return the names of what has no effect, as far as a header can hold them."""
    named = {name for name, value in (chat.model_extra or {}).items() if value is not None and _NAME.fullmatch(name)}
    if chat.service_tier not in (None, _BATCH_TIER):
        named.add("service_tier")
    return sorted(named | transcript.ignored)[:_NAMES]

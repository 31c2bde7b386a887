"""Answer a transcript with the agent `assistant`, as a stream of plain text."""

from collections.abc import Iterator
from functools import partial
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.contracts.chat import AssistantChat
from turnloom.models.contracts.manner import Manner
from turnloom.models.contracts.turn import TurnAccepted, TurnRequest
from turnloom.web.auth import caller, demand, requires
from turnloom.web.json_body import validated
from turnloom.web.openai_front.reply_text import ReplyText
from turnloom.web.openai_front.transcript import read_transcript
from turnloom.web.openai_front.transcript_turn import open_transcript
from turnloom.web.openai_front.turn_stream import Told, streamed
from turnloom.web.shared_reads import read
from turnloom.web.stream_places import demand_place
from turnloom.web.turn_answers import snapshots

_AGENT = "assistant"
_EXAMPLE = {
    "messages": [{"role": "user", "content": "Find half an hour with Dana on Tuesday"}],
    "tone": "warm and brief",
    "assistant_name": "Robin",
    "specialization": "scheduling",
}

blueprint = APIBlueprint("assistant", __name__, url_prefix="/api/ai", tag="OpenAI")


@blueprint.post("/chat")
@requires("turns:write", reads=False)
@blueprint.input(AssistantChat, example=_EXAMPLE)
@blueprint.output({}, content_type="text/plain", description="The reply's text, as it is written")
@blueprint.doc(operation_id="chat_with_assistant")
def chat(json_data: AssistantChat) -> Response:
    """Let the agent `assistant` answer, and stream its reply as plain text.

    The conversation is found by the messages before the last one of the user, as with OpenAI's clients. `tone`,
    `assistant_name`, `specialization` and `client_integrations` shape how the agent speaks. The headers
    `X-Turnloom-Turn-Id` and `X-Turnloom-Conversation-Id` name the turn and its conversation. The key also needs the
    scope `turns:read`.
    """
    demand("turns:read")
    demand_place()
    transcript = read_transcript(json_data.messages)
    given = {"message": transcript.message, "agent": _AGENT, "user": json_data.user}
    answer, opened = open_transcript(transcript, validated(TurnRequest, given, strict=False), _manner(json_data))
    return streamed(answer, opened, partial(_written, answer, caller().tenant_id), "text/plain; charset=utf-8")


def _manner(chat: AssistantChat) -> Manner | None:
    named = chat.client_integrations or []
    if isinstance(named, dict):
        named = [name for name, value in named.items() if value not in (None, False)]
    manner = Manner(
        tone=chat.tone,
        assistant_name=chat.assistant_name,
        specialization=chat.specialization,
        integrations=sorted(named),
    )
    return None if manner == Manner() else manner


def _written(answer: TurnAccepted, tenant_id: UUID, told: Told) -> Iterator[bytes]:
    text = ReplyText()
    yield b""  # sends the headers, which name the turn
    for items in told:
        if piece := "".join(map(text.piece, items)):
            yield piece.encode()
    if not text.is_whole:
        turn = read(snapshots, (tenant_id, UUID(answer.turn_id)))
        yield text.rest(turn.reply["text"]).encode() if turn and turn.reply else b""

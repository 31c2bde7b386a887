"""The messages of clients that keep the conversation themselves and send all of it each time, as OpenAI's do."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.field_descriptions import Described
from turnloom.models.contracts.manner import AssistantName, Service, Specialization, Tone
from turnloom.models.contracts.turn import Identifier, Usage, User


class ForeignContract(Described, BaseModel):
    """A shape of somebody else's protocol. It accepts fields that we do not know, because the protocol has more."""

    model_config = ConfigDict(extra="allow", frozen=True)


class ContentPart(ForeignContract):
    """A part of a message."""

    type: str
    """`text`; a part of another type, such as an image, is refused."""
    text: str | None = None


class ChatMessage(ForeignContract):
    """A message of a transcript."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    """Only messages of `user` and `assistant` are read. The agent has its own instructions and calls its own tools."""
    content: str | list[ContentPart] | None = None


Messages = Annotated[list[ChatMessage], Field(min_length=1)]
"""The conversation, oldest first. The last message of the user is the one to answer."""


class StreamOptions(ForeignContract):
    """The extras of a stream."""

    include_usage: bool | None = None
    """Whether the stream ends with a chunk that has the usage."""


class ChatRequest(ForeignContract):
    """A request of OpenAI's chat completions. Other parameters are accepted and have no effect."""

    model: Annotated[str, Field(min_length=1, max_length=64)]
    """The name of the agent that answers."""
    messages: Messages
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    """Only 1 is possible."""
    service_tier: str | None = None
    """`flex`: nobody waits for the reply, so its turn is one of `batch`. Other tiers have no effect."""
    user: Identifier | None = None
    """The id of the user."""
    metadata: dict[str, str] | None = None
    """`conversation_id`: our id of the conversation; `steps`: `true` for a stream that shows the steps. Everything else
    is kept with the turn."""


class CompletionMessage(Contract):
    """The reply."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class CompletionChoice(Contract):
    """The one choice of a completion."""

    index: Literal[0] = 0
    message: CompletionMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class CompletionUsage(Contract):
    """The tokens of all language-model calls of a turn."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]


class ChatCompletion(Contract):
    """A reply as a chat completion."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    system_fingerprint: None = None
    turnloom_turn_id: str
    turnloom_conversation_id: str


class Model(Contract):
    """An agent, as clients of OpenAI see a model."""

    id: str
    """The agent's name."""
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "turnloom"


class ModelList(Contract):
    """The agents that a key may use."""

    object: Literal["list"] = "list"
    data: list[Model]


class OpenAIFault(Contract):
    """An error's content, as clients of OpenAI read it."""

    message: str
    type: str
    param: str | None
    """The parameter at fault."""
    code: str | None


class OpenAIError(Contract):
    """An error in OpenAI's shape."""

    error: OpenAIFault


class AssistantChat(Contract):
    """A transcript for the agent `assistant`, with how it should speak."""

    messages: Messages
    tone: Tone | None = None
    assistant_name: AssistantName | None = None
    specialization: Specialization | None = None
    client_integrations: Annotated[list[Service], Field(max_length=32)] | dict[Service, Any] | None = None
    """The outside services that the client has connected: their names, or an object with a member for each."""
    user: User | None = None
    """The person who writes. Tools that act for a user need its `id`."""


def completion_usage(usage: Usage) -> CompletionUsage:
    """Return the usage of a turn in OpenAI's words."""
    return CompletionUsage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.prompt_tokens + usage.completion_tokens,
        prompt_tokens_details={"cached_tokens": usage.cached_tokens},
    )

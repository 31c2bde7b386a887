"""A recording is what a call of a language model was sent and answered, as it is kept for replays and explanations."""

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from turnloom.models.contracts.base import Contract, Moment

TextRole = Literal["system", "user", "assistant", "schema"]
"""The role of a text in a call: that of a message, or the schema of the answer."""


@dataclass(frozen=True, slots=True)
class PackedText:
    """A text as the ledger keeps it, once under its digest."""

    role: TextRole
    digest: UUID
    """The first 16 bytes of the SHA-256 of role and text."""
    data: str
    """The compressed text, in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A call of a language model, ready to be recorded. Its texts are redacted."""

    rules: PackedText | None
    """The first message, if its role is `system`."""
    messages: tuple[PackedText, ...]
    """The messages after it, in order."""
    schema: PackedText | None
    """The schema of the answer, if the endpoint was sent one."""
    answer: PackedText | None
    """The answer as the language model wrote it; None if the call failed."""
    parameters: dict[str, Any]
    """See `RecordedCall`."""
    now: str | None
    """The time that the prompt was made for, with the person's offset from UTC."""
    error: str | None
    """Why the call failed."""


class SentMessage(Contract):
    """One message of a prompt."""

    role: TextRole
    content: str


class RecordedTexts(Contract):
    """The prompt of a language model's call, and the answer to it."""

    parameters: dict[str, Any]
    """The request beside its messages: `model`, `temperature`, `seed`, the limit of the answer and `stream`, as far as
    they were sent; `form` is how the answer was bound to its schema. Empty if the call failed."""
    now: str | None
    """The time that the prompt was made for: ISO 8601 with the person's offset from UTC. It decides which day is
    today."""
    messages: list[SentMessage]
    """The prompt as it was sent, after hooks; before them if the call failed. Secrets, and what the settings name, are
    taken out."""
    response_schema: dict[str, Any] | None
    """The schema of the answer, if the endpoint was sent one."""
    answer: str | None
    """The answer as the language model wrote it, before hooks; None if the call failed."""
    error: str | None
    """Why the call failed."""


class RecordedCall(RecordedTexts):
    """A call of a language model as it was recorded."""

    seq: int
    """Place among the turn's calls, from 1."""
    purpose: str
    """What it was for: `plan`, `repair`, `revision`, `direct`, `reply`, `critic`, `context`, `summary`."""
    model: str
    """The language model that answered, by the endpoint's name; if none did, the requested name."""
    finish_reason: str
    """How the answer ended; the error's code if there was none."""
    at: Moment
    """When it was recorded."""

"""Read a transcript: the messages that a client sends, as a message to answer and what was said before it. Pure."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import orjson

from turnloom.models.contracts.chat import ChatMessage
from turnloom.models.contracts.memory import Exchange
from turnloom.models.errors import Invalid
from turnloom.models.ledger.transcripts import BLANKS
from turnloom.web.errors import fault

_READ = ("user", "assistant")


@dataclass(frozen=True)
class Line:
    """A message of one side."""

    role: str
    text: str


@dataclass(frozen=True)
class Transcript:
    """A message to answer, and the lines before it."""

    message: str
    place: int
    """Where the message is in the client's list."""
    before: Sequence[Line]
    ignored: frozenset[str]
    """Messages that have no effect, such as `messages.system`."""

    @cached_property
    def past(self) -> list[Exchange]:
        """The lines before the message as exchanges. Each ends where the user speaks again after a reply."""
        exchanges: list[tuple[list[str], list[str]]] = []
        for line in self.before:
            if not exchanges or (line.role == "user" and exchanges[-1][1]):
                exchanges.append(([], []))
            exchanges[-1][_READ.index(line.role)].append(line.text)
        return [Exchange("\n".join(said), "\n".join(replied)) for said, replied in exchanges]

    @property
    def last_reply(self) -> str | None:
        """The reply that comes directly before the message; None if none does."""
        return self.before[-1].text if self.before and self.before[-1].role == "assistant" else None

    def digest(self, user_id: str | None) -> bytes:
        """Return the digest of the whole transcript of a user."""
        return _digest(user_id, [*self.before, Line("user", self.message)])

    def digest_before_reply(self, user_id: str | None) -> bytes:
        """Return the digest of what came before the last reply: that of the request that the reply answered."""
        return _digest(user_id, self.before[:-1])


def read_transcript(messages: Sequence[ChatMessage]) -> Transcript:
    """Read a client's messages. Those after the user's last one have no effect.

    Raises:
        Invalid: no message is the user's, or one has a part that is not text.
    """
    texts = [_text(message, place) for place, message in enumerate(messages)]
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=None)
    if last is None:
        raise _refused("messages", "no_user_message", "must hold a message of the role user")
    before = [
        Line(message.role, text.strip(BLANKS))
        for message, text in zip(messages[:last], texts, strict=False)
        if message.role in _READ and text.strip(BLANKS)
    ]
    unread = {f"messages.{message.role}" for message in messages if message.role not in _READ}
    after = {f"messages.{message.role}" for message in messages[last + 1 :]}
    return Transcript(texts[last], last, before, frozenset(unread | after))


def _digest(user_id: str | None, lines: Sequence[Line]) -> bytes:
    said = [(line.role, line.text.strip(BLANKS)) for line in lines]
    return hashlib.sha256(orjson.dumps([user_id, said])).digest()


def _text(message: ChatMessage, place: int) -> str:
    if message.role not in _READ:
        return ""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    parts = []
    for number, part in enumerate(message.content):
        if part.type != "text":
            field = f"messages[{place}].content[{number}]"
            raise _refused(field, "unsupported_content", "only parts of the type text are understood")
        parts.append(part.text or "")
    return "\n".join(parts)


def _refused(field: str, code: str, detail: str) -> Invalid:
    return Invalid(f"{field}: {detail}", faults=[fault(field, code, detail)])

"""What a reply says on every channel: its text in parts, and the choices that it offers."""

from collections.abc import Sequence

from turnloom.models.contracts.turn import Reply
from turnloom.planner.reply.rendering import DIALECTS, Channel, render_reply
from turnloom.planner.reply.text_split import split
from turnloom.workers.channels.protocol import ReplyChoice

PAYLOAD_BYTES = 64
"""Most bytes of a payload; Telegram takes no more."""


def texts(reply: Reply, dialect: Channel, last: int | None = None) -> list[str]:
    """Return a reply as messages, at least one; the last has at most `last` characters, as the channel counts."""
    parts = render_reply(reply, dialect) or ["…"]
    if last is None or last >= (DIALECTS[dialect].limit or last):
        return parts
    return [*parts[:-1], *split(parts[-1], last)]


def offered(reply: Reply, choices: Sequence[ReplyChoice]) -> list[ReplyChoice]:
    """Return the choices to offer: those given, else those of the reply's question.

    A question about several fields offers none, because one tap cannot answer it.
    """
    if choices or reply.question is None:
        return list(choices)
    open_fields = [values for values in reply.question.choices.values() if values]
    if len(open_fields) != 1 or len(reply.question.fields) > 1:
        return []
    titles = [" ".join(str(value).split()) for value in open_fields[0]]
    return [ReplyChoice(_payload(title), title) for title in dict.fromkeys(titles) if title]


def can_be_tapped(choices: Sequence[ReplyChoice], most: int) -> bool:
    """Whether a channel that shows so many buttons can show these choices, and tell them apart."""
    return len({choice.payload for choice in choices}) == len(choices) <= most


def numbered(reply: Reply, choices: Sequence[ReplyChoice]) -> Reply:
    """Return the reply with its choices as numbered lines of its text, for a channel without buttons."""
    lines = [f"{number}. {choice.title}" for number, choice in enumerate(choices, 1)]
    return reply.model_copy(update={"text": "\n".join([reply.text, *lines])})


def _payload(title: str) -> str:
    """Return the beginning of a choice that a button can bring back."""
    return title.encode()[:PAYLOAD_BYTES].decode(errors="ignore").rstrip()

"""Write a turn as the chunks of a streamed chat completion."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

import orjson

from turnloom.models.connections.redis import Item
from turnloom.models.contracts.chat import completion_usage
from turnloom.models.contracts.turn import TurnAccepted
from turnloom.models.errors import Unavailable
from turnloom.models.ledger.turn_snapshots import TurnSnapshot
from turnloom.models.ledger.usage import read_usage
from turnloom.models.runtime.logging import log
from turnloom.web.errors import problem_of
from turnloom.web.event_stream import STILL_HERE
from turnloom.web.openai_front.errors import in_openai_shape
from turnloom.web.openai_front.reply_text import ReplyText
from turnloom.web.openai_front.turn_stream import Told
from turnloom.web.shared_reads import read
from turnloom.web.turn_answers import snapshots

_STEPS = frozenset(
    ("plan.step", "plan.ready", "plan.revised", "step.started", "step.retry", "step.finished", "approval.requested")
)
"""The events that tell of steps."""


@dataclass(frozen=True)
class Chunks:
    """The chunks of one answer."""

    answer: TurnAccepted
    tenant_id: UUID
    model: str
    created: int
    shows_usage: bool
    shows_steps: bool

    def write(self, told: Told) -> Iterator[bytes]:
        """Yield the chunks of a turn's events, to the end of the turn."""
        text = ReplyText()
        yield self._said({"role": "assistant", "content": ""})
        for items in told:
            yield b"".join(part for item in items for part in self._parts(item, text)) or STILL_HERE
        try:
            yield b"".join(self._end(text))
        except Unavailable as error:
            log.warning("stream.broken_off", turn_id=self.answer.turn_id, error=error.code)
            yield b"data: %s\n\n" % in_openai_shape(problem_of(error))[1].encode()

    def _parts(self, item: Item, text: ReplyText) -> Iterator[bytes]:
        name, kind, data = item
        if piece := text.piece(item):
            yield self._said({"content": piece})
        elif self.shows_steps and kind in _STEPS:
            yield self._chunk([], turnloom={"id": name, "type": kind, "data": data})

    def _end(self, text: ReplyText) -> Iterator[bytes]:
        """Yield what comes after a turn's last event. A turn that was superseded has told nobody its reply."""
        turn = self._turn() if self.shows_usage or not text.is_whole else None
        if turn is not None and turn.reply and not text.is_whole:
            yield self._said({"content": text.rest(turn.reply["text"])})
        yield self._said({}, "stop")
        if turn is not None and self.shows_usage:
            yield self._chunk([], usage=completion_usage(read_usage(turn.usage)).model_dump())
        yield b"data: [DONE]\n\n"

    def _turn(self) -> TurnSnapshot | None:
        return read(snapshots, (self.tenant_id, UUID(self.answer.turn_id)))

    def _said(self, delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}])

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        return b"data: %s\n\n" % orjson.dumps(self._common | {"choices": choices} | more)

    @cached_property
    def _common(self) -> dict[str, Any]:
        """The fields of every chunk. Each has a usage if the last one has."""
        return {
            "id": f"chatcmpl-{self.answer.turn_id}",
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": None,
            "turnloom_turn_id": self.answer.turn_id,
            "turnloom_conversation_id": self.answer.conversation_id,
        } | ({"usage": None} if self.shows_usage else {})

"""Record calls of a language model: their texts are redacted, known by their digests, and compressed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from turnloom.models.contracts.recording import PackedText, Recording, TextRole
from turnloom.models.runtime.packed_text import pack
from turnloom.planner.llm.protocol import PromptMessage, SentPrompt
from turnloom.planner.llm.redaction import Redaction


class Recorder:
    """A recorder of the calls for a turn."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self.now: datetime | None = None
        """The time that the next prompts are made for, in the person's time zone."""

    def answered(self, sent: SentPrompt) -> Recording:
        """Return the recording of a call that was answered."""
        prompt = self._prompt(sent.messages, sent.schema)
        answer = pack("assistant", self._redaction.without(sent.answer))
        return replace(prompt, answer=answer, parameters=sent.parameters)

    def failed(self, messages: Sequence[PromptMessage], schema: dict[str, Any] | None, error: Exception) -> Recording:
        """Return the recording of a call that was not answered, with the prompt as the planner made it."""
        return replace(self._prompt(messages, schema), error=self._redaction.without(str(error)))

    def _prompt(self, messages: Sequence[PromptMessage], schema: dict[str, Any] | None) -> Recording:
        rules = messages[:1] if messages and messages[0]["role"] == "system" else ()
        others = messages[len(rules) :]
        return Recording(
            rules=_repeated(self._redaction, "system", rules[0]["content"]) if rules else None,
            messages=tuple(pack(one["role"], self._redaction.without(one["content"])) for one in others),
            schema=_repeated(self._redaction.of_schemas(), "schema", _written(schema)) if schema else None,
            answer=None,
            parameters={},
            now=self.now.isoformat() if self.now else None,
            error=None,
        )


@lru_cache(maxsize=128)
def _repeated(redaction: Redaction, role: TextRole, text: str) -> PackedText:
    """Pack a long text that most calls of an agent have in common."""
    return pack(role, redaction.without(text))


def _written(schema: dict[str, Any]) -> str:
    try:
        return orjson.dumps(schema).decode()
    except TypeError:  # a number of more than 64 bits
        return json.dumps(schema)

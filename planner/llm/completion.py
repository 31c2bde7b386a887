"""An answer in the OpenAI protocol is read whole or chunk by chunk, without trust in its shape."""

import json
from typing import Any

import httpx2

from turnloom.models.contracts.turn import Usage
from turnloom.planner.llm.protocol import FinishReason, Generation
from turnloom.planner.llm.spoken_text import SpokenText


class Completion:
    """One answer of a language model while it arrives."""

    def __init__(self, model: str, cost: float | None, *, begins_in_thought: bool = False) -> None:
        """`model` is used until the endpoint returns a name; `cost` is None if it is not known.

        `begins_in_thought`: see `SpokenText`.
        """
        self._model = model
        self._cost = cost
        self._spoken = SpokenText(begins_in_thought=begins_in_thought)
        self._arguments: list[str] = []
        self._refusal: list[str] = []
        self._reason: object = None
        self._usage: dict[str, Any] = {}
        self.began_in_thought = False
        """Whether it ended a thought that had not begun. Known when the answer is finished."""

    @property
    def begun(self) -> bool:
        """Whether any text has come."""
        return bool(self._spoken or self._arguments or self._refusal)

    def take(self, chunk: object) -> str:
        """Take a chunk of a stream and return the piece of text in it."""
        choice = self._take(chunk)
        return self._add(choice.get("delta"))

    def take_whole(self, data: object) -> None:
        """Take an answer that was not streamed.

        Raises:
            httpx2.DecodingError: it is not an answer.
        """
        choice = self._take(data)
        if not choice:
            raise httpx2.DecodingError("the answer has no `choices`")
        self._add(choice.get("message"))
        self._reason = self._reason or "stop"  # some servers omit it; only a stream can be cut without an error

    def rest(self) -> str:
        """Return the piece of text that was held back. Nothing more will arrive."""
        return self._spoken.finish()

    def finished(self) -> Generation:
        """Return what has arrived."""
        self._spoken.finish()
        self.began_in_thought = self._spoken.drop_unopened()
        reason = self._finish_reason()
        return Generation(
            text=_storable("".join(self._refusal or self._arguments or [str(self._spoken)])),
            usage=Usage(
                llm_calls=1,
                prompt_tokens=_count(self._usage.get("prompt_tokens")),
                cached_tokens=_cached(self._usage),
                completion_tokens=_count(self._usage.get("completion_tokens")),
                cost=self._cost,
            ),
            model=self._model,
            finish_reason=reason,
        )

    def _take(self, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            return {}
        if isinstance(data.get("model"), str) and data["model"]:
            self._model = data["model"]
        if isinstance(data.get("usage"), dict):
            self._usage = data["usage"]
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, dict):
            return {}
        self._reason = choice.get("finish_reason") or self._reason
        return choice

    def _add(self, part: object) -> str:
        if not isinstance(part, dict):
            return ""
        text, refusal = part.get("content"), part.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refusal.append(refusal)
        text = self._spoken.add(text) if isinstance(text, str) and text else ""
        arguments = _arguments(part.get("tool_calls"))
        self._arguments += [arguments] if arguments else []
        return text + arguments

    def _finish_reason(self) -> FinishReason:
        if self._refusal or self._reason == "content_filter":
            return "refusal"
        if self._reason is None:
            return "cut"  # the SDK raises nothing for a stream that ends early
        if not "".join(self._arguments or [str(self._spoken)]).strip():
            return "empty"
        return "length" if self._reason == "length" else "stop"


def _arguments(calls: object) -> str:
    """Return the next piece of the first function call's arguments: if there is a call, the answer is in it."""
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) and not call.get("index") else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        # The protocol says text; some compatible servers send the object itself.
        return arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
    return ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _cached(usage: dict[str, Any]) -> int:
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return min(cached, _count(usage.get("prompt_tokens")))


def _storable(text: str) -> str:
    """Drop what Postgres refuses in a text: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()

"""A language model that says what the message tells it to, and pauses in the middle until it may go on."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.planner.llm.scripted import Script, scripted_server, stream

PAUSE = "§"
"""Where in an answer the model stops until its gate is open."""

MESSAGE = re.compile(r"<message>\n(.*?)\n</message>", re.DOTALL)


class Speaker:
    """Answers a planning call with the first text of the message, a repair with the second, all else with a word."""

    def __init__(self, script: Script) -> None:
        self.url = script.url
        self.gate = threading.Event()
        script.otherwise = self._speak

    def _speak(self, body: dict[str, Any]) -> Any:
        if "response_format" not in body:
            return stream(["Done."])
        contents = [message["content"] for message in body["messages"]]
        tagged = [found for content in contents for found in MESSAGE.findall(content)]
        answers = json.loads(json.loads(tagged[-1]))
        return stream(self._pieces(answers[-1 if "<faults>" in contents[-1] else 0]), whole=not body.get("stream"))

    def _pieces(self, text: str) -> Iterator[str]:
        for number, part in enumerate(text.split(PAUSE)):
            if number:
                self.gate.wait(30)
            yield from (part[start : start + 12] for start in range(0, len(part), 12))


@contextmanager
def speaker() -> Iterator[Speaker]:
    """Serve a model on a free port. Its gate is closed."""
    with scripted_server() as script:
        speaking = Speaker(script)
        try:
            yield speaking
        finally:
            speaking.gate.set()


def says(*answers: str) -> str:
    """Return the message that has these answers said."""
    return json.dumps(answers)


def written(*steps: Mapping[str, Any] | str) -> str:
    """Return the text of a plan; `PAUSE` may stand between steps."""
    text = ""
    for step in steps:
        separator = ", " if text and text != PAUSE else ""
        text += step if isinstance(step, str) else separator + json.dumps(_strict(step))
    return f'{{"thought": "go", "action": null, "reply": null, "steps": [{text}]}}'


def _strict(step: Mapping[str, Any]) -> dict[str, Any]:
    """Write arguments of any type as JSON text, as the schema asks for."""
    args = {key: json.dumps(value) if key in ("payload", "value") else value for key, value in step["args"].items()}
    return {**step, "args": args}

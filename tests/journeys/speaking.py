"""A language model whose answers stand in the message. It can pause in the middle of one."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.planner.llm.scripted import Script, scripted_server, stream

PAUSE = "§"
"""The place in an answer where the model stops until its gate is open."""

MESSAGE = re.compile(r"<message>\n(.*?)\n</message>", re.DOTALL)
OBSERVATIONS = re.compile(r"<observations>\n(.*?)\n</observations>", re.DOTALL)


class Speaker:
    """A language model that answers with the texts in the message.

    A planning call gets the first text, a repair the last one. A revision gets the text whose index is the number of
    steps done, or the last one. A reply is "Done.", and from results the model learns nothing.
    """

    def __init__(self, script: Script) -> None:
        self.url = script.url
        self.gate = threading.Event()
        self.prompts: list[str] = []
        """The last message of each planning call."""
        script.otherwise = self._speak

    def _speak(self, body: dict[str, Any]) -> Any:
        contents = [message["content"] for message in body["messages"]]
        if "<incoming>" in contents[-1]:
            return stream([json.dumps({"entities": [], "hypotheses": [], "contradicted": []})], whole=True)
        if not _wants_plan(body):
            return stream(["Done."], whole=not body.get("stream"))
        tagged = [found for content in contents for found in MESSAGE.findall(content)]
        answers = json.loads(json.loads(tagged[-1]))
        self.prompts.append(contents[-1])
        answer = answers[-1 if "<faults>" in contents[-1] else min(_done(contents[-1]), len(answers) - 1)]
        return stream(self._pieces(answer), whole=not body.get("stream"))

    def _pieces(self, text: str) -> Iterator[str]:
        for number, part in enumerate(text.split(PAUSE)):
            if number:
                self.gate.wait(30)
            yield from (part[start : start + 12] for start in range(0, len(part), 12))


def _wants_plan(body: dict[str, Any]) -> bool:
    form = body.get("response_format", {}).get("json_schema", {})
    return "steps" in form.get("schema", {}).get("properties", {})


def _done(content: str) -> int:
    return sum(len(json.loads(found)) for found in OBSERVATIONS.findall(content))


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
    """Return a message that makes the model give these answers."""
    return json.dumps(answers)


def written(*steps: Mapping[str, Any] | str, reply: str | None = None) -> str:
    """Return the text of a plan; `PAUSE` may stand between steps."""
    text = ""
    for step in steps:
        separator = ", " if text and text != PAUSE else ""
        text += step if isinstance(step, str) else separator + json.dumps(_strict(step))
    return f'{{"thought": "go", "action": null, "reply": {json.dumps(reply)}, "steps": [{text}]}}'


def _strict(step: Mapping[str, Any]) -> dict[str, Any]:
    """Write arguments of any type as JSON text, as the schema asks for."""
    args = {key: json.dumps(value) if key in ("payload", "value") else value for key, value in step["args"].items()}
    return {**step, "args": args}

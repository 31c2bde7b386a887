"""Events of a turn are read from a stream of server-sent events."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.event import FINAL_EVENTS


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """Something that happened to a turn."""

    id: str
    """Its place in the turn. A stream can be resumed after it."""
    type: str
    """Such as `step.finished`; docs/reference/events.md lists them."""
    data: dict[str, Any]

    @property
    def is_last(self) -> bool:
        """Whether the turn is final."""
        return self.type in FINAL_EVENTS


def read_stream(lines: Iterable[str]) -> Iterator[TurnEvent | None]:
    """Yield the events of a stream; None for each comment, which the API sends when nothing happens."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name:
            fields[name] = value.removeprefix(" ")
        elif line:
            yield None
        elif "data" in fields:
            yield TurnEvent(fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}

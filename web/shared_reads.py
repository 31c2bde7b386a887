"""Read the ledger for many requests at once: one round of statements for all that arrive during the round before.

This is for what crowds of clients ask for, each about its own turn: turns as they stand, and their events.
"""

import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from turnloom.models.errors import NotFound, Unavailable
from turnloom.models.runtime.batching import Gatherer
from turnloom.web import request_gate
from turnloom.web.read_priority import give_way
from turnloom.web.url_ids import uuid_of

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")

_PATIENCE_S = 20.0
_MOMENT_S = 0.005
"""Pause between two rounds, so that a crowd needs few of them, and messages are accepted in between."""


def read(reader: Callable[[Sequence[Key]], Mapping[Key, Found]], key: Key) -> Found | None:
    """Return what a reader, which reads many keys at a time, finds for this key; None if it finds nothing.

    Raises:
        Unavailable: Postgres does not answer, or too many are waiting.
    """
    asked = _Asked(reader, key)
    with request_gate.shared_reads().admitted():
        _reader().put(asked)
        try:
            found: Found | None = asked.found.result(_PATIENCE_S)
        except TimeoutError as error:
            asked.found.cancel()
            message = f"Postgres did not answer within {_PATIENCE_S:.0f} s; try again later"
            raise Unavailable(message, code="database_unavailable") from error
    give_way()
    return found


def turn_id_of(text: str) -> UUID:
    """Read the id of a turn that a caller has sent.

    Raises:
        NotFound: the text is not an id.
    """
    return uuid_of(text, "turn")


def no_turn() -> NotFound:
    """Return the error for a turn that does not exist or belongs to another tenant."""
    return NotFound("there is no turn of that id")


@dataclass(frozen=True, slots=True)
class _Asked:
    reader: Callable[[Sequence[Any]], Mapping[Any, Any]]
    key: Any
    found: "Future[Any]" = field(default_factory=Future)


@lru_cache
def _reader() -> Gatherer[_Asked]:
    return Gatherer("reader", _answer, moment_s=_MOMENT_S, at_most=request_gate.READ_AT_ONCE)


os.register_at_fork(after_in_child=_reader.cache_clear)


def _answer(put: Sequence[_Asked]) -> None:
    asked = [each for each in put if each.found.set_running_or_notify_cancel()]
    if not asked:
        return
    began = time.monotonic()
    keys = {each.reader: list({other.key for other in asked if other.reader == each.reader}) for each in asked}
    try:
        found = {reader: reader(of) for reader, of in keys.items()}
    except BaseException as error:
        for each in asked:
            each.found.set_exception(error)
        raise
    finally:
        request_gate.shared_reads().note(time.monotonic() - began)
    for each in asked:
        each.found.set_result(found[each.reader].get(each.key))

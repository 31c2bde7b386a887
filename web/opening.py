"""Open turns: one commit for all messages that come while those before it are under way.

A message that comes alone is opened at once. What would have to wait for somebody, such as a message to a conversation
that is busy, is opened by itself, so that no other message waits with it.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from queue import SimpleQueue

from models.database import statement
from models.errors import Unavailable
from models.gathering import Gatherer
from models.ledger import turns
from models.ledger.turns import NewTurn, OpenedTurn
from models.logging import log

_AT_ONCE = 16
"""Messages in a commit: more would save little, and the first of them wait for the last."""
_COMMITS = 2
"""Under way at a time, so that neither this process nor Postgres is idle while the other one works."""


def open_turn(new: NewTurn) -> OpenedTurn:
    """Record a message durably as a turn of its conversation.

    Raises:
        Unavailable: Postgres does not answer; the turn may have been opened.
    """
    asked = _Asked(new)
    _door().put(asked)
    told = asked.told.get()
    if isinstance(told, Unavailable):
        raise told
    if told is not None and told.outcome != "later":
        return told
    with statement() as db:
        return turns.open_turn(db, new)


@dataclass(frozen=True, slots=True)
class _Asked:
    new: NewTurn
    told: "SimpleQueue[OpenedTurn | Unavailable | None]" = field(default_factory=SimpleQueue)
    """What became of it; None: nothing, for a reason that may be another message's."""


@lru_cache
def _door() -> Gatherer[_Asked]:
    return Gatherer("door", _open, moment_s=0, at_most=_AT_ONCE, threads=_COMMITS)


os.register_at_fork(after_in_child=_door.cache_clear)


def _open(asked: Sequence[_Asked]) -> None:
    told: Sequence[OpenedTurn | Unavailable | None]
    try:
        with statement() as db:
            told = turns.open_turns(db, [each.new for each in asked])
    except Unavailable as error:
        told = [error] * len(asked)
    except Exception as error:  # noqa: BLE001 - nobody is here to tell; alone, each message meets its own error
        log.warning("door.failed", messages=len(asked), error=type(error).__name__)
        told = [None] * len(asked)
    for each, outcome in zip(asked, told, strict=True):
        each.told.put(outcome)

"""Open turns, with one commit for all messages that arrive while the commits before it are under way.

A message that comes alone is opened at once. A message that would have to wait, such as one to a busy conversation, is
opened in a commit of its own, so that no other message waits with it.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache

from turnloom.models.connections.database import statement
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import chat_answers, turns
from turnloom.models.ledger.chat_answers import ChatAnswer, TakenAnswer
from turnloom.models.ledger.turns import NewTurn, OpenedTurn
from turnloom.models.runtime.batching import Gatherer
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.web import request_gate
from turnloom.workers.dispatch import dispatch_decision, dispatch_deliveries, dispatch_reply, dispatch_soon

ACCEPTED = ("opened", "merged")
_PATIENCE_S = 10.0
"""How long an admitted message waits for its commit. It is not opened if the commit has not begun by then."""


def open_turn(new: NewTurn) -> OpenedTurn:
    """Record a message durably as a turn of its conversation.

    Raises:
        Unavailable: Postgres does not answer, and the turn may have been opened; or too many messages are waiting.
    """
    with request_gate.commits().admitted():
        opened = _opened_with_others(new)
    if opened is not None and opened.outcome != "later":
        return opened
    with request_gate.apart().passed(), statement([new.tenant_id]) as db:
        return turns.open_turn(db, new)


def _opened_with_others(new: NewTurn) -> OpenedTurn | None:
    asked = _Asked(new)
    _door().put(asked)
    try:
        return asked.opened.result(_PATIENCE_S)
    except TimeoutError as error:
        asked.opened.cancel()
        message = f"Postgres did not record the message within {_PATIENCE_S} s"
        raise Unavailable(message, code="database_unavailable") from error


def take_answer(new: NewTurn, answer: ChatAnswer) -> OpenedTurn | TakenAnswer:
    """Take a message that may answer what its person was shown, or record it as a turn.

    Raises:
        Unavailable: Postgres does not answer, and the message may have been recorded.
    """
    with request_gate.apart().passed(), statement([new.tenant_id]) as db:
        return chat_answers.take(db, new, answer)


def carry_out(taken: TakenAnswer) -> None:
    """Dispatch what an answer has brought about: the turn goes on, or the person is told why nothing happens."""
    if taken.turn_id is not None:
        log.info("answer.taken", turn_id=str(taken.turn_id), outcome=taken.outcome)
    if taken.decided is not None:
        dispatch_decision(taken.decided)
    if taken.deliver and taken.turn_id is not None:
        dispatch_deliveries([taken.turn_id])


def hand_on(opened: OpenedTurn) -> None:
    """Dispatch what accepting a message has brought about: its turn, and the reply of the turn that it replaces."""
    if opened.outcome not in ACCEPTED:
        return
    assert opened.turn_id is not None
    reach("turn.opened")
    # Its first event is not announced: nobody knows the turn's id yet, so nobody listens.
    if opened.is_sent:
        dispatch_soon(opened.turn_id)
    if opened.closed is not None:
        dispatch_reply(opened.closed)
    log.info("turn.received", turn_id=str(opened.turn_id), seq=opened.seq, merged=opened.outcome == "merged")


@dataclass(frozen=True, slots=True)
class _Asked:
    new: NewTurn
    opened: "Future[OpenedTurn | None]" = field(default_factory=Future)
    """The outcome; None if nothing was opened, perhaps because of another message in the commit."""


@lru_cache
def _door() -> Gatherer[_Asked]:
    return Gatherer("door", _open, moment_s=0, at_most=request_gate.AT_ONCE, threads=request_gate.COMMITS)


os.register_at_fork(after_in_child=_door.cache_clear)


def _open(put: Sequence[_Asked]) -> None:
    asked = [each for each in put if each.opened.set_running_or_notify_cancel()]
    if not asked:
        return
    began = time.monotonic()
    try:
        with statement({each.new.tenant_id for each in asked}) as db:
            opened: Sequence[OpenedTurn | None] = turns.open_turns(db, [each.new for each in asked])
    except Unavailable as error:
        for each in asked:
            each.opened.set_exception(Unavailable(str(error), code=error.code))
        return
    except Exception as error:  # noqa: BLE001 - it may concern one message: opened alone, each meets its own error
        log.warning("door.failed", messages=len(asked), error=type(error).__name__)
        opened = [None] * len(asked)
    finally:
        request_gate.commits().note(time.monotonic() - began)
    for each, outcome in zip(asked, opened, strict=True):
        each.opened.set_result(outcome)

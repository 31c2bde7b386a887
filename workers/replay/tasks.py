"""Workers replay conversations: claim, replay, record. Tasks have a queue of their own, beside the live ones.

A task works for some seconds and then sends itself again, so that replays share their workers. Its conversations have
leases: those of a worker that was killed are replayed by others, and give the same result.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from uuid import UUID

from celery.signals import worker_init

from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import ReplayedTurn
from turnloom.models.contracts.replay_request import ForkChanges, ReplayOptions
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import recorded, replays
from turnloom.models.ledger.replays import LEASE_S, ClaimedConversation
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.app import app
from turnloom.workers.dispatch import queue_lengths, send
from turnloom.workers.replay import forks, requests
from turnloom.workers.replay.conversation_replay import not_replayed, replay, unreadable
from turnloom.workers.replay.foreign import recorded_conversation
from turnloom.workers.replay.ledger_source import read_conversation
from turnloom.workers.replay.priority import yield_to_others
from turnloom.workers.replay.reports import report_of
from turnloom.workers.replay.result_sources import results_of
from turnloom.workers.replay.setting import Setting
from turnloom.workers.turns.process_parts import llm, registry

_SLICE_S = 10.0
_MAX_ATTEMPTS = 5
"""A conversation whose workers were lost so often is not replayed again: it may be what kills them."""
_SENT_AGAIN = 16
"""Tasks that are sent for a replay that goes on, if none is waiting."""
_MOST_WAITING = 200
"""Waiting messages beside which none is sent again."""
_REPLAYS = 8
"""Replays whose texts a process keeps."""


@worker_init.connect
def _yield_to_turns(sender: Any, **_: Any) -> None:
    """Let a worker that only replays run behind all others on its machine."""
    if set(sender.app.amqp.queues.consume_from) == {"replay"}:
        yield_to_others()


@app.task(name="replay")
def replay_task(replay_id: str) -> None:
    """Replay conversations of a replay, one after another, until none is left or the time is over."""
    wanted, end = UUID(replay_id), time.monotonic() + _SLICE_S
    while time.monotonic() < end:
        with statement() as db:
            claimed = replays.claim(db, wanted)
            if claimed is None:
                if replays.finish(db, wanted):
                    log.info("replay.finished", replay_id=replay_id)
                    send("report_replay", wanted, queue="replay")
                return
        _work_on(claimed)
    send("replay", wanted, queue="replay")


@app.task(name="report_replay")
def report_task(replay_id: str) -> None:
    """Make the report of a replay that has ended."""
    with transaction() as db:
        found = replays.unreported(db, UUID(replay_id))
    if found is not None:
        made = report_of(found, registry().tools).model_dump(mode="json")
        with transaction() as db:
            replays.keep_report(db, found, made)


@app.task(name="resume_replays", send_events=False)
def resume_replays() -> None:
    """Send the replays again that nobody works on.

    Their messages may only be waiting, behind those of other replays. One more does no harm, if there are not many.
    """
    with statement() as db:
        unheld, unreported = replays.unheld(db)
    waiting = (queue_lengths(["replay"]) or {}).get("replay", 0) if unheld or unreported else 0
    if waiting < _MOST_WAITING:
        for replay_id in unheld:
            requests.dispatch(replay_id, 1 if waiting else _SENT_AGAIN)
        for replay_id in unreported:
            send("report_replay", replay_id, queue="replay")


def _work_on(claimed: ClaimedConversation) -> None:
    with _held.holding(claimed):
        result = [turn.kept() for turn in _judged(claimed)]
        with statement([claimed.tenant_id]) as db:
            is_kept = replays.record(db, claimed, result)
    if not is_kept:
        log.warning("replay.fenced", replay_id=str(claimed.replay_id), number=claimed.number)


def _judged(claimed: ClaimedConversation) -> list[ReplayedTurn]:
    try:
        return _replayed(claimed)
    except Unavailable:
        raise  # Postgres is out: the conversation is claimed again when the lease ends
    except Exception as error:  # noqa: BLE001 - a record of any age or origin must not end a replay
        log.exception("conversation.not_replayed", replay_id=str(claimed.replay_id), number=claimed.number)
        reason = f"its record cannot be read: {type(error).__name__}; see the worker's log"
        return unreadable(claimed.conversation_id, reason)


def _replayed(claimed: ClaimedConversation) -> list[ReplayedTurn]:
    options, setting = _setting(claimed.tenant_id, claimed.replay_id)
    conversation = _conversation(claimed, options, setting)
    if conversation is None:
        return []  # it was erased
    if claimed.attempt > _MAX_ATTEMPTS:
        return not_replayed(conversation, f"its workers were lost in each of {_MAX_ATTEMPTS} attempts")
    if options.fork is not None:
        changes = ForkChanges.model_validate(claimed.content)
        return forks.run(conversation, options.fork, changes, setting, options)
    return replay(conversation, setting, results_of(options, setting, conversation))


@lru_cache(maxsize=_REPLAYS)
def _setting(tenant_id: UUID, replay_id: UUID) -> tuple[ReplayOptions, Setting]:
    """Return the options of a replay and its setting. They never change."""
    with transaction(tenant_id) as db:
        options = ReplayOptions.model_validate(replays.progress(db, tenant_id, replay_id).replay.options)
    tailored = requests.tailored(options.texts)
    return options, Setting(
        tenant_id=tenant_id,
        tailored=tailored,
        tools=registry(),
        llm=llm(),
        model=options.model,
        repeat=options.repeat,
    )


def _conversation(
    claimed: ClaimedConversation, options: ReplayOptions, setting: Setting
) -> RecordedConversation | None:
    """Return a conversation as it was recorded, with the turns to replay; None if there is none any more."""
    if claimed.content is not None and options.fork is None:
        foreign = ForeignConversation.model_validate(claimed.content)
        return recorded_conversation(foreign, options.agent or settings().default_agent, setting.tools)
    with transaction(claimed.tenant_id) as db:
        rows = recorded.read(db, claimed.tenant_id, claimed.conversation_id)
    found = read_conversation(rows) if rows else None
    return found and found.model_copy(update={"turns": [_as_meant(turn, options) for turn in found.turns]})


def _as_meant(turn: RecordedTurn, options: ReplayOptions) -> RecordedTurn:
    """Return a turn that is replayed only if the request means it."""
    is_meant = options.agent in (None, turn.record.agent) and requests.is_in_time(turn.record.at, options)
    only = options.fork.turn_id if options.fork else options.turn_id
    is_meant = is_meant and only in (None, turn.turn_id)
    return turn if is_meant else turn.model_copy(update={"is_replayed": False})


class _Held:
    """The conversations that this process replays now. Their leases are renewed until they are recorded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claimed: list[ClaimedConversation] = []
        self._daemon: Daemon | None = None

    @contextmanager
    def holding(self, claimed: ClaimedConversation) -> Iterator[None]:
        with self._lock:
            self._claimed.append(claimed)
            if self._daemon is None:
                self._daemon = Daemon("replay leases", self._renew, every_s=LEASE_S / 4).start()
        try:
            yield
        finally:
            with self._lock:
                self._claimed.remove(claimed)

    def _renew(self) -> None:
        with self._lock:
            claimed = list(self._claimed)
        if claimed:
            with statement() as db:
                replays.renew(db, claimed)


_held = _Held()

"""Groups and chords begin, and chords are counted, with fewer commands than in Celery.

They run as Celery runs them: its worker tells the backend when a task of a header has ended, and the last one sends the
body. But one command to Redis sends a header, and one more counts each task. Celery has some ten commands for each
task: results that nobody reads, subscriptions to them, a claim on the body. The ledger finds a body that was not sent,
and refuses one that was sent twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from celery import chord
from celery.backends.base import DisabledBackend
from celery.canvas import Signature, _chain
from celery.states import SUCCESS
from celery.utils import uuid

from turnloom.models.connections.redis import run_script
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.workers.broker.messages import TaskMessage
from turnloom.workers.dispatch import PUBLISH_ERRORS, publish

_CHORD_S = 86_400
"""How long a chord waits for the next task of its header; then the ledger takes over."""
_COPIES_S = 300
"""How long after a chord's end copies of its messages may still come."""
_FOLLOWS = ("chain", "chord", "group_id", "group_index")


@Signature.register_type(name="fork")
class Fork(chord):
    """Branches that begin together, and the task that follows them if there is one: a chord or a group."""

    def __init__(self, header: Any, body: Any = None, **options: Any) -> None:
        super().__init__(header, body, **options)
        self["subtask_type"] = "fork"

    @property
    def is_open(self) -> bool:
        """Whether no task follows."""
        return self.body is None

    def close(self, task: Signature) -> None:
        """Let a task follow the branches."""
        self["kwargs"]["body"] = task

    def apply_async(self, *_: Any, chain: Any = None, **__: Any) -> None:  # type: ignore[override]  # nobody needs more
        """Send the fork when a chain reaches it."""
        _send([*beginning(self, self.options | ({"chain": chain} if chain else {}))])


def beginning(canvas: Signature, follows: Mapping[str, Any] | None = None) -> Iterator[TaskMessage]:
    """Yield the first messages of a canvas. `follows` says what comes after its end, as in a message."""
    follows = follows or {}
    if isinstance(canvas, Fork):
        yield from _branches(canvas, follows)
    elif isinstance(canvas, _chain):
        first, *rest = canvas.tasks
        rest[-1].options.update(follows)
        yield from beginning(first, {"chain": rest[::-1]})
    else:
        yield message(canvas, follows)


def message(task: Mapping[str, Any], follows: Mapping[str, Any]) -> TaskMessage:
    """Return the message of a plain task."""
    options = {**task["options"], **follows}
    return TaskMessage(
        task=task["task"],
        args=task["args"],
        queue=options["queue"],
        argsrepr=options["argsrepr"],
        label=options.get("shadow"),
        time_limit=options.get("time_limit"),
        follows={name: options[name] for name in _FOLLOWS if name in options},
    )


def _branches(fork: Fork, follows: Mapping[str, Any]) -> Iterator[TaskMessage]:
    body, branches = fork.body, fork.tasks
    if fork.is_open:
        for branch in branches:
            yield from beginning(branch)
        return
    body.options.update(follows)
    body["chord_size"] = len(branches)
    group_id = uuid()
    for index, branch in enumerate(branches):
        yield from beginning(branch, {"chord": body, "group_id": group_id, "group_index": index})


class Backend(DisabledBackend):
    """A backend that counts chords and keeps no results: the ledger does."""

    def on_chord_part_return(self, request: Any, state: str, *_: Any, **__: Any) -> None:
        """Count a task of a header that has ended; the last one sends the body."""
        body = request.chord
        if state != SUCCESS:
            return  # recovery continues, if there is work left
        try:
            is_last = _is_last(request.group, request.group_index, body["chord_size"])
        except Unavailable as error:
            log.warning("chord.uncounted", body=body["options"]["argsrepr"], error=error.code)
            return
        if is_last:
            reach("chord.complete")
            _send([message(body, {})])


def _send(messages: Sequence[TaskMessage]) -> None:
    try:
        publish(messages)
    except PUBLISH_ERRORS as error:
        log.warning("canvas.unsent", first=messages[0].argsrepr, error=type(error).__name__)


def _is_last(group: str, index: int, size: int) -> bool:
    return bool(run_script("chord", [f"turnloom:chord:{group}"], [index, size, _CHORD_S, _COPIES_S], spare=False))

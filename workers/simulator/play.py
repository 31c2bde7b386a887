"""Play a run: people write, one message after the answer to the one before, and the provider posts what they write.

The provider repeats some posts, swaps some messages with the next one of the same person, batches where the channel
does, and posts again what was not answered with 200.
"""

import heapq
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import httpx2

from turnloom.models.errors import Unavailable
from turnloom.workers.simulator.protocol import ProviderDialect, Sending, WrittenMessage
from turnloom.workers.simulator.provider import TakenMessage
from turnloom.workers.simulator.windows import ServiceWindows

_POSTERS = 12
_POST_S = 30.0
_PAUSE_S = 0.5
"""Before a post that failed is made again."""
_ATTEMPTS = 120
_FINAL = {401, 403, 404}
"""Answers that no further post will change."""
_SHOWN_S = 0.2
"""How often the progress is told."""
_EDITED_S = 0.5
"""After this time at most, a message is edited. Half of the edits come before their message, and again after it."""
_BATCHED = 0.5
"""The share of swapped messages that come in one body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The choices of a run: how many write how much, and what goes wrong."""

    people: int
    messages: int
    duplicates: float
    disorder: float
    edits: float = 0
    send_errors: float = 0
    closed_windows: float = 0
    """The shares of messages that are edited, of sends that are refused, and of replies that find the window closed."""
    seed: int
    run: str
    """Part of every id, so that no two runs share one."""
    patience_s: float
    """How long a person waits for an answer before writing again."""


@dataclass
class WebhookCounts:
    """The numbers of a run, on the side of the webhook."""

    written: int = 0
    accepted: set[str] = field(default_factory=set)
    """Ids of the messages that were answered with 200."""
    posts: int = 0
    repeated: int = 0
    edited: int = 0
    failed_posts: int = 0


@dataclass(frozen=True, slots=True)
class _Body:
    messages: tuple[WrittenMessage, ...]
    is_repeated: bool
    edit: "_Edit | None"


@dataclass(frozen=True, slots=True)
class _Edit:
    """The webhook of an edit, and how long after the message it comes; if that is negative, it overtakes it."""

    body: bytes
    after_s: float


@dataclass
class _Person:
    steps: list[list[_Body]]
    """What is still to be written; the bodies of a step are posted without waiting for an answer."""
    turn: int = 0
    """WebhookCounts the steps, so that a late timer does nothing."""
    is_waiting: bool = False


class Play:
    """A run in progress. Threads post; the provider's server tells of each message that it took."""

    def __init__(self, script: Script, dialect: ProviderDialect, url: str, windows: ServiceWindows) -> None:
        self.counts = WebhookCounts()
        self.messages = written(script, dialect)
        self._script, self._dialect, self._url, self._windows = script, dialect, url, windows
        self._path = httpx2.URL(url).path
        self._people = _people(self.messages, script, dialect)
        self._open = len(self._people)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._changed = threading.Condition()

    @property
    def edit_ids(self) -> list[str]:
        """Return the ids that edits may have: they follow those of the messages."""
        if not self._script.edits:
            return []
        first = self._script.messages
        return [self._dialect.message_id(self._script.run, first + number) for number in range(first)]

    def run(self, tell: Callable[[int], None]) -> None:
        """Play until every person has written everything and has got an answer or given up; `tell` gets the number."""
        for person in self._people.values():
            self._later(0, partial(self._write, person))
        with (
            httpx2.Client(timeout=_POST_S, trust_env=False, limits=httpx2.Limits(max_connections=2 * _POSTERS)) as http,
            ThreadPoolExecutor(_POSTERS) as posters,
        ):
            self._http = http
            working = [posters.submit(self._work) for _ in range(_POSTERS)]
            while self._is_open():
                tell(self.counts.written)
        for each in working:
            each.result()
        tell(self.counts.written)

    def take(self, message: TakenMessage) -> None:
        """Hear of a message of ours: the person has an answer, and the provider sends receipts."""
        for number, status in enumerate(("sent", "delivered", "read")):
            if (body := self._dialect.receipt(message.provider_id, message.sending, status)) is not None:
                self._later(0.05 * number, partial(self._post, body))
        person = self._people.get(message.sending.recipient)
        if person is not None:
            self._go_on(person, person.turn)

    def fail(self, provider_id: str, sending: Sending) -> None:
        """Hear of a message of ours that came too late: the provider has taken it, and a receipt calls it failed."""
        if (body := self._dialect.receipt(provider_id, sending, "failed")) is not None:
            self._later(0.05, partial(self._post, body))

    def _write(self, person: _Person) -> None:
        """Write the next message, or two that arrive in the wrong order, and wait for an answer."""
        with self._changed:
            bodies = person.steps.pop(0)
            person.turn += 1
            person.is_waiting = True
            turn = person.turn
        self._later(self._script.patience_s, partial(self._go_on, person, turn))
        for each in bodies:
            body = self._dialect.body(each.messages)
            self._windows.open(self._dialect.recipient(each.messages[0].person))
            if each.edit is not None and each.edit.after_s < 0:
                self._post(each.edit.body)
            self._post(body)
            self._count(each)
            if each.edit is not None:  # the second time after the message, if the first one came before
                self._later(abs(each.edit.after_s), partial(self._post, each.edit.body))
            if each.is_repeated:
                self._later(0.1, partial(self._post, body))

    def _count(self, body: _Body) -> None:
        with self._changed:
            self.counts.written += len(body.messages)
            self.counts.repeated += body.is_repeated
            self.counts.edited += body.edit is not None
            self.counts.accepted.update(each.id for each in body.messages)

    def _go_on(self, person: _Person, turn: int) -> None:
        """Let a person write again, unless that has happened since."""
        with self._changed:
            if person.turn != turn or not person.is_waiting:
                return
            person.is_waiting = False
            if person.steps:
                self._push(0.02, partial(self._write, person))
                return
            self._open -= 1
            self._changed.notify_all()

    def _post(self, body: bytes) -> None:
        """Post until it is answered with 200, as providers do.

        Raises:
            Unavailable: it never was.
        """
        for _ in range(_ATTEMPTS):
            if (status := self._status(body)) == 200:
                return
            if status in _FINAL:
                break
            time.sleep(_PAUSE_S)
        raise Unavailable(f"the webhook answers with HTTP {status}, not 200; is it the right account and URL?")

    def _status(self, body: bytes) -> int:
        headers = self._dialect.headers(body, self._path)
        try:
            status = self._http.post(self._url, content=body, headers=headers).status_code
        except httpx2.TransportError:
            status = 0
        with self._changed:
            self.counts.posts += 1
            self.counts.failed_posts += status != 200
        return status

    def _work(self) -> None:
        try:
            while (action := self._next()) is not None:
                action()
        finally:  # what one poster cannot do, no other can
            with self._changed:
                self._open = 0
                self._due.clear()
                self._changed.notify_all()

    def _next(self) -> Callable[[], None] | None:
        """Wait for what is due and return it; None at the end."""
        with self._changed:
            while self._open or self._due:
                left_s = self._due[0][0] - time.monotonic() if self._due else 1.0
                if self._due and (left_s <= 0 or not self._open):
                    return heapq.heappop(self._due)[2]
                self._changed.wait(left_s)
        return None

    def _later(self, after_s: float, action: Callable[[], None]) -> None:
        with self._changed:
            self._push(after_s, action)

    def _push(self, after_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + after_s, next(self._order), action))
        self._changed.notify()

    def _is_open(self) -> bool:
        with self._changed:
            self._changed.wait(_SHOWN_S)
            return self._open > 0


def written(script: Script, dialect: ProviderDialect) -> list[WrittenMessage]:
    """Return all messages of a run in the order in which they are written: each person's are a second apart."""
    first = int(time.time()) - script.messages // script.people - 1
    return [
        WrittenMessage(
            id=dialect.message_id(script.run, number),
            person=dialect.person(script.run, number % script.people),
            number=number,
            at=first + number // script.people,
            text=_TEXTS[number % len(_TEXTS)].format(number=number),
        )
        for number in range(script.messages)
    ]


_TEXTS = ("Hello, this is message {number}", "What can you do for me? ({number})", "Thank you! ({number})")


def _people(messages: Sequence[WrittenMessage], script: Script, dialect: ProviderDialect) -> dict[str, _Person]:
    """Return the people by where messages to them go, with all that chance decides."""
    by_person: dict[str, list[WrittenMessage]] = defaultdict(list)
    for message in messages:
        by_person[message.person].append(message)
    chance = random.Random(script.seed)  # noqa: S311 - not for secrets
    return {
        dialect.recipient(person): _Person(list(_steps(theirs, script, dialect, chance)))
        for person, theirs in by_person.items()
    }


def _steps(
    messages: Sequence[WrittenMessage], script: Script, dialect: ProviderDialect, chance: random.Random
) -> Iterator[list[_Body]]:
    place = 0
    while place < len(messages):
        is_swapped = dialect.has_order and place + 1 < len(messages) and chance.random() < script.disorder
        some = messages[place : place + 1 + is_swapped][::-1]
        place += len(some)
        if len(some) > 1 and dialect.has_batches and chance.random() < _BATCHED:
            yield [_Body(tuple(some), chance.random() < script.duplicates, None)]
        else:
            yield [_body(each, script, dialect, chance) for each in some]


def _body(message: WrittenMessage, script: Script, dialect: ProviderDialect, chance: random.Random) -> _Body:
    is_repeated, edit = chance.random() < script.duplicates, None
    if script.edits and chance.random() < script.edits:
        edit_id = dialect.message_id(script.run, script.messages + message.number)
        body = dialect.edit(message, edit_id, f"{message.text} (edited)")
        edit = None if body is None else _Edit(body, chance.uniform(-_EDITED_S, _EDITED_S))
    return _Body((message,), is_repeated, edit)

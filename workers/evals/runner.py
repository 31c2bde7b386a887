"""The runner holds golden conversations with an agent over the API, and reports how each went."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from turnloom.models.errors import NotFound, Unavailable
from turnloom.models.runtime.ids import new_id
from turnloom.workers.cli.client import Api
from turnloom.workers.evals.check import first_difference
from turnloom.workers.evals.conversations import Golden, GoldenMessage
from turnloom.workers.evals.values import difference

_DEADLINE_MS = 120_000
"""The longest wait for a turn."""
_NO_QUESTION: dict[str, Any] = {"fields": [], "choices": {}}


@dataclass(frozen=True)
class GoldenResult:
    """A golden conversation that was held, up to its first difference."""

    golden: Golden
    turns: list[dict[str, Any]]
    """The turns as the API shows them."""
    calls: list[dict[str, Any]]
    """The calls of the language model for these turns, as their traces show them."""
    difference: str | None
    """The first difference from the expectations; later messages were not sent. None: it passed."""

    @property
    def name(self) -> str:
        """Agent and name."""
        return f"{self.golden.agent}/{self.golden.name}"


def hold(api: Api, golden: Golden) -> GoldenResult:
    """Send a conversation's messages as its user would, until one is not answered as expected.

    A message that is not early is sent when the turns before it have ended.
    """
    talk = _Talk(api, golden)
    found = next((found for burst in golden.bursts() if (found := talk.differs(burst))), None)
    return GoldenResult(golden, talk.turns, talk.calls, found)


class _Sent(NamedTuple):
    """A message that was sent."""

    said: GoldenMessage
    where: str
    """Its number and its words, for the difference."""
    turn_id: str


class _Talk:
    """A golden conversation that is being held."""

    def __init__(self, api: Api, golden: Golden) -> None:
        self.turns: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self._api, self._golden = api, golden
        self._id = str(new_id())
        self._where = ""
        self._count = 0

    def differs(self, burst: Sequence[GoldenMessage]) -> str | None:
        """Send messages one right after the other, and return how the first of them was not answered as expected."""
        try:
            sent = [self._send(said) for said in burst]
            answered = {turn_id: self._answered(turn_id) for turn_id in dict.fromkeys(each.turn_id for each in sent)}
            return next((found for each in sent if (found := self._difference(each, answered[each.turn_id]))), None)
        except (Unavailable, NotFound) as error:
            return f"{self._where}: {error}"

    def _send(self, said: GoldenMessage) -> _Sent:
        time.sleep(said.silence_s)
        self._count += 1
        self._where = f"turn {self._count} ({said.say!r})"
        message = _message(said, self.turns)
        self._where = f"turn {self._count} ({message!r})"
        golden = self._golden
        request = {
            "message": message,
            "agent": golden.agent,
            "conversation_id": self._id,
            "user": {"id": golden.user, "timezone": golden.timezone, "locale": golden.locale},
            "deadline_ms": _DEADLINE_MS,
        }
        accepted = self._api.post_turn(**request, **({"mode": said.mode} if said.mode else {}))
        return _Sent(said, self._where, accepted["turn_id"])

    def _answered(self, turn_id: str) -> dict[str, Any]:
        for _ in self._api.events(turn_id):
            pass
        self.turns.append(self._api.turn(turn_id))
        self.calls += self._api.trace(turn_id)["llm_calls"]
        return self.turns[-1]

    def _difference(self, sent: _Sent, turn: dict[str, Any]) -> str | None:
        expected = sent.said.expect
        if expected is None:
            return None
        slots = self._api.memory(self._id)["slots"] if expected.slots else {}
        day = _day(turn, self._golden)
        found = first_difference(expected, turn, slots, day)
        if found is None and expected.contradictions is not None:
            known = self._api.knowledge(self._id)["contradictions"]
            found = difference(expected.contradictions, known, day, "contradictions")
        return f"{sent.where}: {found}" if found else None


def _message(said: GoldenMessage, turns: Sequence[dict[str, Any]]) -> str:
    """Return the words of a message.

    Raises:
        NotFound: they depend on a question that the turn before does not ask.
    """
    asked = _question(turns[-1]) if turns else _NO_QUESTION
    if said.choose is not None:
        offered = [choice for choices in asked["choices"].values() for choice in choices]
        if said.choose <= len(offered):
            return str(offered[said.choose - 1])
    known = {
        field: _answer(said.answers[field], asked["choices"].get(field, ()))
        for field in asked["fields"]
        if field in said.answers
    }
    if known:
        return _told(known)
    if said.say is None and said.answers:
        raise NotFound(f"the turn before asks for {asked['fields']}, expected {' or '.join(said.answers)}")
    return said.say if said.say is not None else f"choice {said.choose}"


def _question(turn: dict[str, Any]) -> dict[str, Any]:
    found = turn["reply"]["question"] if turn["reply"] else None
    return found or _NO_QUESTION


def _answer(value: str | float, offered: Sequence[Any]) -> str:
    """Return the choice that holds a value; the value itself if none does."""
    wanted = str(value).casefold()
    return next((str(choice) for choice in offered if wanted in str(choice).casefold()), str(value))


def _told(known: Mapping[str, str]) -> str:
    """Return the answer to one question as it is, and several with the names of their fields."""
    if len(known) == 1:
        return next(iter(known.values()))
    return ", ".join(f"{field.replace('_', ' ')}: {value}" for field, value in known.items())


def _day(turn: dict[str, Any], golden: Golden) -> date:
    return datetime.fromisoformat(turn["created_at"]).astimezone(ZoneInfo(golden.timezone)).date()

"""The runner holds golden conversations with an agent over the API, and reports how each went."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.ids import new_id
from turnloom.workers.cli.client import Api
from turnloom.workers.evals.check import first_difference
from turnloom.workers.evals.conversations import Golden, GoldenMessage
from turnloom.workers.evals.values import difference

_DEADLINE_MS = 120_000
"""The longest wait for a turn."""


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
    """Send a conversation's messages, each after the previous turn has ended, until one is not answered as expected."""
    conversation_id = str(new_id())
    turns: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for number, said in enumerate(golden.turns, 1):
        message = _message(said, turns)
        try:
            turns.append(_answered(api, golden, said, message, conversation_id))
            calls += api.trace(turns[-1]["turn_id"])["llm_calls"]
            found = _difference(api, said, turns[-1], golden)
        except Unavailable as error:
            found = str(error)
        if found:
            return GoldenResult(golden, turns, calls, f"turn {number} ({message!r}): {found}")
    return GoldenResult(golden, turns, calls, None)


def _message(said: GoldenMessage, turns: Sequence[dict[str, Any]]) -> str:
    offered = [choice for choices in _choices(turns[-1]).values() for choice in choices] if turns else []
    if said.choose is not None and said.choose <= len(offered):
        return str(offered[said.choose - 1])
    return said.say if said.say is not None else f"choice {said.choose}"


def _choices(turn: dict[str, Any]) -> dict[str, list[Any]]:
    question = turn["reply"]["question"] if turn["reply"] else None
    return question["choices"] if question else {}


def _answered(api: Api, golden: Golden, said: GoldenMessage, message: str, conversation_id: str) -> dict[str, Any]:
    request = {
        "message": message,
        "agent": golden.agent,
        "conversation_id": conversation_id,
        "user": {"id": golden.user, "timezone": golden.timezone, "locale": golden.locale},
        "deadline_ms": _DEADLINE_MS,
    }
    accepted = api.post_turn(**request, **({"mode": said.mode} if said.mode else {}))
    for _ in api.events(accepted["turn_id"]):
        pass
    return api.turn(accepted["turn_id"])


def _difference(api: Api, said: GoldenMessage, turn: dict[str, Any], golden: Golden) -> str | None:
    slots = api.memory(turn["conversation_id"])["slots"] if said.expect.slots else {}
    day = _day(turn, golden)
    found = first_difference(said.expect, turn, slots, day)
    if found is not None or said.expect.contradictions is None:
        return found
    known = api.knowledge(turn["conversation_id"])
    return difference(said.expect.contradictions, known["contradictions"], day, "contradictions")


def _day(turn: dict[str, Any], golden: Golden) -> date:
    return datetime.fromisoformat(turn["created_at"]).astimezone(ZoneInfo(golden.timezone)).date()

"""A run is judged by what the provider took, not by what we say of ourselves."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from turnloom.models.ledger.channel_answers import AnsweredMessage, AnswerPart
from turnloom.workers.simulator.protocol import Sending, WrittenMessage
from turnloom.workers.simulator.provider import TakenMessage
from turnloom.workers.simulator.verdict import judge

_START = datetime(2026, 12, 1, tzinfo=UTC)


def _message(number: int, person: str = "p") -> WrittenMessage:
    return WrittenMessage(f"m{number}", person, number, number, "Hi")


def _taken(*ids: str) -> list[TakenMessage]:
    return [TakenMessage(place, name, Sending("p")) for place, name in enumerate(ids, 1)]


def _answer(turn: int, *provider_ids: str | None, status: str = "sent", after_s: int = 0, begun_s: int = 1) -> Any:
    parts = tuple(AnswerPart(number, status, name) for number, name in enumerate(provider_ids, 1))
    begun_at = _START + timedelta(seconds=begun_s)
    return AnsweredMessage(_START + timedelta(seconds=after_s), "p", UUID(int=turn), begun_at, parts)


def _judged(taken: list[TakenMessage], **answered: AnsweredMessage) -> dict[str, int]:
    written = [_message(0), _message(1)]
    return judge(written, {"m0", "m1"}, taken, answered).counts()


def test_every_message_has_one_answer() -> None:
    """Two turns with a reply each, or one turn for both messages: each is answered once."""
    apart = _judged(_taken("a", "b"), m0=_answer(1, "a"), m1=_answer(2, "b"))
    merged = _judged(_taken("a", "b"), m0=_answer(1, "a", "b"), m1=_answer(1, "a", "b"))

    good = {"sent": 2, "accepted": 2, "answered_once": 2, "answered_twice": 0, "unanswered": 0, "out_of_order": 0}
    assert apart == merged == good


def test_a_reply_that_the_provider_never_took_is_none() -> None:
    """What the ledger calls sent counts only if the provider has it."""
    counts = _judged(_taken("a"), m0=_answer(1, "a"), m1=_answer(2, "b"))

    assert (counts["answered_once"], counts["unanswered"]) == (1, 1)
    assert _judged(_taken("a"), m0=_answer(1, "a"))["unanswered"] == 1


def test_a_part_that_came_twice_is_seen() -> None:
    """More messages than parts: one was sent again. A part of unknown outcome explains one message."""
    twice = _judged(_taken("a", "x", "b"), m0=_answer(1, "a"), m1=_answer(2, "b"))
    unknown = _judged(_taken("a", "x"), m0=_answer(1, "a"), m1=_answer(2, None, status="unknown"))

    assert twice["answered_twice"] == 1
    assert unknown["answered_twice"] == 0


def test_order_counts_from_when_both_messages_were_there() -> None:
    """An answer after that to a later message is out of order, unless the later one's work had begun already."""
    late = _judged(_taken("b", "a"), m0=_answer(1, "a", after_s=0), m1=_answer(2, "b", begun_s=1))
    begun = _judged(_taken("b", "a"), m0=_answer(1, "a", after_s=2), m1=_answer(2, "b", begun_s=1))

    assert late["out_of_order"] == 1
    assert begun["out_of_order"] == 0


def test_a_template_has_no_order() -> None:
    """It follows a message that the provider took, and only later called failed."""
    taken = [TakenMessage(1, "b", Sending("p")), TakenMessage(2, "a", Sending("p", is_template=True))]

    counts = _judged(taken, m0=_answer(1, "a", after_s=0), m1=_answer(2, "b", begun_s=1))

    assert (counts["answered_once"], counts["out_of_order"]) == (2, 0)

"""Show requests for approval in chat, and answer them, as the lifecycle does."""

from typing import Any
from uuid import UUID

from tests.factories import claim_turn, record_plan, step
from tests.models.ledger import channel_turns, parking, stopping
from tests.models.ledger.channel_turns import CHANNEL, item, new_turn, next_delivery
from turnloom.models.connections.database import statement
from turnloom.models.ledger import chat_answers, deliveries
from turnloom.models.ledger.chat_answers import ChatAnswer, TakenAnswer
from turnloom.models.ledger.deliveries import DeliveryOutcome
from turnloom.models.ledger.turns import OpenedTurn

Taken = OpenedTurn | TakenAnswer


def asking(number: int, *names: str, sender: str = "u1", on_error: str = "best_effort") -> UUID:
    """Return a turn of a channel whose steps, `w` or these, wait for approval."""
    opened = channel_turns.receive(number, sender=sender, on_error=on_error)
    turn = claim_turn(opened.turn_id)
    assert turn is not None
    names = names or ("w",)
    record_plan(turn, *(step(name, tool="sim.approve", args={"value": 7}) for name in names))
    for name in names:
        stopping.claim(turn.id, name)
        parking.ask(turn.id, name, hash_=f"h-{name}")
    return turn.id


def show(turn_id: UUID, provider_id: str = "m1", *, parts: int = 1) -> str:
    """Render the request that is next and send it; return the key of its part."""
    found = next_delivery(turn_id)
    assert found is not None
    assert found.request is not None
    offers = [
        {"payload": f"{decision} {found.key}", "title": title, "number": number}
        for number, (decision, title) in enumerate((("approve", "Yes"), ("reject", "No")), 1)
    ]
    with statement() as db:
        deliveries.store_parts(db, turn_id, found.part, [{"text": "?"}] * parts, offers)
    for place in range(parts):
        send_next(turn_id, f"{provider_id}-{place}" if place else provider_id)
    return found.key


def send_next(turn_id: UUID, provider_id: str = "m1", **outcome: Any) -> str | None:
    found = next_delivery(turn_id)
    assert found is not None
    attempt = channel_turns.claim(turn_id, found.part)
    assert attempt is not None
    sent = DeliveryOutcome(**{"status": "sent", "provider_id": provider_id, **outcome})
    with statement() as db:
        return deliveries.record(db, turn_id, found.part, attempt, sent)


def answer(message_id: int, said: str = "yes", *, sender: str = "u1", at: Any = None, **given: Any) -> Taken:
    """Take a message that may be an answer."""
    received = item("message", str(message_id), conversation_id=f"{CHANNEL}:{sender}", recipient=sender, at=at)
    new = new_turn(message_id, said, sender=sender, received=received)
    with statement() as db:
        return chat_answers.take(db, new, ChatAnswer(said=said, **given))


def yes(message_id: int, **given: Any) -> Taken:
    return answer(message_id, "yes", means="approve", **given)


def tap(message_id: int, decision: str, key: str, **given: Any) -> Taken:
    return answer(message_id, decision, payload=f"{decision} {key}", **given)


def told(turn_id: UUID) -> str | None:
    """Return why the person is told that an answer changed nothing, if that is what is sent next."""
    found = next_delivery(turn_id)
    return (found.says or {}).get("tell") if found else None


def decision(turn_id: UUID, name: str = "w") -> tuple[str | None, str | None]:
    """Return the decision about a step, and whose it is."""
    approval = parking.row(turn_id, name).approval or {}
    return approval.get("decision"), approval.get("by")


def outcome(taken: OpenedTurn | TakenAnswer) -> str:
    return taken.outcome

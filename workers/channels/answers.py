"""Read what a message of a person may answer: what a button was tapped for, a number, or a word for yes or no."""

from uuid import UUID

from turnloom.models.contracts.approval import Decision
from turnloom.models.ledger.chat_answers import ChatAnswer
from turnloom.models.ledger.override_cache import overrides_of
from turnloom.planner.languages.short_answers import LONGEST, number_in
from turnloom.planner.tenant_texts import tailor
from turnloom.workers.channels.protocol import Message


def read_answer(message: Message, tenant_id: UUID) -> ChatAnswer | None:
    """Return what a message may answer; None if it says more than an answer that we can read.

    Raises:
        Unavailable: Postgres does not answer.
    """
    if message.choice is not None:
        return ChatAnswer(said=message.text, payload=message.choice, quoted=message.answers)
    if message.media or len(message.text) > LONGEST:
        return None
    number, meaning = number_in(message.text), tailor(overrides_of(tenant_id)).languages.meaning(message.text)
    if number is None and meaning is None:
        return None
    return ChatAnswer(said=message.text.strip(), quoted=message.answers, number=number, means=_MEANT[meaning])


_MEANT: dict[str | None, Decision | None] = {"yes": "approve", "no": "reject", None: None}

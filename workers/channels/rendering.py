"""Render what is sent: a reply, a request to approve a call, or why an answer changed nothing."""

from collections.abc import Sequence
from typing import Any

from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger.deliveries import NextDelivery
from turnloom.planner.reply.chat_words import moot_text, request_text, yes_and_no
from turnloom.workers.channels.accounts import OpenAccount
from turnloom.workers.channels.protocol import Part, ReplyChoice
from turnloom.workers.channels.reply_texts import offered
from turnloom.workers.turns.process_parts import registry, tailored


def rendered(found: NextDelivery, account: OpenAccount) -> tuple[list[Part], list[dict[str, Any]]]:
    """Return a part as messages of its channel, and the answers that the last of them offers."""
    reply, choices = _worded(found)
    offer = offered(reply, choices)
    # On buttons without numbers, "2" may be a word of another choice, such as "2 nights".
    has_digits = any(character.isdecimal() for each in offer for character in each.title)
    counts = account.adapter.numbers(offer) or not has_digits
    offers = [
        {"payload": each.payload, "title": each.title, **({"number": number} if counts else {})}
        for number, each in enumerate(offer, 1)
    ]
    return account.adapter.render(reply, account.account, choices), offers


def _worded(found: NextDelivery) -> tuple[Reply, Sequence[ReplyChoice]]:
    if found.says is None:
        assert found.reply is not None, "a reply that was erased is not rendered"
        return found.reply, ()
    assert found.spoken is not None, "what is not rendered comes with what tells its language"
    texts = tailored(found.tenant_id)
    language = texts.languages.chosen(found.spoken["person"].get("locale"), found.spoken["messages"] or ())
    prompts = texts.prompts.spoken(language)
    if found.request is None:
        return Reply(text=moot_text(found.says["tell"], prompts)), ()
    tool = registry().tools.get(found.request["tool"])
    text = request_text(found.request["tool"], found.request["args"], tool, prompts)
    return Reply(text=text), _yes_or_no(found, *yes_and_no(language))


def _yes_or_no(found: NextDelivery, yes: str, no: str) -> Sequence[ReplyChoice]:
    """Return the answers to a request. They name what was shown; hot.is_request_payload reads them."""
    return ReplyChoice(f"approve {found.key}", yes), ReplyChoice(f"reject {found.key}", no)

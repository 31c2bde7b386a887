"""Slack, by its Events API and Web API (docs.slack.dev)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from pydantic import Field, SecretStr

from turnloom.models.contracts.turn import Reply
from turnloom.models.errors import NotFound, Unauthorized
from turnloom.planner.reply.text_split import units
from turnloom.tools.extras import require
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse
from turnloom.workers.channels.calls import answered, bearer, failed, json_request, pause
from turnloom.workers.channels.posted_items import read_json, whole
from turnloom.workers.channels.protocol import (
    AccountConfig,
    ChannelName,
    Inbound,
    Item,
    MessageRefused,
    MessageSent,
    Outcome,
    Pace,
    Part,
    ProviderAccount,
    Rate,
    ReplyChoice,
    TryLater,
    Unsure,
    WebhookAnswer,
    paced,
)
from turnloom.workers.channels.reply_texts import can_be_tapped, numbered, offered, texts
from turnloom.workers.channels.slack_items import items

require("channels", "Slack")
from slack_sdk.signature import Clock, SignatureVerifier  # noqa: E402 - after the check that it is there

API = "https://slack.com/api"

_LATER = {"ratelimited", "rate_limited", "service_unavailable", "request_timeout", "team_added_to_org"}
_UNSURE = {"fatal_error", "internal_error"}
"""Slack says of these that a part of the work may have been done."""
_BUTTONS, _BUTTON_TITLE, _SECTION = 25, 75, 3_000
_EVENT = "turnloom_delivery"
"""The type of the metadata by which a message that we sent is found again."""


class SlackConfig(AccountConfig):
    """An account of Slack: one app in one workspace."""

    signing_secret: SecretStr = Field(min_length=1)
    bot_token: SecretStr = Field(min_length=1)


class _At(Clock):
    def __init__(self, now: datetime) -> None:
        self._now = now.timestamp()

    def now(self) -> float:
        return self._now


class Slack:
    """The adapter of Slack."""

    name: ClassVar[ChannelName] = "slack"
    config: ClassVar[type[AccountConfig]] = SlackConfig
    posts_again: ClassVar[bool] = True

    def verify(self, account: ProviderAccount, request: Inbound, now: datetime) -> None:
        verifier = SignatureVerifier(account.config.signing_secret.get_secret_value(), _At(now))
        try:
            is_valid = verifier.is_valid_request(request.body, dict(request.headers))
        except (ValueError, TypeError, OverflowError):  # a timestamp or a body of other characters than Slack's
            is_valid = False
        if not is_valid:
            message = "X-Slack-Signature is missing or wrong, or X-Slack-Request-Timestamp is five minutes off"
            raise Unauthorized(message, code="bad_signature")

    def handshake(self, account: ProviderAccount, request: Inbound) -> WebhookAnswer | None:
        if request.method == "GET":
            raise NotFound("Slack posts to this address; nothing can be read from it")
        if b"url_verification" not in request.body:
            return None
        try:
            body = read_json(request.body)
        except (ValueError, RecursionError):
            return None
        match body:
            case {"type": "url_verification", "challenge": str(challenge)}:
                return WebhookAnswer(challenge[:1_000])
        return None

    def parse(self, account: ProviderAccount, request: Inbound) -> list[Item]:
        return whole(items, request.body)

    def accepted(self, items: Sequence[Item]) -> WebhookAnswer:
        return WebhookAnswer()

    def render(self, reply: Reply, account: ProviderAccount, choices: Sequence[ReplyChoice] = ()) -> list[Part]:
        offer = offered(reply, choices)
        if self.numbers(offer):
            reply, offer = numbered(reply, offer), []
        *before, last = texts(reply, "slack", last=_SECTION if offer else None)
        return [*map(_text, before), _with_buttons(last, offer) if offer else _text(last)]

    def numbers(self, choices: Sequence[ReplyChoice]) -> bool:
        has_long_titles = any(units(choice.title) > _BUTTON_TITLE for choice in choices)
        return has_long_titles or not can_be_tapped(choices, _BUTTONS)

    def window(self, account: ProviderAccount) -> timedelta | None:
        return None

    def template(self, account: ProviderAccount) -> Part | None:
        return None

    def request(self, account: ProviderAccount, recipient: str, part: Part, key: str) -> UpstreamRequest:
        channel, _, thread = recipient.partition("/")
        where = {"channel": channel, **({"thread_ts": thread} if thread else {})}
        mark = {"metadata": {"event_type": _EVENT, "event_payload": {"key": key}}}
        return json_request(account, _url(account, "chat.postMessage"), {**where, **part, **mark}, _auth(account))

    def outcome(self, answer: UpstreamResponse) -> Outcome:
        if answer.status == 429:
            return TryLater("recipient", "ratelimited", pause(answer.headers.get("retry-after")))
        match answered(answer):
            case {"ok": True, "ts": str(ts), "channel": str(channel)}:
                return MessageSent(f"{channel}/{ts}")
            case {"ok": False, "error": str(error)} if error in _LATER:
                scope = "recipient" if error.startswith("rate") else "number"
                return TryLater(scope, error[:40], pause(answer.headers.get("retry-after")))  # type: ignore[arg-type]
            case {"ok": False, "error": str(error)} if error in _UNSURE:
                return Unsure(f"Slack says {error}")
            case {"ok": False, "error": str(error)}:
                return MessageRefused(error[:40], f"Slack says {error[:300]}")
        return failed(answer)

    def search(
        self, account: ProviderAccount, recipient: str, part: Part, key: str, since: datetime
    ) -> UpstreamRequest | None:
        channel, _, thread = recipient.partition("/")
        method = "conversations.replies" if thread else "conversations.history"
        params = {
            "channel": channel,
            "oldest": f"{since.timestamp():.6f}",
            "include_all_metadata": "true",
            "limit": "200",
        }
        return UpstreamRequest(
            url=_url(account, method),
            params={**params, **({"ts": thread} if thread else {})},
            headers=_auth(account),
            is_named_by_others=account.config.api_base is not None,
        )

    def found(self, answer: UpstreamResponse, recipient: str, part: Part, key: str) -> MessageSent | Unsure | None:
        match answered(answer):
            case {"ok": True, "messages": list(messages)} as body:
                for message in messages:
                    match message:
                        case {"ts": str(ts), "metadata": {"event_type": event, "event_payload": {"key": found}}}:
                            if event == _EVENT and found == key:
                                return MessageSent(f"{recipient.partition('/')[0]}/{ts}")
                return Unsure("Slack has more messages than it showed") if body.get("has_more") else None
        return Unsure("Slack did not say what was sent")

    def probe(self, account: ProviderAccount) -> UpstreamRequest:
        return json_request(account, _url(account, "auth.test"), {}, _auth(account))

    def fault(self, answer: UpstreamResponse) -> str | None:
        match answered(answer):
            case {"ok": True}:
                return None
            case {"ok": False, "error": error}:
                return f"Slack says: {str(error)[:300]}"
        return f"{answer.host} answered with HTTP {answer.status}, not with the app's user"

    def pace(self, account: ProviderAccount) -> Pace:
        # Slack says "several hundred a minute" of a workspace.
        return paced(account, Pace(Rate(1, burst=3), Rate(5, burst=20)))


def _text(text: str) -> Part:
    return {"text": text, "unfurl_links": False, "unfurl_media": False}


def _with_buttons(text: str, offer: Sequence[ReplyChoice]) -> Part:
    buttons = [
        {
            "type": "button",
            "action_id": f"choice_{number}",
            "text": {"type": "plain_text", "text": choice.title},
            "value": choice.payload,
        }
        for number, choice in enumerate(offer, 1)
    ]
    section = {"type": "section", "text": {"type": "mrkdwn", "text": text}}
    return {**_text(text), "blocks": [section, {"type": "actions", "elements": buttons}]}


def _url(account: ProviderAccount, method: str) -> str:
    return f"{(account.config.api_base or API).rstrip('/')}/{method}"


def _auth(account: ProviderAccount) -> dict[str, str]:
    return dict(bearer(account.config.bot_token))


ADAPTER = Slack()

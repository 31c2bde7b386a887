"""SMS and WhatsApp, by Twilio's Messaging API (twilio.com/docs/messaging)."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import AliasChoices, ConfigDict, Field, SecretStr

from turnloom.models.contracts.turn import Reply
from turnloom.models.errors import NotFound, Unauthorized
from turnloom.tools.extras import require
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse
from turnloom.workers.channels.calls import answered, basic, failed, pause
from turnloom.workers.channels.posted_items import (
    attempt,
    identifier,
    optional_identifier,
    person,
    said,
    storable,
    unknown,
    whole,
)
from turnloom.workers.channels.protocol import (
    AccountConfig,
    ChannelName,
    Inbound,
    Item,
    Media,
    Message,
    MessageRefused,
    MessageSent,
    Outcome,
    Pace,
    Part,
    ProviderAccount,
    Rate,
    Receipt,
    ReplyChoice,
    TryLater,
    Unsure,
    WebhookAnswer,
    WindowClosed,
    paced,
)
from turnloom.workers.channels.reply_texts import numbered, offered, texts

require("channels", "Twilio")
from twilio.request_validator import RequestValidator  # noqa: E402 - after the check that it is there

API = "https://api.twilio.com"

_STATUSES = {
    "accepted": "sent",
    "scheduled": "sent",
    "queued": "sent",
    "sending": "sent",
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "undelivered": "failed",
    "failed": "failed",
    "canceled": "failed",
}
"""Twilio reports each move of a message; whatever comes before `sent` is no news to us."""
_WINDOW = {"63016"}
_LATER = {"20429", "14107", "20503", "30022", "63017", "63018", "63038"}
"""Too many calls or messages, or a service that does not work for now. Nothing was taken."""
_UNSURE = {"20500"}
_MOST_FIELDS = 500
_EMPTY_TWIML = '<?xml version="1.0" encoding="UTF-8"?><Response></Response>'


class TwilioConfig(AccountConfig):
    """An account of Twilio: one sender, of SMS (`+1…`) or of WhatsApp (`whatsapp:+1…`)."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    auth_token: SecretStr = Field(min_length=1)
    account_sid: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]+$")
    sender: str = Field(
        min_length=1, max_length=64, validation_alias=AliasChoices("from", "sender"), serialization_alias="from"
    )
    """`from`: the number or the name that messages come from."""
    public_url: str = Field(max_length=2000, pattern=r"^https?://[^\s/?#]+[^\s#]*$")
    """The address of the webhook as Twilio calls it, or of the server alone. The signature covers it."""
    template: str | None = Field(None, max_length=64)
    """The ContentSid of an approved template. It is sent when the window of WhatsApp has closed."""


class Twilio:
    """The adapter of Twilio."""

    name: ClassVar[ChannelName] = "twilio"
    config: ClassVar[type[AccountConfig]] = TwilioConfig
    posts_again: ClassVar[bool] = False

    def verify(self, account: ProviderAccount, request: Inbound, now: datetime) -> None:
        given = request.headers.get("x-twilio-signature", "")
        if not given or not given.isascii() or not _is_signed(account, request, given):
            message = "X-Twilio-Signature is missing, or does not fit the account's auth_token and public_url"
            raise Unauthorized(message, code="bad_signature")

    def handshake(self, account: ProviderAccount, request: Inbound) -> WebhookAnswer | None:
        if request.method == "GET":
            raise NotFound("set the webhook's method to POST in Twilio's console")
        return None

    def parse(self, account: ProviderAccount, request: Inbound) -> list[Item]:
        return whole(lambda body: [attempt(_item, storable(dict(_form(body))), "form")], request.body)

    def accepted(self, items: Sequence[Item]) -> WebhookAnswer:
        return WebhookAnswer('<?xml version="1.0" encoding="UTF-8"?><Response></Response>', "text/xml")

    def render(self, reply: Reply, account: ProviderAccount, choices: Sequence[ReplyChoice] = ()) -> list[Part]:
        offer = offered(reply, choices)
        # Buttons need a template that Meta approved; a number does not.
        reply = numbered(reply, offer) if offer else reply
        return [{"Body": text} for text in texts(reply, "sms")]

    def numbers(self, choices: Sequence[ReplyChoice]) -> bool:
        return True

    def window(self, account: ProviderAccount) -> timedelta | None:
        return timedelta(hours=24) if _is_whatsapp(account) else None

    def template(self, account: ProviderAccount) -> Part | None:
        return None if account.config.template is None else {"ContentSid": account.config.template}

    def request(self, account: ProviderAccount, recipient: str, part: Part, key: str) -> UpstreamRequest:
        to = {"To": recipient, "From": account.config.sender, "StatusCallback": _webhook(account)}
        return UpstreamRequest(
            url=_url(account, "/Messages.json"),
            method="POST",
            headers=_auth(account),
            form={**to, **part},
            is_named_by_others=account.config.api_base is not None,
        )

    def outcome(self, answer: UpstreamResponse) -> Outcome:
        match answered(answer):
            case {"sid": str(sid)} if answer.status < 300:
                return MessageSent(sid)
            case {"code": int(code)} as error:
                after = pause(answer.headers.get("retry-after"))
                return _failure(str(code), str(error.get("message") or "no reason given"), after)
        return failed(answer)

    def search(
        self, account: ProviderAccount, recipient: str, part: Part, key: str, since: datetime
    ) -> UpstreamRequest | None:
        return UpstreamRequest(
            url=_url(account, "/Messages.json"),
            params={"To": recipient, "From": account.config.sender, "DateSent>": since.strftime("%Y-%m-%dT%H:%M:%SZ")},
            headers=_auth(account),
            is_named_by_others=account.config.api_base is not None,
        )

    def found(self, answer: UpstreamResponse, recipient: str, part: Part, key: str) -> MessageSent | Unsure | None:
        match answered(answer):
            case {"messages": list(messages)}:
                same = (each for each in messages if isinstance(each, dict) and each.get("body") == part.get("Body"))
                sid = next((each["sid"] for each in same if isinstance(each.get("sid"), str)), None)
                return None if sid is None else MessageSent(sid)
        return Unsure("Twilio did not say what was sent")

    def probe(self, account: ProviderAccount) -> UpstreamRequest:
        return UpstreamRequest(
            url=_url(account, ".json"), headers=_auth(account), is_named_by_others=account.config.api_base is not None
        )

    def fault(self, answer: UpstreamResponse) -> str | None:
        match answered(answer):
            case {"status": "active"}:
                return None
            case {"status": str(status), "sid": _}:
                return f"the account is {status[:40]}"
            case {"message": message}:
                return f"Twilio says: {str(message)[:300]}"
        return f"{answer.host} answered with HTTP {answer.status}, not with the account"

    def pace(self, account: ProviderAccount) -> Pace:
        # Twilio queues what a number may not send yet, so this only keeps its queue short.
        return paced(account, Pace(Rate(1, burst=3), Rate(80 if _is_whatsapp(account) else 10, burst=10)))


def _form(body: bytes) -> list[tuple[str, str]]:
    if body.startswith(b"{"):
        raise ValueError("not a form")
    return parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)


def _is_signed(account: ProviderAccount, request: Inbound, given: str) -> bool:
    validator = RequestValidator(account.config.auth_token.get_secret_value())
    try:
        is_form = "json" not in request.headers.get("content-type", "") and not request.body.startswith(b"{")
        params: Any = _fields(request.body) if is_form else request.body.decode()
        return any(validator.validate(url, params, given) for url in _called(account, request))
    except (ValueError, TypeError):  # a body or a URL of other characters than Twilio's
        return False


class _Fields(dict[str, list[str]]):
    """Fields of a form, each with all its values, as the validator wants them."""

    def getall(self, name: str) -> list[str]:
        return self[name]


def _fields(body: bytes) -> _Fields:
    fields = _Fields()
    for name, value in _form(body):
        fields.setdefault(name, []).append(value)
    return fields


def _called(account: ProviderAccount, request: Inbound) -> list[str]:
    """Return the URLs that Twilio may have called: `public_url` names the webhook or only the server."""
    public, seen = account.config.public_url, urlsplit(request.url)
    query = f"?{seen.query}" if seen.query else ""
    webhook = public if "?" in public else f"{public}{query}"
    return list(dict.fromkeys([webhook, f"{public.rstrip('/')}{seen.path}{query}"]))


def _item(raw: Mapping[str, str]) -> Item:
    status = raw.get("MessageStatus") or raw.get("SmsStatus")
    if status in _STATUSES and "Body" not in raw:
        return _receipt(raw, status)
    if "Body" not in raw and not raw.get("NumMedia", "0").strip("0"):
        return unknown(raw.get("EventType") or status or "form", raw)
    message_id, sender = identifier(raw["MessageSid"]), identifier(raw["From"], 64)
    media = tuple(_media(raw, number) for number in range(min(int(raw.get("NumMedia") or 0), 10)))
    return Message(
        provider_id=message_id,
        reference=message_id,
        sender=sender,
        sender_name=person(raw.get("ProfileName")),
        recipient=sender,
        text=said(raw.get("Body") or raw.get("ButtonText") or "", media),
        media=media,
        choice=raw.get("ButtonPayload") or None,
        answers=optional_identifier(raw.get("OriginalRepliedMessageSid")),
    )


def _receipt(raw: Mapping[str, str], status: str) -> Receipt:
    word = _STATUSES[status]
    code = raw.get("ErrorCode") or status
    return Receipt(
        provider_id=identifier(raw.get("MessageSid") or raw["SmsSid"]),
        status=word,  # type: ignore[arg-type]
        failure=_known_failure(code, raw.get("ErrorMessage") or "Twilio gave no reason") if word == "failed" else None,
        recipient=optional_identifier(raw.get("To")),
    )


def _media(raw: Mapping[str, str], number: int) -> Media:
    mime = raw.get(f"MediaContentType{number}", "")
    kind = mime.partition("/")[0]
    sid = raw.get(f"MediaUrl{number}", "").rpartition("/")[2]
    return Media(kind if kind in {"image", "audio", "video"} else "file", optional_identifier(sid), person(mime))


def _failure(code: str, why: str, after_s: float | None) -> TryLater | MessageRefused | WindowClosed | Unsure:
    return Unsure(f"Twilio says {why[:300]}") if code in _UNSURE else _known_failure(code, why, after_s)


def _known_failure(code: str, why: str, after_s: float | None = None) -> TryLater | MessageRefused | WindowClosed:
    if code in _WINDOW:
        return WindowClosed(code)
    if code in _LATER:
        return TryLater("number", code, after_s)
    return MessageRefused(code[:40], why[:300])


def _is_whatsapp(account: ProviderAccount) -> bool:
    return bool(account.config.sender.startswith("whatsapp:"))


def _webhook(account: ProviderAccount) -> str:
    """Return where Twilio shall report what became of a message."""
    url = str(account.config.public_url)
    is_server = urlsplit(url).path in {"", "/"}
    return f"{url.rstrip('/')}/v1/channels/twilio/{account.id}" if is_server else url


def _url(account: ProviderAccount, path: str) -> str:
    base = (account.config.api_base or API).rstrip("/")
    return f"{base}/2010-04-01/Accounts/{account.config.account_sid}{path}"


def _auth(account: ProviderAccount) -> Mapping[str, str]:
    return basic(account.config.account_sid, account.config.auth_token)


ADAPTER = Twilio()

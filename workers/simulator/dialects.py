"""Each provider's side of its protocol: how it posts messages and receipts, and how it answers what we send."""

import hmac
import json
import random
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha1, sha256
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from turnloom.workers.channels.protocol import ProviderAccount, secret
from turnloom.workers.simulator.protocol import ProviderDialect, Refusal, Sending, WrittenMessage


class _WhatsApp:
    has_batches, has_order = True, True

    def __init__(self, account: ProviderAccount) -> None:
        self._account = account
        self._numbers = count(1)

    def message_id(self, run: str, number: int) -> str:
        return f"wamid.{run}{number:06}"

    def person(self, run: str, number: int) -> str:
        return f"999{run}{number:05}"

    def recipient(self, person: str) -> str:
        return person

    def body(self, messages: Sequence[WrittenMessage]) -> bytes:
        written = [
            {"from": each.person, "id": each.id, "timestamp": str(each.at), "type": "text", "text": {"body": each.text}}
            for each in messages
        ]
        people = [{"wa_id": each.person, "profile": {"name": f"Person {each.person[-5:]}"}} for each in messages]
        return self._wrapped({"contacts": people, "messages": written})

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:
        said = {
            "id": provider_id,
            "status": status,
            "timestamp": str(int(time.time())),
            "recipient_id": sending.recipient,
        }
        return self._wrapped({"statuses": [{**said, "biz_opaque_callback_data": sending.key}]})

    def headers(self, body: bytes, path: str) -> dict[str, str]:  # noqa: ARG002 - the body alone is signed
        mac = hmac.new(secret(self._account.config.app_secret), body, sha256).hexdigest()
        return {"Content-Type": "application/json", "X-Hub-Signature-256": f"sha256={mac}"}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        if not path.endswith("/messages"):
            return None
        sent = json.loads(body)
        return Sending(sent["to"], sent.get("biz_opaque_callback_data"))

    def new_id(self, sending: Sending) -> str:
        return f"wamid.out{next(self._numbers):07}.{sending.recipient}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        contacts = [{"input": sending.recipient, "wa_id": sending.recipient}]
        return {"messaging_product": "whatsapp", "contacts": contacts, "messages": [{"id": provider_id}]}

    def refusal(self, chance: random.Random) -> Refusal:
        code, status = chance.choice([(131056, 400), (130429, 429), (131016, 500)])
        return status, {}, {"error": {"message": f"(#{code}) not now", "type": "OAuthException", "code": code}}

    def known_account(self) -> Any:
        return {"id": self._account.config.phone_number_id}

    def _wrapped(self, value: dict[str, Any]) -> bytes:
        metadata = {"display_phone_number": "99900000", "phone_number_id": self._account.config.phone_number_id}
        inside = {"messaging_product": "whatsapp", "metadata": metadata, **value}
        change = {"field": "messages", "value": inside}
        return json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]}]}).encode()


class _Telegram:
    has_batches, has_order = False, True

    def __init__(self, account: ProviderAccount) -> None:
        self._account = account
        self._numbers = count(1_000_000)
        self._first_update = int(time.time() * 1_000)

    def message_id(self, run: str, number: int) -> str:  # noqa: ARG002 - updates count across runs
        return str(self._first_update + number)

    def person(self, run: str, number: int) -> str:
        return f"9{run}{number:05}"

    def recipient(self, person: str) -> str:
        return person

    def body(self, messages: Sequence[WrittenMessage]) -> bytes:
        (each,) = messages
        person = {"id": int(each.person), "is_bot": False, "first_name": f"Person {each.person[-5:]}"}
        said = {
            "message_id": each.number + 1,
            "date": each.at,
            "from": person,
            "chat": {"id": int(each.person), "type": "private"},
        }
        return json.dumps({"update_id": int(each.id), "message": {**said, "text": each.text}}).encode()

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:  # noqa: ARG002 - Telegram has none
        return None

    def headers(self, body: bytes, path: str) -> dict[str, str]:  # noqa: ARG002 - nothing is signed
        token = self._account.config.secret_token.get_secret_value()
        return {"Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": token}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        return Sending(str(json.loads(body)["chat_id"])) if path.endswith("/sendMessage") else None

    def new_id(self, sending: Sending) -> str:
        return f"{sending.recipient}/{next(self._numbers)}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        message_id = int(provider_id.partition("/")[2])
        return {
            "ok": True,
            "result": {"message_id": message_id, "chat": _private(sending.recipient)},
        }

    def refusal(self, chance: random.Random) -> Refusal:  # noqa: ARG002 - there is one
        said = {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 1"}
        return 429, {}, {**said, "parameters": {"retry_after": 1}}

    def known_account(self) -> Any:
        return {"ok": True, "result": {"id": 1, "is_bot": True, "username": "simulated_bot"}}


def _private(person: str) -> dict[str, Any]:
    return {"id": int(person), "type": "private"}


class _Slack:
    has_batches, has_order = False, True

    def __init__(self, account: ProviderAccount) -> None:
        self._account = account
        self._numbers = count(1)

    def message_id(self, run: str, number: int) -> str:
        return f"Ev{run}{number:06}"

    def person(self, run: str, number: int) -> str:
        return f"U{run}{number:05}"

    def recipient(self, person: str) -> str:
        return f"D{person[1:]}"

    def body(self, messages: Sequence[WrittenMessage]) -> bytes:
        (each,) = messages
        ts = f"{each.at}.{each.number:06}"
        said = {
            "type": "message",
            "user": each.person,
            "channel": f"D{each.person[1:]}",
            "channel_type": "im",
            "ts": ts,
        }
        return json.dumps(
            {"type": "event_callback", "event_id": each.id, "event": {**said, "text": each.text}}
        ).encode()

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:  # noqa: ARG002 - Slack has none
        return None

    def headers(self, body: bytes, path: str) -> dict[str, str]:  # noqa: ARG002 - body and time are signed
        at = str(int(time.time()))
        mac = hmac.new(secret(self._account.config.signing_secret), f"v0:{at}:".encode() + body, sha256).hexdigest()
        return {"Content-Type": "application/json", "X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={mac}"}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        return Sending(str(json.loads(body)["channel"])) if path.endswith("/chat.postMessage") else None

    def new_id(self, sending: Sending) -> str:
        return f"{sending.recipient}/{int(time.time())}.{next(self._numbers):06}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        return {"ok": True, "channel": sending.recipient, "ts": provider_id.partition("/")[2]}

    def refusal(self, chance: random.Random) -> Refusal:  # noqa: ARG002 - there is one
        return 429, {"Retry-After": "1"}, {"ok": False, "error": "ratelimited"}

    def known_account(self) -> Any:
        return {"ok": True, "user_id": "USIMULATED"}


class _Twilio:
    has_batches, has_order = False, False

    def __init__(self, account: ProviderAccount) -> None:
        self._account = account
        self._prefix = "whatsapp:" if account.config.sender.startswith("whatsapp:") else ""
        self._numbers = count(1)

    def message_id(self, run: str, number: int) -> str:
        return f"SM{run}{number:06}"

    def person(self, run: str, number: int) -> str:
        return f"{self._prefix}+999{run}{number:05}"

    def recipient(self, person: str) -> str:
        return person

    def body(self, messages: Sequence[WrittenMessage]) -> bytes:
        (each,) = messages
        said = {"MessageSid": each.id, "From": each.person, "To": self._account.config.sender, "NumMedia": "0"}
        return urlencode({**said, "AccountSid": self._account.config.account_sid, "Body": each.text}).encode()

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:
        return urlencode({"MessageSid": provider_id, "MessageStatus": status, "To": sending.recipient}).encode()

    def headers(self, body: bytes, path: str) -> dict[str, str]:
        public = self._account.config.public_url
        called = f"{public.rstrip('/')}{path}" if urlsplit(public).path in {"", "/"} else public
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
        said = called + "".join(f"{name}{fields[name]}" for name in sorted(fields))
        mac = hmac.new(secret(self._account.config.auth_token), said.encode(), sha1).digest()
        return {"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": b64encode(mac).decode()}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        fields = dict(parse_qsl(body.decode()))
        return Sending(fields["To"]) if "To" in fields and path.endswith("/Messages.json") else None

    def new_id(self, sending: Sending) -> str:  # noqa: ARG002 - ids are the account's
        return f"SMout{next(self._numbers):027}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        return {"sid": provider_id, "status": "queued", "to": sending.recipient}

    def refusal(self, chance: random.Random) -> Refusal:  # noqa: ARG002 - there is one
        return 429, {"Retry-After": "1"}, {"code": 20429, "message": "Too Many Requests", "status": 429}

    def known_account(self) -> Any:
        return {"sid": self._account.config.account_sid, "status": "active", "messages": []}


_DIALECTS: dict[str, Callable[[ProviderAccount], ProviderDialect]] = {
    "whatsapp": _WhatsApp,
    "telegram": _Telegram,
    "slack": _Slack,
    "twilio": _Twilio,
}


def dialect(account: ProviderAccount) -> ProviderDialect:
    """Return the provider's side of an account's channel."""
    return _DIALECTS[account.channel](account)

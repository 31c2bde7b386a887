"""Twilio's side of its protocol: signed forms, receipts, and on WhatsApp windows that close."""

import hmac
import random
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha1
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from turnloom.workers.channels.protocol import ProviderAccount, secret
from turnloom.workers.simulator.protocol import Refusal, Sending, WrittenMessage

_CLOSED = 63016


class TwilioProvider:
    """The provider of an account of Twilio."""

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

    def edit(self, message: WrittenMessage, edit_id: str, text: str) -> bytes | None:  # noqa: ARG002 - Twilio has none
        return None

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:
        said = {"MessageSid": provider_id, "MessageStatus": status, "To": sending.recipient}
        return urlencode({**said, "ErrorCode": _CLOSED} if status == "failed" else said).encode()

    def headers(self, body: bytes, path: str) -> dict[str, str]:
        public = self._account.config.public_url
        called = f"{public.rstrip('/')}{path}" if urlsplit(public).path in {"", "/"} else public
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
        said = called + "".join(f"{name}{fields[name]}" for name in sorted(fields))
        mac = hmac.new(secret(self._account.config.auth_token), said.encode(), sha1).digest()
        return {"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": b64encode(mac).decode()}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        fields = dict(parse_qsl(body.decode()))
        if "To" not in fields or not path.endswith("/Messages.json"):
            return None
        return Sending(fields["To"], is_template="ContentSid" in fields)

    def new_id(self, sending: Sending) -> str:  # noqa: ARG002 - ids are the account's
        return f"SMout{next(self._numbers):027}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        return {"sid": provider_id, "status": "queued", "to": sending.recipient}

    def refusal(self, chance: random.Random) -> Refusal:  # noqa: ARG002 - there is one, and it names no pause
        return 429, {}, {"code": 20429, "message": "Too Many Requests", "status": 429}

    def closed_window(self) -> Refusal | None:
        if not self._prefix:
            return None
        return 400, {}, {"code": _CLOSED, "message": "Outside the allowed window", "status": 400}

    def known_account(self) -> Any:
        return {"sid": self._account.config.account_sid, "status": "active", "messages": []}

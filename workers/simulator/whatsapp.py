"""WhatsApp's side of its protocol: batches, edits and receipts are posted, and a closed window is an error."""

import hmac
import json
import random
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any

from turnloom.workers.channels.protocol import ProviderAccount, secret
from turnloom.workers.simulator.protocol import Refusal, Sending, WrittenMessage

_CLOSED = 131047


class WhatsAppProvider:
    """The provider of an account of WhatsApp."""

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

    def edit(self, message: WrittenMessage, edit_id: str, text: str) -> bytes | None:
        said = {"original_message_id": message.id, "message": {"type": "text", "text": {"body": text}}}
        head = {"from": message.person, "id": edit_id, "timestamp": str(message.at)}
        return self._wrapped({"messages": [{**head, "type": "edit", "edit": said}]})

    def receipt(self, provider_id: str, sending: Sending, status: str) -> bytes | None:
        said = {
            "id": provider_id,
            "status": status,
            "timestamp": str(int(time.time())),
            "recipient_id": sending.recipient,
        }
        errors = {"errors": [{"code": _CLOSED, "title": "Re-engagement message"}]} if status == "failed" else {}
        return self._wrapped({"statuses": [{**said, "biz_opaque_callback_data": sending.key, **errors}]})

    def headers(self, body: bytes, path: str) -> dict[str, str]:  # noqa: ARG002 - the body alone is signed
        mac = hmac.new(secret(self._account.config.app_secret), body, sha256).hexdigest()
        return {"Content-Type": "application/json", "X-Hub-Signature-256": f"sha256={mac}"}

    def read(self, path: str, headers: Mapping[str, str], body: bytes) -> Sending | None:  # noqa: ARG002 - the body says all
        if not path.endswith("/messages"):
            return None
        sent = json.loads(body)
        return Sending(sent["to"], sent.get("biz_opaque_callback_data"), sent["type"] == "template")

    def new_id(self, sending: Sending) -> str:
        return f"wamid.out{next(self._numbers):07}.{sending.recipient}"

    def taken(self, provider_id: str, sending: Sending) -> Any:
        contacts = [{"input": sending.recipient, "wa_id": sending.recipient}]
        return {"messaging_product": "whatsapp", "contacts": contacts, "messages": [{"id": provider_id}]}

    def refusal(self, chance: random.Random) -> Refusal:
        code, status = chance.choice([(131056, 400), (130429, 429), (131016, 500)])
        return status, {}, _meta_error(code, "not now")

    def closed_window(self) -> Refusal | None:
        return 400, {}, _meta_error(_CLOSED, "Re-engagement message")

    def known_account(self) -> Any:
        return {"id": self._account.config.phone_number_id}

    def _wrapped(self, value: dict[str, Any]) -> bytes:
        metadata = {"display_phone_number": "99900000", "phone_number_id": self._account.config.phone_number_id}
        inside = {"messaging_product": "whatsapp", "metadata": metadata, **value}
        change = {"field": "messages", "value": inside}
        return json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]}]}).encode()


def _meta_error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"message": f"(#{code}) {message}", "type": "OAuthException", "code": code}}

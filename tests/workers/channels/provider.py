"""A provider of messages that runs in a test, and the adapter of its channel.

The provider answers a send as its script says, and remembers what it took. It can be asked by the key of a delivery.
"""

import json
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

import pytest
from werkzeug import Request, Response

from tests.tools.serving import LocalServer
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.turn import Reply
from turnloom.models.errors import Unauthorized
from turnloom.models.ledger import channel_accounts
from turnloom.models.runtime import secrets
from turnloom.models.runtime.settings import settings
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse
from turnloom.workers.channels.protocol import (
    AccountConfig,
    ChannelName,
    Edit,
    Inbound,
    Item,
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
    Unknown,
    Unsure,
    WebhookAnswer,
    WindowClosed,
    paced,
)

SECRET = {"X-Secret": "shared"}
_NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Config(AccountConfig):
    can_ask: bool = True
    template: str | None = None


class Adapter:
    """The channel's adapter. A webhook is `{"items": [...]}`; each item names its kind."""

    name: ClassVar[ChannelName] = "telegram"
    config = Config
    posts_again = True

    def verify(self, account: ProviderAccount, request: Inbound, now: datetime) -> None:
        if request.headers.get("x-secret") != "shared":
            raise Unauthorized("the signature is wrong")

    def handshake(self, account: ProviderAccount, request: Inbound) -> WebhookAnswer | None:
        return WebhookAnswer("here") if request.method == "GET" else None

    def accepted(self, items: Sequence[Item]) -> WebhookAnswer:
        return WebhookAnswer("taken")

    def parse(self, account: ProviderAccount, request: Inbound) -> list[Item]:
        return [_item(each) for each in json.loads(request.body)["items"]]

    def render(self, reply: Reply, account: ProviderAccount, choices: Sequence[ReplyChoice] = ()) -> list[Part]:
        return [{"text": line} for line in reply.text.splitlines()]

    def numbers(self, choices: Sequence[ReplyChoice]) -> bool:
        return False

    def window(self, account: ProviderAccount) -> timedelta | None:
        return timedelta(hours=24)

    def template(self, account: ProviderAccount) -> Part | None:
        return {"template": account.config.template} if account.config.template else None

    def request(self, account: ProviderAccount, recipient: str, part: Part, key: str) -> UpstreamRequest:
        body = json.dumps({"to": recipient, "part": part, "key": key}).encode()
        return UpstreamRequest(method="POST", url=f"{account.config.api_base}/send", content=body)

    def outcome(self, answer: UpstreamResponse) -> Outcome:
        said = json.loads(answer.body or b"{}")
        match answer.status:
            case 200:
                return MessageSent(said["id"])
            case 429:
                return TryLater("recipient", "429", said.get("after_s"))
            case 470:
                return WindowClosed("470")
            case 500:
                return Unsure("the provider failed")
        return MessageRefused(str(answer.status), "refused")

    def search(
        self, account: ProviderAccount, recipient: str, part: Part, key: str, since: datetime
    ) -> UpstreamRequest | None:
        return UpstreamRequest(url=f"{account.config.api_base}/sent/{key}") if account.config.can_ask else None

    def found(self, answer: UpstreamResponse, recipient: str, part: Part, key: str) -> MessageSent | Unsure | None:
        return MessageSent(json.loads(answer.body)["id"]) if answer.status == 200 else None

    def probe(self, account: ProviderAccount) -> UpstreamRequest:
        return UpstreamRequest(url=f"{account.config.api_base}/me")

    def fault(self, answer: UpstreamResponse) -> str | None:
        return None if answer.status == 200 else "the token is wrong"

    def pace(self, account: ProviderAccount) -> Pace:
        return paced(account, Pace(Rate(1_000, 100), Rate(1_000, 100)))


def _item(given: dict[str, Any]) -> Item:
    match given["kind"]:
        case "message":
            number = given["id"]
            fields = {"recipient": given["sender"], "reference": str(number), "at": _NOW, **given}
            return Message(
                provider_id=str(number),
                order=fields.get("order", number),
                sender=fields["sender"],
                recipient=fields["recipient"],
                reference=fields["reference"],
                text=fields["text"],
                at=datetime.now(UTC),
                thread=fields.get("thread"),
            )
        case "receipt":
            return Receipt(given["id"], given["status"], key=given.get("key"))
        case "edit":
            of = {"sender": "u1", "reference": "1", "text": None, **given}
            return Edit(
                provider_id=of["id"],
                sender=of["sender"],
                reference=of["reference"],
                text=of["text"],
                order=of.get("order"),
            )
    return Unknown(given["kind"], json.dumps(given))


class Provider:
    """The provider's server: what it was asked to send, and what it took."""

    def __init__(self, server: LocalServer) -> None:
        self.url = server.url_for("").rstrip("/")
        self.script: deque[int | tuple[int, dict[str, Any]]] = deque()
        """The status of each answer, perhaps with a body; 200 when it is empty. 0 takes the message and hangs up."""
        self.taken: list[tuple[str, Any]] = []
        """Recipient and part of each message that it took."""
        self._ids: dict[str, str] = {}
        server.expect_request("/send").respond_with_handler(self._send)
        server.expect_request("/me").respond_with_json({})
        for_key = server.expect_request("/sent/x")
        for_key.matcher.uri = _Below("/sent/")  # type: ignore[assignment]
        for_key.respond_with_handler(self._search)

    @property
    def texts(self) -> list[str]:
        """The texts that it took, in order."""
        return [part.get("text") or part["template"] for _, part in self.taken]

    def _send(self, request: Request) -> Response:
        said = self.script.popleft() if self.script else 200
        status, body = said if isinstance(said, tuple) else (said, {})
        asked = json.loads(request.data)
        if status in (0, 200):
            self._ids[asked["key"]] = f"m{len(self.taken) + 1}"
            self.taken.append((asked["to"], asked["part"]))
            body = {"id": self._ids[asked["key"]]}
        return Response(json.dumps(body), status or 500, content_type="application/json")

    def _search(self, request: Request) -> Response:
        known = self._ids.get(request.path.rpartition("/")[2])
        return Response(json.dumps({"id": known}), 200 if known else 404)


class _Below:
    """A path that begins so."""

    def __init__(self, start: str) -> None:
        self._start = start

    def match(self, path: str) -> bool:
        return path.startswith(self._start)

    def __eq__(self, path: object) -> bool:
        return isinstance(path, str) and path.startswith(self._start)

    __hash__ = None  # type: ignore[assignment]


@contextmanager
def providing(patch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """Run a provider. The channel `telegram` has its adapter while the block runs."""
    patch.setitem(sys.modules, "turnloom.workers.channels.telegram", SimpleNamespace(ADAPTER=Adapter()))
    patch.setattr(settings(), "secret_keys", [secrets.new_key()])
    patch.setattr(settings(), "allowed_hosts", ["127.0.0.1"])
    with LocalServer() as server:
        yield Provider(server)


def put_account(tenant_id: UUID, provider: Provider, name: str = "front-desk", **config: Any) -> None:
    with transaction() as db:
        channel_accounts.put(db, tenant_id, "telegram", name, "generic", {"api_base": provider.url, **config})

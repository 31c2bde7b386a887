"""What an adapter of a channel offers, and the shapes that it hands over.

An adapter is pure: it verifies and reads what the provider posts, writes what we send, and reads the provider's answer.
It opens no connection and stores nothing. Parts of a reply are plain JSON, so that they can be stored and sent later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, Protocol, get_args

from pydantic import Field, SecretStr

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.turn import Reply
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse

ChannelName = Literal["whatsapp", "telegram", "slack", "twilio"]
CHANNELS: tuple[ChannelName, ...] = get_args(ChannelName)

Part = dict[str, Any]
"""One message to send: the body of the provider's API without the recipient. Plain JSON."""


class AccountConfig(Contract):
    """The settings that every account may have, whatever its channel."""

    api_base: str | None = Field(None, max_length=2000, pattern=r"^https?://[^\s/?#]+[^\s?#]*$")
    """Another base URL of the provider's API, such as that of a simulator or a proxy."""
    pace: float | None = Field(None, gt=0, le=10_000)
    """Messages per second that the account may send; if absent, the provider's own limit."""
    approvers: Literal["person", "keys"] = "person"
    """Who approves the calls of the account's turns: the person who writes, who is asked in chat, or only keys with the
    scope `approvals:decide`."""


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """An account of a tenant on a channel. `config` is of the adapter's class."""

    channel: ChannelName
    id: str
    tenant: str
    agent: str
    config: Any


@dataclass(frozen=True, slots=True)
class Inbound:
    """A request of the provider, as it came."""

    method: str
    url: str
    """The path and the query. Behind a proxy, scheme and host are not those that the provider called."""
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The answer to a request of the provider."""

    body: str = ""
    content_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Media:
    """Something in a message that is not text. It is noted, not fetched."""

    kind: str
    id: str | None = None
    mime: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message to answer."""

    provider_id: str
    """The same for every repetition of the message, and for nothing else on the account."""
    reference: str
    """The id by which an edit, a deletion or an answer names this message."""
    sender: str
    sender_name: str | None = None
    thread: str | None = None
    """What belongs to the conversation's id beside the sender; None if that is all."""
    recipient: str
    """Where the answer goes; `Adapter.request` understands it."""
    text: str
    """1 to 8,000 characters. Media is noted in brackets: `[image] our room`."""
    at: datetime | None = None
    """The provider's time."""
    order: int | None = None
    """Grows with the order in which the provider got the conversation's messages. Numbers are sparse, and equal ones
    stand in the order of arrival; None if the channel tells no order."""
    media: tuple[Media, ...] = ()
    choice: str | None = None
    """The payload of the button or list row that was tapped, as `ReplyChoice.payload` had it."""
    answers: str | None = None
    """The provider's id of the message that this one answers or whose button was tapped, if the channel says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of an earlier message by its sender."""

    provider_id: str
    sender: str
    sender_name: str | None = None
    thread: str | None = None
    reference: str
    """The `reference` of the message that was changed."""
    text: str | None
    """The new text; None if the message was deleted."""
    at: datetime | None = None
    order: int | None = None
    """As that of a message; it also grows with the changes of one message."""


@dataclass(frozen=True, slots=True)
class MessageSent:
    """The provider took the message."""

    provider_id: str


@dataclass(frozen=True, slots=True)
class TryLater:
    """The provider did not take the message, and may take it later."""

    scope: Literal["recipient", "number"]
    """Who has to wait: messages to this recipient, or everything that the account sends."""
    code: str
    after_s: float | None = None
    """The pause that the provider asked for; None if it named none."""


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """The provider will not take the message, however often it is sent."""

    code: str
    why: str


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """The recipient wrote too long ago for a free message. A template may still be sent."""

    code: str


@dataclass(frozen=True, slots=True)
class Unsure:
    """The message may have been taken: the answer does not tell."""

    why: str


Outcome = MessageSent | TryLater | MessageRefused | WindowClosed | Unsure


@dataclass(frozen=True, slots=True)
class Receipt:
    """A report of the provider about a message of ours."""

    provider_id: str
    """The id that `MessageSent` had."""
    status: Literal["sent", "delivered", "read", "failed"]
    at: datetime | None = None
    failure: TryLater | MessageRefused | WindowClosed | None = None
    """Why it failed; None for other statuses."""
    recipient: str | None = None
    key: str | None = None
    """The delivery's key, if the channel hands it back: it recognises a message whose `provider_id` never arrived."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that is kept and not answered."""

    kind: str
    """The provider's word for it, at most 80 characters."""
    raw: str
    """The item as JSON or, if it cannot be read, as text. It can be stored: no NUL, no half of a surrogate pair."""
    why: str = "this kind is not answered"


Item = Message | Edit | Receipt | Unknown


@dataclass(frozen=True, slots=True)
class ReplyChoice:
    """An answer that the person can tap."""

    payload: str
    """Comes back as `Message.choice`. At most 64 bytes of UTF-8."""
    title: str


@dataclass(frozen=True, slots=True)
class Rate:
    """A token bucket."""

    per_s: float
    burst: int = 1


@dataclass(frozen=True, slots=True)
class Pace:
    """The rates at which an account may send: to one recipient, and in all."""

    recipient: Rate
    number: Rate


class Adapter(Protocol):
    """The adapter of a channel, which its module offers as `ADAPTER`."""

    name: ClassVar[ChannelName]
    config: ClassVar[type[AccountConfig]]
    """The shape of an account's configuration."""
    posts_again: ClassVar[bool]
    """Whether the provider posts again what was refused. Otherwise it is kept for people to see."""

    def verify(self, account: ProviderAccount, request: Inbound, now: datetime) -> None:
        """Check that the provider sent the request.

        Raises:
            Unauthorized: it did not, or long ago.
        """

    def handshake(self, account: ProviderAccount, request: Inbound) -> WebhookAnswer | None:
        """Return the answer to the provider's question whether we are there; None if the request is none.

        It runs after `verify`. A GET is a handshake on a channel that has one, and nothing else.

        Raises:
            Unauthorized: the question does not know the account's secret.
            NotFound: a GET on a channel that has no handshake.
        """

    def parse(self, account: ProviderAccount, request: Inbound) -> list[Item]:
        """Return what the provider reports: messages first, then the rest. One that cannot be read is Unknown."""

    def accepted(self, items: Sequence[Item]) -> WebhookAnswer:
        """Return what the provider is answered, with status 200, when the items that it reported are recorded."""

    def render(self, reply: Reply, account: ProviderAccount, choices: Sequence[ReplyChoice] = ()) -> list[Part]:
        """Return a reply as messages of the channel, each within its limits; choices are at the last one.

        Without choices, those of the reply's question are offered; what comes back is the choice itself.
        """

    def numbers(self, choices: Sequence[ReplyChoice]) -> bool:
        """Return whether `render` shows these choices with their numbers."""

    def window(self, account: ProviderAccount) -> timedelta | None:
        """Return for how long after a person's last message free messages may be sent to them; None: always."""

    def template(self, account: ProviderAccount) -> Part | None:
        """Return what may be sent when the window has closed; None if the account has no template."""

    def request(self, account: ProviderAccount, recipient: str, part: Part, key: str) -> UpstreamRequest:
        """Return the request that sends a part. `key` is the delivery's own, the same for each attempt."""

    def outcome(self, answer: UpstreamResponse) -> Outcome:
        """Return what the provider's answer to `request` means."""

    def search(
        self, account: ProviderAccount, recipient: str, part: Part, key: str, since: datetime
    ) -> UpstreamRequest | None:
        """Return the request that asks whether a part was sent since a time; None if the provider cannot be asked."""

    def found(self, answer: UpstreamResponse, recipient: str, part: Part, key: str) -> MessageSent | Unsure | None:
        """Return what the answer to `search` means; None if the part was not sent."""

    def probe(self, account: ProviderAccount) -> UpstreamRequest:
        """Return a request that changes nothing and that only a working account is answered."""

    def fault(self, answer: UpstreamResponse) -> str | None:
        """Return what the answer to `probe` says is wrong with the account, in a sentence; None if it works."""

    def pace(self, account: ProviderAccount) -> Pace:
        """Return how fast the account may send."""


def paced(account: ProviderAccount, own: Pace) -> Pace:
    """Return the pace of an account: its own if it sets one, otherwise the provider's."""
    pace = account.config.pace
    return own if pace is None else Pace(own.recipient, Rate(pace, max(1, int(pace))))


def secret(value: SecretStr) -> bytes:
    """Return a secret as bytes."""
    return value.get_secret_value().encode()

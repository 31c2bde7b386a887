"""The simulated provider speaks as the adapters expect: what one side writes, the other reads."""

import random

import pytest

from tests.workers.channels.accounts import NOW, account, url
from turnloom.models.contracts.turn import Reply
from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import (
    CHANNELS,
    ChannelName,
    Edit,
    Inbound,
    Message,
    MessageSent,
    Receipt,
    TryLater,
    WindowClosed,
)
from turnloom.workers.simulator.dialects import dialect
from turnloom.workers.simulator.play import Script, written
from turnloom.workers.simulator.protocol import Sending
from turnloom.workers.simulator.provider import Provider
from turnloom.workers.simulator.windows import ServiceWindows

_SCRIPT = Script(
    people=3, messages=9, duplicates=0, disorder=0, seed=1, run="123456", patience_s=1
)  # fmt: skip


def _sent_by_us(channel: ChannelName, recipient: str) -> UpstreamRequest:
    known = account(channel)
    (part,) = adapter(channel).render(Reply(text="Hi"), known)
    return adapter(channel).request(known, recipient, part, "key-1")


def _ignore(*_: object) -> None:
    pass


def _body(request: UpstreamRequest) -> bytes:
    from urllib.parse import urlencode  # noqa: PLC0415

    return urlencode(request.form).encode() if request.form else request.content or b""


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_people_write_is_signed_and_read(channel: ChannelName) -> None:
    """Each message passes the signature and has the id, the person and the text that the simulator gave it."""
    its, known = dialect(account(channel)), account(channel)

    for each in written(_SCRIPT, its):
        body = its.body([each])
        headers = {name.lower(): value for name, value in its.headers(body, f"/v1/channels/{channel}/main").items()}
        request = Inbound("POST", url(channel), headers, body)
        if channel != "slack":  # the clock of the signature is the machine's
            adapter(channel).verify(known, request, NOW)
        (message,) = adapter(channel).parse(known, request)
        assert isinstance(message, Message)
        assert (message.provider_id, message.sender, message.text) == (each.id, each.person, each.text)
        assert message.recipient == its.recipient(each.person)


@pytest.mark.parametrize("channel", ["whatsapp", "telegram", "slack"])
def test_messages_of_a_person_have_an_order(channel: ChannelName) -> None:
    """The provider's numbers grow with the order in which they were written."""
    its, known = dialect(account(channel)), account(channel)
    theirs = [each for each in written(_SCRIPT, its) if each.person == its.person("123456", 1)]

    read = [adapter(channel).parse(known, Inbound("POST", url(channel), {}, its.body([each])))[0] for each in theirs]

    orders = [message.order for message in read if isinstance(message, Message) and message.order is not None]
    assert len(orders) == 3
    assert orders == sorted(set(orders))


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("errors", [0.0, 1.0])
def test_our_messages_are_taken_or_refused(channel: ChannelName, errors: float) -> None:
    """The adapter understands the simulator's answers: taken with an id, or later."""
    its, heard = dialect(account(channel)), []
    provider = Provider(its, errors, random.Random(1), heard.append, ServiceWindows(0, random.Random(1)), _ignore)
    recipient = its.recipient(its.person("123456", 1))
    request = _sent_by_us(channel, recipient)

    status, headers, body = provider.answer(request.url, {}, _body(request))

    outcome = adapter(channel).outcome(
        UpstreamResponse("x", status, {name.lower(): value for name, value in headers.items()}, body)
    )
    if errors:
        assert isinstance(outcome, TryLater)
        assert heard == provider.taken == []
    else:
        assert outcome == MessageSent(provider.taken[0].provider_id)
        assert [message.sending.recipient for message in heard] == [recipient]


class _Same(random.Random):
    def __init__(self, number: float) -> None:
        super().__init__(1)
        self._number = number

    def random(self) -> float:
        return self._number


@pytest.mark.parametrize(
    ("channel", "config"),
    [("whatsapp", {"template": "call_us"}), ("twilio", {"from": "whatsapp:+15550001111", "template": "HX1"})],
)
@pytest.mark.parametrize("is_at_once", [True, False])
def test_a_closed_window_takes_a_template_alone(channel: ChannelName, config: dict[str, str], is_at_once: bool) -> None:
    """A free message is refused in the answer, or taken and called failed in a receipt. It is counted apart."""
    known, heard, failed = account(channel, **config), [], []
    its, windows = dialect(known), ServiceWindows(1, random.Random(1))
    chance = _Same(0.1 if is_at_once else 0.9)
    provider = Provider(its, 0, chance, heard.append, windows, lambda *said: failed.append(said))
    (free,), template = adapter(channel).render(Reply(text="Hi"), known), adapter(channel).template(known)
    assert template is not None

    outcomes = []
    for part in (free, template):
        request = adapter(channel).request(known, its.recipient(its.person("123456", 1)), part, "key-1")
        status, _, body = provider.answer(request.url, {}, _body(request))
        outcomes.append(type(adapter(channel).outcome(UpstreamResponse("x", status, {}, body))))
    receipts = [its.receipt(*said, "failed") or b"" for said in failed]
    read = [adapter(channel).parse(known, Inbound("POST", url(channel), {}, body))[0] for body in receipts]
    assert outcomes == [WindowClosed if is_at_once else MessageSent, MessageSent]
    assert [type(each.failure) for each in read if isinstance(each, Receipt)] == [WindowClosed] * len(failed)
    assert (len(failed), len(heard)) == (0 if is_at_once else 1, 1)
    assert (provider.templates, provider.refused, windows.refused) == (1, 0, 1)


def test_a_window_opens_when_the_person_writes() -> None:
    """Until then it stays closed."""
    windows = ServiceWindows(1, random.Random(1))
    assert windows.refuse("p")
    windows.closing = 0
    assert windows.refuse("p")
    assert not windows.refuse("q")

    windows.open("p")
    assert not windows.refuse("p")


@pytest.mark.parametrize("channel", CHANNELS)
def test_an_edit_names_its_message(channel: ChannelName) -> None:
    """As the adapter names that; it comes after it in the channel's order. Twilio reports none."""
    its, known = dialect(account(channel)), account(channel)
    each = written(_SCRIPT, its)[4]
    edit_id = its.message_id("123456", 9 + each.number)
    body = its.edit(each, edit_id, "New")
    if body is None:
        assert channel == "twilio"
        return

    message, edit = (
        adapter(channel).parse(known, Inbound("POST", url(channel), {}, some))[0] for some in (its.body([each]), body)
    )
    assert isinstance(message, Message)
    assert isinstance(edit, Edit)
    assert (edit.reference, edit.provider_id, edit.text) == (message.reference, edit_id, "New")
    assert (edit.sender, edit.thread) == (message.sender, message.thread)
    assert message.order is not None
    assert edit.order is not None
    assert edit.order >= message.order


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_check_of_the_account_succeeds(channel: ChannelName) -> None:
    """A question about the account is no message."""
    windows = ServiceWindows(1, random.Random(1))
    provider = Provider(dialect(account(channel)), 1.0, random.Random(1), _ignore, windows, _ignore)
    request = adapter(channel).probe(account(channel))

    status, _, body = provider.answer(request.url, {}, _body(request))

    assert adapter(channel).fault(UpstreamResponse("x", status, {}, body)) is None
    assert provider.taken == []


@pytest.mark.parametrize("channel", ["whatsapp", "twilio"])
def test_receipts_name_our_message(channel: ChannelName) -> None:
    """The receipt of a message is joined by the id that its answer had."""
    its = dialect(account(channel))
    body = its.receipt("id-1", Sending("15551", "key-1"), "delivered")
    assert body is not None

    (receipt,) = adapter(channel).parse(account(channel), Inbound("POST", url(channel), {}, body))

    assert isinstance(receipt, Receipt)
    assert (receipt.provider_id, receipt.status) == ("id-1", "delivered")

"""Whatever is posted is read or kept: no body raises, and none costs more than its length."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.channels.accounts import account, url
from turnloom.models.contracts.turn import TurnRequest, User
from turnloom.workers.channels import adapter
from turnloom.workers.channels.protocol import CHANNELS, ChannelName, Edit, Inbound, Message, Receipt, Unknown

_NAMES = st.sampled_from(
    "object entry changes field value messages statuses contacts metadata phone_number_id type text body from id"
    " timestamp"
    " interactive button_reply title errors code status update_id message chat date caption photo callback_query data"
    " event event_id user channel ts thread_ts files authorizations actions MessageSid From Body NumMedia".split()
)
_WORDS = st.sampled_from(
    "messages text image event_callback message app_mention block_actions read wamid.1 1796000000".split()
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=6),
    max_leaves=25,
)
_BODIES = [
    b"",
    b"[" * 200_000,
    b'{"entry":' * 20_000,
    b"null",
    b"\xff\xfe\x00",
    b'{"update_id":' + b"9" * 100_000 + b"}",
    b'{"update_id":1,"message":{"text":"\\ud800\\u0000","from":{"id":1},"chat":{"id":1},"message_id":1,"date":1}}',
    b"payload=" + b"%7b" * 10_000,
    b"a=1&" * 50_000,
    b'{"type":"event_callback","event":NaN}',
]


def _check(channel: ChannelName, body: bytes) -> None:
    items = adapter(channel).parse(account(channel), Inbound("POST", url(channel), {}, body))
    for item in items:
        _check_item(item)
    assert items


def _check_item(item: Any) -> None:
    match item:
        case Message() | Edit():
            assert item.text is None or TurnRequest.model_validate({"message": item.text})
            assert User(id=item.sender)
            assert item.at is None or isinstance(item.at, datetime)
        case Receipt():
            assert item.status
        case Unknown():
            assert len(item.kind) <= 80
            assert "\0" not in item.raw
            item.raw.encode()


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("body", _BODIES, ids=range(len(_BODIES)))
def test_a_hostile_body_is_kept(channel: ChannelName, body: bytes) -> None:
    """Deep, endless, broken or unstorable: it becomes an item that can be stored."""
    _check(channel, body)


@pytest.mark.parametrize("channel", CHANNELS)
@settings(max_examples=60, deadline=None)
@given(value=_VALUES)
def test_random_bodies_are_read_or_kept(channel: ChannelName, value: Any) -> None:
    """Values of the right names and wrong shapes raise nothing."""
    _check(channel, json.dumps(value).encode())
    if isinstance(value, dict):
        _check(channel, urlencode({name: str(inner) for name, inner in value.items()}, errors="replace").encode())


@pytest.mark.parametrize("channel", ["whatsapp", "telegram", "slack"])
@settings(max_examples=60, deadline=None)
@given(value=_VALUES)
def test_random_values_inside_a_message_are_read_or_kept(channel: ChannelName, value: Any) -> None:
    """The same at the place where a message stands."""
    inside: dict[str, Any] = {
        "whatsapp": {
            "entry": [{"changes": [{"field": "messages", "value": {"messages": [value], "statuses": [value]}}]}]
        },
        "telegram": {"update_id": 1, "message": value},
        "slack": {"type": "event_callback", "event_id": "E", "event": value},
    }

    _check(channel, json.dumps(inside[channel]).encode())

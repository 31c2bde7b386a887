"""A client's messages become a message to answer and the exchanges before it."""

import pytest

from turnloom.models.contracts.chat import ChatMessage
from turnloom.models.contracts.memory import Exchange
from turnloom.models.errors import Invalid
from turnloom.web.openai_front.transcript import read_transcript

_TEXT = {"type": "text", "text": "Look"}
_IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


def _read(*messages: tuple[str, object]):
    return read_transcript([ChatMessage(role=role, content=content) for role, content in messages])


def test_exchanges() -> None:
    """A greeting, several messages in a row and a message without a reply keep their place."""
    transcript = _read(
        ("system", "Be kind."),
        ("assistant", "Welcome."),
        ("user", "One"),
        ("user", "Two"),
        ("assistant", "Both"),
        ("assistant", "done."),
        ("user", "Three"),
        ("user", "Four"),
    )

    assert transcript.message == "Four"
    assert transcript.past == [Exchange("", "Welcome."), Exchange("One\nTwo", "Both\ndone."), Exchange("Three", "")]
    assert transcript.last_reply is None
    assert transcript.ignored == {"messages.system"}


def test_parts_of_text() -> None:
    """A message in parts of text reads like one in one piece."""
    parts = [_TEXT, {"type": "text", "text": "here"}]

    transcript = _read(("user", parts))

    assert transcript.message == "Look\nhere"
    assert transcript.digest("u") == _read(("user", "Look\nhere")).digest("u")


def test_instructions_do_not_change_the_digest() -> None:
    """A system message that says the time each time does not end a conversation."""
    first = _read(("system", "It is nine."), ("user", "Hi"))
    second = _read(("system", "It is ten."), ("user", "Hi"), ("assistant", "Hello!"), ("user", "More"))

    assert second.digest_before_reply(None) == first.digest(None)


def test_messages_after_the_users_last_are_ignored() -> None:
    """They are listed with what has no effect."""
    transcript = _read(("user", "Hi"), ("assistant", "I will say"), ("tool", "42"))

    assert (transcript.message, transcript.past) == ("Hi", [])
    assert transcript.ignored == {"messages.assistant", "messages.tool"}


@pytest.mark.parametrize(
    ("messages", "field", "code"),
    [
        ([("assistant", "Hi")], "messages", "no_user_message"),
        ([("user", [_IMAGE])], "messages[0].content[0]", "unsupported_content"),
        ([("user", "Hi"), ("user", [_TEXT, {"type": "file"}])], "messages[1].content[1]", "unsupported_content"),
    ],
    ids=["nobody", "image", "file"],
)
def test_refusals(messages: list, field: str, code: str) -> None:
    """A transcript without a message of the user, or with anything but text, is refused."""
    with pytest.raises(Invalid) as refused:
        _read(*messages)

    assert (refused.value.faults[0]["field"], refused.value.faults[0]["code"]) == (field, code)

"""The text of a streamed reply is put together once and in order."""

import pytest

from turnloom.web.openai_front.reply_text import ReplyText


def _delta(name: str, text: str):
    return (name, "reply.delta", {"text": text})


def _done(text: str):
    return ("9", "reply.done", {"text": text})


@pytest.mark.parametrize(
    ("items", "pieces"),
    [
        ([_delta("3.1", "One. "), _delta("3.2", "Two."), _done("One. Two.")], ["One. ", "Two.", ""]),
        ([_done("All of it.")], ["All of it."]),
        ([_delta("3.1", "One. "), _delta("3.3", "Three."), _done("One. Two. Three.")], ["One. ", "", "Two. Three."]),
        ([_delta("3.2", "Two."), _done("One. Two.")], ["", "One. Two."]),
        ([_delta("3.1", "One. "), _delta("5.1", "One. "), _done("One. Two.")], ["One. ", "", "Two."]),
        ([_delta("3.1", "Won. "), _done("One.")], ["Won. ", "\n\nOne."]),
    ],
    ids=["whole", "no deltas", "a gap", "late", "another attempt", "another reply"],
)
def test_pieces(items: list, pieces: list[str]) -> None:
    """Deltas are passed on while they are consecutive, and the whole reply adds what is left."""
    text = ReplyText()

    assert [text.piece(item) for item in items] == pieces
    assert text.is_whole

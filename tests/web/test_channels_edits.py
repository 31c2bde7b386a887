"""An edit or a deletion that a provider posts: signed, recorded before the answer, applied once."""

from typing import Any
from uuid import UUID

from flask.testing import FlaskClient

from tests.factories import claim_turn, queue_length
from tests.web.test_channels import kept, message, post, provider, reader, turns_of
from turnloom.workers.dispatch import settle

__all__ = ["provider", "reader"]


def edit(number: int, said: str | None, **fields: Any) -> dict[str, Any]:
    return {"kind": "edit", "id": f"e{number}", "order": number, "reference": "1", "text": said, **fields}


def said(client: FlaskClient) -> list[str]:
    return [turn["message"] for turn in turns_of(client)]


def test_a_waiting_message_is_edited(reader: FlaskClient) -> None:
    """Before its message, too, and in the same request."""
    assert post(reader, edit(2, "second"), message(1, "first")) == (200, "taken")
    assert post(reader, edit(3, "third"))[0] == 200

    assert said(reader) == ["third"]
    assert kept() == []


def test_an_edit_of_what_is_worked_on_is_a_message(reader: FlaskClient) -> None:
    """It follows `on_busy`. One that comes again opens no second turn."""
    post(reader, message(1, "first"))
    (turn,) = turns_of(reader)
    assert claim_turn(UUID(turn["turn_id"])) is not None

    assert [post(reader, edit(2, "second"))[0] for _ in range(2)] == [200, 200]
    assert sorted(said(reader)) == ["[edited] second\n[before] first", "first"]
    shown = reader.get(f"/v1/turns/{turn['turn_id']}").get_json()
    assert shown["superseded_by"] in {each["turn_id"] for each in turns_of(reader)}


def test_a_deleted_message_ends_its_turn(reader: FlaskClient) -> None:
    """A responder is told; until then nothing else of it is worked on."""
    post(reader, message(1, "first"))
    settle()
    before = queue_length("respond")

    assert post(reader, edit(2, None))[0] == 200
    assert queue_length("respond") == before + 1
    (turn,) = turns_of(reader)
    assert claim_turn(UUID(turn["turn_id"])) is None


def test_a_deletion_without_its_message_is_visible(reader: FlaskClient) -> None:
    """And so is the message, when it comes."""
    post(reader, edit(2, None))
    assert [why for _, why, _ in kept()] == ["the message that it changes did not come"]

    assert post(reader, message(1)) == (200, "taken")
    assert "its sender deleted it before it came" in [why for _, why, _ in kept()]
    assert turns_of(reader) == []

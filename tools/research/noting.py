"""`research.note`: something to keep in mind for the rest of the conversation."""

from collections.abc import Iterator

from pydantic import Field

from models.contracts.base import Contract
from models.contracts.knowledge import Finding, Link
from models.database import transaction
from models.ledger import notes
from tools.context import ToolContext
from tools.registry import tool


class NewNote(Contract):
    """A note to be kept."""

    text: str = Field(min_length=1, max_length=1_000)
    """In a sentence or two."""
    about: str = Field(min_length=1, max_length=200)
    """What it is about, in a few words."""
    source: str | None = Field(None, min_length=1, max_length=2_000)
    """The document or URL that it comes from; left out where it is a conclusion of your own."""


class Note(Contract):
    """A note that was kept."""

    text: str
    """The note."""
    about: str
    """What it is about."""
    source: str | None
    """The document or URL that it comes from."""


def _noted(note: Note) -> Iterator[Finding]:
    yield Finding(
        type="note",
        name=note.text[:200],
        attributes={"source": note.source[:1_000]} if note.source else {},
        links=[Link(kind="about", type="topic", name=note.about)],
        trust="model",
    )


def find_note(_: NewNote, context: ToolContext) -> Note | None:
    """Return the note that stands under the call's key; None where none does."""
    with transaction() as db:
        found = notes.find(db, context.tenant_id, context.idempotency_key)
    return None if found is None else Note(text=found.text, about=found.about, source=found.source)


@tool("research.note", effect="write", reconcile=find_note, facts=_noted, is_evidence=False, per_user="120/minute")
def note(query: NewNote, context: ToolContext) -> Note:
    """Note something down that later steps and messages of this conversation should know."""
    new = notes.Note(text=query.text, about=query.about, source=query.source)
    with transaction() as db:
        notes.take(db, context.tenant_id, context.conversation_id, context.idempotency_key, new)
    return Note(text=query.text, about=query.about, source=query.source)

"""`research.note`: keep a note for the rest of the conversation."""

from collections.abc import Iterator

from pydantic import Field

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.knowledge import EntityLink, Finding
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.research.store import notes
from turnloom.tools.registry import tool


class NewNote(Contract):
    """A note to keep."""

    text: str = Field(min_length=1, max_length=1_000)
    """The note, in a sentence or two."""
    about: str = Field(min_length=1, max_length=200)
    """The subject of the note, in a few words."""
    source: str | None = Field(None, min_length=1, max_length=2_000)
    """The document or URL that it comes from. Leave it out if the note is a conclusion of your own."""


class Note(Contract):
    """A note that was kept."""

    text: str
    """The note."""
    about: str
    """The subject of the note."""
    source: str | None
    """The document or URL that it comes from; null for a conclusion."""


def _noted(note: Note) -> Iterator[Finding]:
    yield Finding(
        type="note",
        name=note.text[:200],
        attributes={"source": note.source[:1_000]} if note.source else {},
        links=[EntityLink(kind="about", type="topic", name=note.about)],
        trust="model",
    )


def find_note(_: NewNote, context: ToolContext) -> Note | None:
    """Return the note that was kept under the call's idempotency key; None if there is none."""
    with transaction() as db:
        found = notes.find(db, context.tenant_id, context.idempotency_key)
    return None if found is None else Note(text=found.text, about=found.about, source=found.source)


@tool(
    "research.note",
    effect="write",
    reconcile=find_note,
    facts=_noted,
    is_evidence=False,
    remember_s=0,
    per_user="120/minute",
)
def note(query: NewNote, context: ToolContext) -> Note:
    """Keep a note for later steps and messages of this conversation."""
    new = notes.StoredNote(text=query.text, about=query.about, source=query.source)
    with transaction() as db:
        notes.take(db, context.tenant_id, context.conversation_id, context.idempotency_key, new)
    return Note(text=query.text, about=query.about, source=query.source)

"""Load documents from a folder. The suffix of a file says whether it is Markdown, plain text or HTML.

An unchanged file is skipped. A changed file replaces its document. The document of a file that is gone is removed.
Each document has a commit of its own, so the next load finishes one that was interrupted.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml

from turnloom.models.connections.database import transaction
from turnloom.models.errors import Invalid
from turnloom.tools.packs.research.main_text import read_html
from turnloom.tools.packs.research.markdown import first_heading, split
from turnloom.tools.packs.research.store import documents
from turnloom.tools.packs.research.store.documents import NewDocument

MAX_FILE_BYTES = 5_242_880
_FORMAT = "1"
"""Part of every digest. Raise it when the same file is split into other passages."""
_KINDS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".html": "html", ".htm": "html"}
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The documents of one folder."""

    name: str
    owner: UUID
    folder: Path
    language: str = "english"


@dataclass(slots=True)
class Loaded:
    """The result of loading documents."""

    changed: int = 0
    same: int = 0
    removed: int = 0


def files_in(folder: Path) -> list[Path]:
    """Return the documents among a folder's files, in order. Hidden files and links out of the folder are left out."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in _KINDS and path.is_file())
    root = folder.resolve()
    return sorted(path for path in found if not _is_hidden(path, folder) and path.resolve().is_relative_to(root))


def load(
    collection: Collection, files: Iterable[Path], on_skipped: Callable[[Path, str], None] = lambda *_: None
) -> Loaded:
    """Load files as the documents of a collection, and remove documents whose file is not among them.

    `on_skipped` is called with each file that cannot be loaded, and the reason.

    Raises:
        Invalid: Postgres does not know the language.
    """
    with transaction() as db:
        documents.check_language(db, collection.language)
        known = documents.digests(db, collection.owner, collection.name)
    loaded, kept = Loaded(), []
    for path in files:
        try:
            file = _open(collection, path)
            if known.get(file.id) == file.digest:
                loaded.same += 1
            else:
                document = _read(collection, file)
                with transaction() as db:
                    documents.load(db, collection.owner, document)
                loaded.changed += 1
        except Invalid as error:
            on_skipped(path, str(error))
        else:
            kept.append(file.id)
    with transaction() as db:
        loaded.removed = documents.keep_only(db, collection.owner, collection.name, kept)
    return loaded


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a collection."""

    path: Path
    id: str
    content: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class _Said:
    """A file's text and its own metadata."""

    text: str
    title: str | None
    day: date | None


def _open(collection: Collection, path: Path) -> _File:
    content = path.read_bytes() if path.stat().st_size <= MAX_FILE_BYTES else None
    if content is None:
        raise Invalid(f"the file is larger than {MAX_FILE_BYTES} bytes")
    digest = hashlib.sha256(f"{_FORMAT} {collection.language}\n".encode() + content).hexdigest()
    return _File(path, f"{collection.name}/{path.relative_to(collection.folder).as_posix()}", content, digest)


def _read(collection: Collection, file: _File) -> NewDocument:
    kind = _KINDS[file.path.suffix.lower()]
    said = _read_html(file.content) if kind == "html" else _read_text(file.content)
    is_markdown = kind != "text"
    passages = split(said.text, is_markdown=is_markdown)
    if not passages:
        raise Invalid("the file contains no text")
    heading = first_heading(said.text) if is_markdown else None
    return NewDocument(
        id=file.id,
        collection=collection.name,
        title=said.title or heading or file.path.stem,
        language=collection.language,
        modified=said.day or datetime.fromtimestamp(file.path.stat().st_mtime, UTC).date(),
        digest=file.digest,
        passages=passages,
    )


def _read_html(content: bytes) -> _Said:
    page = read_html(content)
    return _Said(_storable(page.text), _storable(page.title) or None, page.published)


def _read_text(content: bytes) -> _Said:
    text = _storable(content.decode("utf-8-sig", "replace")).replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    if front is None:
        return _Said(text, None, None)
    told = _front_matter(front[1])
    title = told.get("title")
    days = (told.get(name) for name in ("updated", "modified", "date"))
    day = next((day for day in days if isinstance(day, date)), None)
    return _Said(text[front.end() :], title if isinstance(title, str) else None, day and date(*day.timetuple()[:3]))


def _front_matter(text: str) -> dict[str, Any]:
    try:
        told = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # ValueError comes from a date such as 2026-02-30
        return {}
    return told if isinstance(told, dict) else {}


def _storable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)

"""Documents are loaded once, searched by their content, and seen only by their tenant."""

import os
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from uuid import UUID

import pytest

from tests.tools.conftest import TENANT
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.errors import Invalid
from turnloom.models.tables.base import EVERYONE
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.research.collections import MAX_FILE_BYTES, Collection, Loaded, files_in, load
from turnloom.tools.packs.research.samples import SAMPLES
from turnloom.tools.packs.research.store import documents
from turnloom.tools.registry import load_registry
from turnloom.tools.runner import run

OTHER = UUID("0198c0de-0000-7000-8000-000000000002")
Call = Callable[..., Envelope]


@pytest.fixture
def call(database: str, make_context: Callable[..., ToolContext]) -> Call:
    """Call a tool of the pack."""
    registry = load_registry(["research"])
    return lambda name, args, **changes: run(registry.get(f"research.{name}"), args, make_context(**changes))


def collection(folder: Path, owner: UUID = TENANT, language: str = "english") -> Collection:
    return Collection(name="notes", owner=owner, folder=folder, language=language)


def loaded(folder: Path, owner: UUID = TENANT, language: str = "english") -> Loaded:
    return load(collection(folder, owner, language), files_in(folder))


def found(call: Call, query: str, **changes: object) -> list[str]:
    envelope = call("search", {"query": query, "limit": 20}, **changes)
    assert envelope.ok, envelope
    return [result["document"] for result in envelope.data["results"]]


def test_a_folder_is_loaded_once_and_followed(call: Call, tmp_path: Path) -> None:
    """The same file changes nothing. A changed one replaces its document, and that of a deleted one is deleted."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_text("# Apples\nRed apples.")
    (tmp_path / "sub" / "b.txt").write_text("Green pears.")
    (tmp_path / "c.html").write_text(
        "<html><body><article><h1>Plums</h1><p>Blue plums, ripe.</p></article></body></html>"
    )

    first, again = loaded(tmp_path), loaded(tmp_path)
    (tmp_path / "a.md").write_text("# Apples\nYellow quinces.")
    (tmp_path / "sub" / "b.txt").unlink()
    changed = loaded(tmp_path)

    assert (first, again, changed) == (Loaded(3, 0, 0), Loaded(0, 3, 0), Loaded(1, 1, 1))
    assert found(call, "quince") == ["notes/a.md"]
    assert found(call, "plum") == ["notes/c.html"]
    assert found(call, "red pears") == []


def test_other_files_are_left_out_and_reported(call: Call, tmp_path: Path) -> None:
    """Hidden files, other types, links that lead out, large and empty files are left out."""
    folder = tmp_path / "folder"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "hidden.md").write_text("Secret.")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "outside.md").write_text("Outside.")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "empty.md").write_text("\n# Only a heading\n")
    with (folder / "huge.md").open("wb") as huge:
        huge.truncate(MAX_FILE_BYTES + 1)
    (folder / "good.md").write_bytes(b"\xef\xbb\xbfGood \x00\xff text.\r\n")
    skipped: dict[str, str] = {}

    result = load(collection(folder), files_in(folder), lambda path, why: skipped.update({path.name: why}))

    assert result == Loaded(1, 0, 0)
    too_large = f"the file is larger than {MAX_FILE_BYTES} bytes"
    assert skipped == {"empty.md": "the file contains no text", "huge.md": too_large}
    assert found(call, "good") == ["notes/good.md"]


def test_a_document_says_its_title_and_day_or_its_file_does(call: Call, tmp_path: Path) -> None:
    """The front matter counts first, then the first heading and the date of the file."""
    (tmp_path / "told.md").write_text("---\ntitle: Told\nupdated: 2024-02-03\n---\n# Heading\nLemons.")
    (tmp_path / "wrong.md").write_text("---\ntitle: [1\ndate: 2024-02-30\n---\n# Heading\nLemons.")
    (tmp_path / "plain.txt").write_text("Lemons.")
    for file in tmp_path.iterdir():
        os.utime(file, (time.time(), 1_700_000_000))
    loaded(tmp_path)

    with transaction() as db:
        told = {row.id: (row.title, row.modified) for row in documents.listed(db, TENANT)}

    assert told == {
        "notes/told.md": ("Told", date(2024, 2, 3)),
        "notes/wrong.md": ("Heading", date(2023, 11, 14)),
        "notes/plain.txt": ("plain", date(2023, 11, 14)),
    }


def test_tenants_see_their_own_documents_or_those_of_everyone(call: Call, tmp_path: Path) -> None:
    """No tenant finds or reads another's documents. A tenant with its own documents sees only those."""
    (tmp_path / "a.md").write_text("The ferry is ours.")
    load(Collection(name="samples", owner=EVERYONE, folder=SAMPLES), files_in(SAMPLES))
    loaded(tmp_path)

    assert found(call, "ferry") == ["notes/a.md"]
    assert found(call, "ferry", tenant_id=OTHER)[0].startswith("samples/")
    assert call("read", {"document": "notes/a.md"}, tenant_id=OTHER).error.code == "NOT_FOUND"
    assert call("read", {"document": "samples/timetable.md"}).error.code == "NOT_FOUND"


def test_rare_words_and_headings_count_most(call: Call, tmp_path: Path) -> None:
    """A passage is found by any word. Passages with the rare word come before those with the common one."""
    for number in range(10):
        (tmp_path / f"common-{number}.md").write_text("A lease is a lease. Nothing else.")
    (tmp_path / "text.md").write_text("# Other\nOf the fence we speak here.")
    (tmp_path / "heading.md").write_text("# The fence\nIt is a number.")
    loaded(tmp_path)

    order = found(call, "What is the fence of a lease?")

    assert order[:2] == ["notes/heading.md", "notes/text.md"]
    assert len(order) == 12
    assert found(call, "the of a") == []


def test_words_are_read_in_the_language_of_the_document(call: Call, tmp_path: Path) -> None:
    """Inflected forms count as the same word. An unknown language is refused."""
    (tmp_path / "de.md").write_text("Die Fähren legen stündlich ab.")
    loaded(tmp_path, language="german")

    assert found(call, "Fähre") == ["notes/de.md"]
    with pytest.raises(Invalid, match="klingon"):
        loaded(tmp_path, language="klingon")


def test_a_section_is_read_by_a_part_of_its_heading(call: Call, tmp_path: Path) -> None:
    """It comes with its subsections. A long text is cut, and says so."""
    (tmp_path / "a.md").write_text(
        f"# All\n\n## Ferry\n\nHourly.\n\n### Winter\n\nNever.\n\n## Bus\n\n{'Often. ' * 300}"
    )
    loaded(tmp_path)

    ferry = call("read", {"document": "notes/a.md", "section": "FERRY"}).data
    bus = call("read", {"document": "notes/a.md", "section": "Bus", "max_chars": 100}).data

    assert (ferry["text"], ferry["truncated"]) == ("Hourly.\n\nNever.", False)
    assert ferry["sections"] == ["All > Ferry", "All > Ferry > Winter", "All > Bus"]
    assert (len(bus["text"]), bus["truncated"]) == (100, True)


def test_a_load_that_was_cut_short_is_finished_by_the_next(call: Call, tmp_path: Path) -> None:
    """Each document is a commit of its own. Deleted ones go at the end of a whole load."""
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"Text {name}.")
    loaded(tmp_path)
    (tmp_path / "a.md").write_text("Newer text.")
    (tmp_path / "c.md").unlink()

    def cut_short() -> None:
        load(collection(tmp_path), (path for path in [tmp_path / "a.md", tmp_path / "gone.md"]))

    with pytest.raises(FileNotFoundError):
        cut_short()
    assert sorted(found(call, "text")) == ["notes/a.md", "notes/b.md", "notes/c.md"]
    assert found(call, "newer") == ["notes/a.md"]
    assert loaded(tmp_path) == Loaded(0, 2, 1)

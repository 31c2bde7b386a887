"""The newest of a tenant's texts, in the ledger or in its folder, counts. Processes see a change within seconds."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest

from tests.factories import make_tenant
from tests.facts import wait_for
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.override import NO_OVERRIDES
from turnloom.models.errors import NotFound
from turnloom.models.ledger import override_cache, overrides
from turnloom.models.ledger.override_cache import overrides_of, read_overrides
from turnloom.models.runtime.settings import settings
from turnloom.planner.tenant_texts import tailor

BRIEF = "---\nname: styles/brief\nversion: 1\ninputs: []\n---\nBe brief."


def write(tenant_id: UUID, name: str, text: str | None) -> int:
    with transaction() as db:
        return overrides.write(db, tenant_id, name, text, "ada")


def texts(tenant_id: UUID) -> dict[str, tuple[str, str]]:
    return {name: tuple(own) for name, own in read_overrides(tenant_id).texts.items()}


@pytest.fixture
def folder(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the tenant `acme`."""
    monkeypatch.setenv("TURNLOOM_TENANT_PROMPTS_DIR", str(tmp_path))
    settings.cache_clear()
    made = tmp_path / "acme" / "styles"
    made.mkdir(parents=True)
    return tmp_path / "acme"


def test_newest_text_counts(database: str) -> None:
    """Under each name the last text written is in effect, and none after a removal. The history keeps all of them."""
    acme = make_tenant()
    for text in ("one", "two"):
        write(acme, "styles/brief", text)
    write(acme, "styles/default", "three")
    write(acme, "styles/default", None)

    assert texts(acme) == {"styles/brief": ("two", "ledger")}
    with transaction() as db:
        history = [(row.version, row.text) for row in overrides.history(db, acme, "styles/default")]
        assert history == [(4, None), (3, "three")]
        assert overrides.at_version(db, acme, "styles/brief", 1).text == "one"
        with pytest.raises(NotFound):
            overrides.at_version(db, acme, "styles/brief", 3)


def test_tenants_do_not_see_each_other(database: str) -> None:
    """No tenant sees another's texts. Each counts its own versions."""
    acme, other = make_tenant(), make_tenant("other")
    write(acme, "styles/brief", "one")

    assert write(other, "styles/default", "two") == 1
    assert texts(other) == {"styles/default": ("two", "ledger")}


def test_writers_at_the_same_time_get_versions_of_their_own(database: str) -> None:
    """Changes are counted one by one, so that a reader of a version has seen all earlier ones."""
    acme = make_tenant()

    with ThreadPoolExecutor(6) as pool:
        versions = list(pool.map(lambda number: write(acme, f"styles/s{number}", "x"), range(24)))

    assert sorted(versions) == list(range(1, 25))


def test_ledger_wins_over_file(folder: Path) -> None:
    """A text in the tenant's folder counts while the ledger has none of that name."""
    acme = make_tenant()
    (folder / "styles" / "brief.j2").write_text("from the file", "utf-8")
    (folder / "styles" / "notes.txt").write_text("no prompt", "utf-8")

    seen = [texts(acme)]
    for text in ("from the ledger", None):
        write(acme, "styles/brief", text)
        seen.append(texts(acme))

    file, ledger = ("from the file", "file"), ("from the ledger", "ledger")
    assert seen == [{"styles/brief": file}, {"styles/brief": ledger}, {"styles/brief": file}]


def test_file_that_cannot_be_used_keeps_no_other_from_counting(folder: Path) -> None:
    """A file that is too large or not UTF-8 is refused like a wrong text. One that cannot be read is left out."""
    (folder / "styles" / "large.j2").write_text("a" * 70_000, "utf-8")
    (folder / "styles" / "latin.j2").write_bytes(b"\xe9")
    (folder / "styles" / "folder.j2").mkdir()
    (folder / "styles" / "brief.j2").write_text(BRIEF, "utf-8")

    tailored = tailor(read_overrides(make_tenant()))

    assert tailored.prompts.own.keys() == {"styles/brief"}
    assert {name: "larger" in why for name, why in tailored.refused.items()} == {
        "styles/large": True,
        "styles/latin": False,
    }


@pytest.mark.parametrize("name", ["..", ".", "", "acme/styles", "other"])
def test_folder_is_the_tenants_own(folder: Path, name: str) -> None:
    """No tenant's name leads to another tenant's folder, or out of the folder of all tenants."""
    (folder / "styles" / "brief.j2").write_text("acme's", "utf-8")
    (folder.parent / "stray.j2").write_text("nobody's", "utf-8")

    assert texts(make_tenant(name)) == {}


def test_folder_may_be_called_by_the_id(folder: Path) -> None:
    """A tenant's id leads to its folder, as its name does."""
    other = make_tenant("other")
    folder.rename(folder.parent / str(other))
    (folder.parent / str(other) / "styles" / "brief.j2").write_text("other's", "utf-8")

    assert texts(other) == {"styles/brief": ("other's", "file")}


def test_process_hears_of_a_change_within_seconds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is trusted for a moment after it was read. Without a change it stays the same object."""
    acme = make_tenant()
    assert overrides_of(acme) is NO_OVERRIDES

    write(acme, "styles/brief", "one")
    (folder / "styles" / "default.j2").write_text("two", "utf-8")
    wait_for(lambda: set(overrides_of(acme).texts) == {"styles/brief", "styles/default"}, within_s=5)

    known = overrides_of(acme)
    monkeypatch.setattr(override_cache._known, "_fresh_s", 0.0)
    assert overrides_of(acme) is known


def test_look_at_the_ledger_is_one_cheap_statement(database: str) -> None:
    """The end of an index shows whether there is a change, however many there have been."""
    acme = make_tenant()
    for number in range(50):
        write(acme, "styles/brief", f"text {number}")

    with statement() as db:
        assert overrides.stand(db, acme) == ("acme", 50, [])

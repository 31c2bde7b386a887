"""Hotels are managed on the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from turnloom.models.runtime.settings import settings
from turnloom.tools.packs.hotel.samples import DEMO
from turnloom.workers.cli import main


def run(*arguments: str) -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments)


def hotels(tenant: str) -> list[str]:
    listed = run("hotel", "list", "--tenant", tenant, "--json")
    return [row["id"] for row in json.loads(listed.stdout)]


@pytest.fixture
def acme(database: str) -> str:
    run("tenant", "create", "acme")
    return "acme"


def test_migrate_adds_the_demo_hotel_for_tenants_without_one(acme: str, tmp_path: Path) -> None:
    """Every tenant has a demo hotel to try. A tenant that loads a hotel has only that one."""
    before = hotels(acme)
    assert run("migrate").exit_code == 0
    demo = hotels(acme)
    own = tmp_path / "own.yaml"
    own.write_text(DEMO.read_text("utf-8").replace("id: demo", "id: own"))

    loaded, again = (run("hotel", "load", str(own), "--tenant", acme) for _ in range(2))

    assert (before, demo, hotels(acme)) == ([], ["demo"], ["own"])
    assert loaded.stdout == "loaded hotel own of tenant acme\n"
    assert again.stdout == "nothing new in hotel own of tenant acme\n"


def test_migrate_adds_no_hotel_if_the_pack_is_off(acme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of a deployment without the pack stay empty."""
    monkeypatch.setenv("TURNLOOM_PACKS", '["dates"]')
    settings.cache_clear()

    assert run("migrate").exit_code == 0
    assert hotels(acme) == []


@pytest.mark.parametrize("tenant", ["acme", "nobody"])
def test_a_wrong_file_or_tenant_changes_nothing(acme: str, tenant: str, tmp_path: Path) -> None:
    """The exit code is 1, and the message names the fault."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        DEMO.read_text("utf-8").replace("id: demo", "id: demo\nstars: 5" if tenant == acme else "id: demo")
    )

    refused = run("hotel", "load", str(wrong), "--tenant", tenant)

    assert refused.exit_code == 1
    assert ("stars" if tenant == acme else "nobody") in refused.stderr
    assert hotels(acme) == []

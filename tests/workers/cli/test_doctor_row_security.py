"""The doctor says whether Postgres, too, keeps tenants apart."""

import psycopg
import pytest

from tests.workers.cli.test_doctor import examine
from turnloom.models.runtime.settings import settings


def test_missing_row_security_is_a_warning(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table without a policy is named; so is the setting that switches row-level security off."""
    owner_url = settings().owner_database_url
    assert owner_url is not None
    with psycopg.connect(owner_url) as owner:
        owner.execute("CREATE TABLE bare (tenant_id uuid)")
    found = examine()[1]["row security"]
    monkeypatch.setenv("TURNLOOM_ROW_SECURITY", "0")
    settings.cache_clear()
    off = examine()[1]["row security"]

    assert (found["status"], found["detail"]) == ("warning", "no policy guards bare")
    assert (off["status"], off["detail"]) == ("warning", "off: the queries alone keep tenants apart")

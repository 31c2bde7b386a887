"""A URL with a password is read in one way, or refused without showing any part of it."""

import re

import pytest
from pydantic import ValidationError

from turnloom.models.runtime.service_urls import shown_url
from turnloom.models.runtime.settings import Settings

NEEDLE = "hunter2"
MALFORMED = [
    f"postgresql//turnloom:{NEEDLE}@db/turnloom",
    f"postgres+psycopg://turnloom:{NEEDLE}@db/turnloom",
    f"turnloom:{NEEDLE}@db/turnloom",
    f"host=db password={NEEDLE}",
    f"postgresql://turnloom:{NEEDLE}/x@db/turnloom",
    f"postgresql://turnloom:12/{NEEDLE}@db/turnloom",
    f"postgresql://turnloom:x@{NEEDLE}@db/turnloom",
    f"postgresql://turnloom:#{NEEDLE}@db/turnloom",
    f"postgresql://turnloom:12?{NEEDLE}@db/turnloom",
    f"postgresql://turnloom:%{NEEDLE}@db/turnloom",
    f"postgresql://turnloom:%00{NEEDLE}@db/turnloom",
    f"postgresql://turnloom:{NEEDLE} @db/turnloom",
    f"postgresql://turnloom:[{NEEDLE}@db/turnloom",
    f"postgresql://turnloom:{NEEDLE}@db:{NEEDLE}/turnloom",
]


@pytest.mark.parametrize("url", MALFORMED)
@pytest.mark.parametrize("name", ["database_url", "owner_database_url", "redis_url", "openai_base_url", "api_url"])
def test_a_malformed_url_is_refused_and_not_quoted(name: str, url: str) -> None:
    """Neither the error's text nor its causes contain the password."""
    if name in ("openai_base_url", "api_url") and url.startswith("postgres+"):
        pytest.skip("these settings take any scheme")
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate({name: url})

    assert NEEDLE not in f"{refused.value} {refused.value!r}"
    assert re.search("the URL (must begin with|cannot be read)|the server must be Redis", str(refused.value))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://turnloom:p%40ss%2Fw%25@db:5432/turnloom?sslmode=require",
        "postgresql://turnloom@/turnloom?host=/run/postgresql",
        "postgresql://turnloom:pw@one,two/turnloom",
        "postgres://[::1]:5432/turnloom",
    ],
)
def test_customary_urls_are_taken(url: str) -> None:
    """They may have encoded passwords, sockets and IP addresses."""
    assert Settings.model_validate({"database_url": url}).database_url == url


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://flower.example", f"https://me:{NEEDLE}@flower.example", "flower.example:5555"]
)
def test_browsers_are_led_to_websites_only(url: str) -> None:
    """A link runs no script, and shows no password."""
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate({"flower_url": url})

    assert NEEDLE not in f"{refused.value} {refused.value!r}"


def test_a_website_may_lie_below_a_path() -> None:
    """A slash at its end is left out, so that further parts can follow."""
    assert Settings.model_validate({"flower_url": "https://ops.example/flower/"}).flower_url == (
        "https://ops.example/flower"
    )


def test_what_is_shown_of_a_url_is_no_secret() -> None:
    """Name, password and query are left out."""
    assert shown_url("https://me:hunter2@llm.example:8443/v1?key=hunter2#x") == "https://llm.example:8443/v1"

"""A client posts again because it has not heard the first answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask import request

from turnloom.models.contracts.fault_file import read_fault_file
from turnloom.models.runtime.fault_folder import make_fault_folder
from turnloom.models.runtime.settings import settings
from turnloom.web import repeated_posts


@pytest.fixture
def heard() -> list[bytes]:
    """The bodies that the application was posted."""
    return []


@pytest.fixture
def app(heard: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[APIFlask]:
    file = read_fault_file("duplicates: [{path: /v1/turns, nth: 2}, {path: '/v1/channels/*'}]")
    make_fault_folder(tmp_path / "faults", file)
    monkeypatch.setenv("TURNLOOM_FAULTS", str(tmp_path / "faults"))
    settings.cache_clear()
    made = APIFlask("posts")

    @made.route("/<path:path>", methods=["GET", "POST"])
    def take(path: str) -> str:
        heard.append(request.get_data())
        return f"{path} {len(heard)}"

    repeated_posts.install(made)
    yield made
    monkeypatch.undo()
    settings.cache_clear()


def test_a_post_comes_twice_and_the_second_is_answered(app: APIFlask, heard: list[bytes]) -> None:
    """Both have the whole body. Other posts come once."""
    answers = [app.test_client().post("/v1/turns", data=body).text for body in ("a", "b", "c")]

    assert heard == [b"a", b"b", b"b", b"c"]
    assert answers == ["v1/turns 1", "v1/turns 3", "v1/turns 4"]


def test_posts_of_providers_come_twice_by_a_pattern(app: APIFlask, heard: list[bytes]) -> None:
    """Requests that are no posts do not, nor those of other paths."""
    app.test_client().post("/v1/channels/slack/7", data="event")
    app.test_client().get("/v1/channels/slack/7")
    app.test_client().post("/v1/other", data="once")

    assert heard == [b"event", b"event", b"", b"once"]


def test_without_a_fault_file_nothing_is_installed() -> None:
    """The application is the same as before."""
    plain = APIFlask("plain")
    before = plain.wsgi_app

    repeated_posts.install(plain)

    assert plain.wsgi_app == before

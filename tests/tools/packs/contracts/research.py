"""The contract of the research pack, over the shipped sample documents and a web server."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from werkzeug import Response

from tests.tools.packs.contracts.cases import Case, Contract, Fails, Refused, Valid, World
from tests.tools.serving import LocalServer
from turnloom.models.runtime.settings import settings
from turnloom.models.tables.base import EVERYONE
from turnloom.tools.packs.research.collections import Collection, files_in, load
from turnloom.tools.packs.research.samples import SAMPLES

GUIDE = "samples/harbour-guide.md"
CROSSING = "How long does the crossing to Sandholm take?"
PAGE = "<html><head><title>The ferry</title></head><body><p>The crossing takes 40 minutes.</p></body></html>"


@contextmanager
def samples() -> Iterator[None]:
    """Load the samples for every tenant."""
    load(Collection(name="samples", owner=EVERYONE, folder=SAMPLES), files_in(SAMPLES))
    yield


def answering(*, allowed: bool = True, **response: Any) -> World:
    """Run a server that answers like this. Yield the URL of a page; the setting allows it or not."""

    @contextmanager
    def serve() -> Iterator[str]:
        with LocalServer() as server, pytest.MonkeyPatch.context() as patch:
            server.expect_request("/page").respond_with_response(Response(**response))
            if allowed:
                patch.setenv("TURNLOOM_ALLOWED_HOSTS", f'["127.0.0.1:{server.port}"]')
            settings.cache_clear()
            yield server.url_for("/page")
        settings.cache_clear()

    return serve


def failing(code: Any, words: str, **response: Any) -> Case:
    return Fails(lambda url: {"url": url}, code, words=words, given=answering(**response))


def compared(*said: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the findings of sources on one thing, each with the text that was read."""
    about = {"subject": "crossing to Sandholm", "attribute": "duration"}
    claims = [{**about, "value": value, "source": read.get("document") or read.get("url")} for value, read in said]
    return {"claims": claims, "sources": [read for _, read in said]}


OLD = {"document": GUIDE, "passage": "The crossing takes 25 minutes.", "modified": "2024-05-01", "score": 0.4}
NEW = {"document": "samples/timetable.md", "passage": "The crossing takes 40 minutes.", "modified": "2026-03-01"}
WEB = {"url": "https://ferry.example/", "title": "The ferry", "text": "It takes 40 minutes.", "published": None}
IN_AN_HOUR = {"Retry-After": (datetime.now(UTC) + timedelta(hours=1)).strftime("%a, %d %b %Y %H:%M:%S GMT")}
HTML = {"content_type": "text/html"}

WITHOUT_DATABASE = {"research.compare", "research.fetch"}

CONTRACT: Contract = {
    "research.search": [
        Valid(
            {"query": CROSSING, "limit": 2},
            gives={"results": [{"document": "samples/timetable.md"}, {"document": GUIDE}]},
            given=samples,
        ),
        Valid({"query": "zeppelin"}, gives={"results": []}, given=samples),
        Valid({"query": "' & | ! :* \\ <-> () \x00"}, gives={"results": []}, given=samples),
    ],
    "research.read": [
        Valid({"document": GUIDE}, gives={"title": "Port Elira harbour guide", "truncated": False}, given=samples),
        Valid({"document": GUIDE, "section": "the harbour"}, gives={"modified": "2024-05-01"}, given=samples),
        Fails({"document": "samples/nothing.md"}, "NOT_FOUND", "samples/nothing.md", given=samples),
        Fails({"document": GUIDE, "section": "Prices"}, "NOT_FOUND", "Prices", given=samples),
    ],
    "research.fetch": [
        Valid(
            lambda url: {"url": url},
            gives={"title": "The ferry", "truncated": False, "published": None},
            given=answering(response=PAGE, **HTML),
        ),
        Refused({"url": "file:///etc/passwd"}, "url"),
        Fails(lambda url: {"url": url}, "VALIDATION_ERROR", words="may not be called", given=answering(allowed=False)),
        failing("VALIDATION_ERROR", "image/png", response=b"\x89PNG", content_type="image/png"),
        failing("NOT_FOUND", "no text", response="<html><body></body></html>", **HTML),
        failing("UNAUTHORIZED", "401", status=401),
        failing("UPSTREAM_4XX", "404", status=404),
        failing("UPSTREAM_4XX", "redirects", status=302, headers={"Location": "/page"}),
        failing("UPSTREAM_5XX", "503", status=503),
        failing("RATE_LIMITED", "limits our requests", status=429, headers=IN_AN_HOUR),
    ],
    "research.note": [
        Valid(
            {"text": "The guide is old.", "about": "ferry", "source": GUIDE},
            gives={"text": "The guide is old.", "about": "ferry", "source": GUIDE},
        ),
    ],
    "research.compare": [
        Valid(
            compared(("25 minutes", OLD), ("40 minutes", NEW), ("40 minutes", WEB)),
            gives={"matters": [{"value": "40 minutes", "rule": "corroboration", "said": [...] * 3}]},
        ),
        Refused({**compared(("25 minutes", OLD)), "sources": [NEW]}, "arguments"),
        Refused(compared(("25 minutes", {"document": GUIDE})), "sources.0"),
        Refused({**compared(("25 minutes", OLD)), "sources": [{"passage": "It takes 25 minutes."}]}, "sources.0"),
    ],
}

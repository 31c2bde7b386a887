"""The console's page: what is sent, how browsers may use it, and that what is sent was made from the sources."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from turnloom.web.console import page

CONSOLE = Path(page.__file__).parent
MOST_BYTES = 250_000


def loaded(client: FlaskClient) -> list[str]:
    """Return the addresses of the files that the page loads."""
    return sorted(set(re.findall(r'(?:src|href)="(console/[^"]+)"', client.get("/").text)))


def digest_of_sources() -> str:
    """Compute what web/console/build.js writes into `dist/sources.sha256`."""
    names = [path.relative_to(CONSOLE).as_posix() for path in (CONSOLE / "source").rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for name in sorted([*names, "build.js", "package-lock.json"]):
        digest.update(f"{name}\0".encode() + (CONSOLE / name).read_bytes() + b"\0")
    return digest.hexdigest()


def test_what_is_sent_was_made_from_the_sources() -> None:
    """Whoever changes a source makes the output, too."""
    made_from = (CONSOLE / "dist" / "sources.sha256").read_text("utf-8").strip()

    assert made_from == digest_of_sources(), "run `make page`, and commit web/console/dist"


def test_no_script_of_elsewhere_runs_in_the_page(client: FlaskClient) -> None:
    """Nothing is allowed but the server's own files; no script or style stands in the page itself."""
    answer = client.get("/")

    (policy,) = answer.headers.getlist("Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert answer.content_type == "text/html; charset=utf-8"
    assert not re.search(r"<style|style=|<script>|\son\w+=|https?://(?!www\.w3\.org)", answer.text)


def test_files_are_kept_for_good_and_the_page_is_not(client: FlaskClient) -> None:
    """A new release has other names, which only the page tells."""
    files = [client.get(address) for address in loaded(client)]
    page_answer = client.get("/")
    again = client.get("/", headers={"If-None-Match": page_answer.headers["ETag"]})

    assert {file.status_code for file in files} == {200}
    assert {file.content_type.partition(";")[0] for file in files} == {"text/javascript", "text/css", "image/svg+xml"}
    assert {file.headers["Cache-Control"] for file in files} == {"public, max-age=31536000, immutable"}
    assert page_answer.headers["Cache-Control"] == "no-cache"
    assert again.status_code == 304
    assert again.headers.getlist("Content-Security-Policy") == page_answer.headers.getlist("Content-Security-Policy")


def test_files_are_packed_for_browsers_that_unpack_them(client: FlaskClient) -> None:
    """The content is the same; others get it as it is."""
    for address in ["/", *loaded(client)]:
        packed = client.get(address, headers={"Accept-Encoding": "br, gzip"})
        plain = client.get(address)

        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
        assert gzip.decompress(packed.data) == plain.data


def test_the_page_is_small(client: FlaskClient) -> None:
    """All that can be loaded together, unpacked, stays below the limit."""
    sizes = [path.stat().st_size for path in (CONSOLE / "dist").rglob("*") if path.is_file()]

    assert sum(sizes) < MOST_BYTES


@pytest.mark.parametrize("name", ["nothing.js", "../page.py", "%2e%2e/index.html", "index.html"])
def test_nothing_else_is_sent(client: FlaskClient, name: str) -> None:
    """Only the names of files that the page loads exist."""
    assert client.get(f"/console/assets/{name}").status_code == 404


def test_sources_never_parse_text_as_html() -> None:
    """What users, tools and language models write becomes text in the page, never markup."""
    unsafe = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|srcdoc"
    )
    found = [path.name for path in (CONSOLE / "source").rglob("*.js") if unsafe.search(path.read_text("utf-8"))]

    assert found == []


def test_sources_keep_nothing_in_the_browser() -> None:
    """A key or a message that is left in a browser's storage is there for whoever comes next."""
    stores = re.compile(r"localStorage|sessionStorage|indexedDB|document\.cookie")
    found = [path.name for path in (CONSOLE / "source").rglob("*.js") if stores.search(path.read_text("utf-8"))]

    assert found == []

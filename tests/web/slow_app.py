"""A slow application for gunicorn, for tests of connections."""

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from flask import Flask, Response, request, send_file
from gevent.monkey import get_original

from turnloom.web.shared_reads import read

READERS = 20
Key = tuple[int, str]

app = Flask(__name__)
_places, _asked, _found = count(), set[Key](), set[Key]()


@app.post("/length")
def length() -> str:
    return str(len(request.get_data()))


@app.get("/wait")
def wait() -> str:
    time.sleep(float(request.args["s"]))
    return "waited"


@app.get("/stream")
def stream() -> Response:
    def pieces() -> Iterator[str]:
        for number in range(8):
            time.sleep(0.25)
            yield f"data: {number}\n\n"

    return Response(pieces(), content_type="text/event-stream")


@app.get("/silent")
def silent() -> Response:
    """Begin a stream, and send nothing until the file `go` exists."""
    folder = Path(request.args["folder"])

    def pieces() -> Iterator[str]:
        yield ""
        while not (folder / "go").exists():
            time.sleep(0.01)
        yield "data: went\n\n"

    return Response(pieces(), content_type="text/event-stream")


@app.get("/broken")
def broken() -> Response:
    """Begin a stream, and fail before its first piece."""

    def pieces() -> Iterator[str]:
        yield ""
        raise RuntimeError("on purpose")

    return Response(pieces(), content_type="text/event-stream")


@app.get("/large")
def large() -> Response:
    return Response((b"x" * 65_536 for _ in range(1_000)), content_type="text/plain")


@app.get("/file")
def file() -> Response:
    return send_file(__file__)


@app.get("/hold")
def hold() -> str:
    """Block all other greenlets until the file `go` exists."""
    _hold(request.args["folder"])
    return ""


@app.route("/place", methods=["GET", "POST"])
def place() -> str:
    """Return how many places were given out before this one."""
    return str(next(_places))


@app.get("/read")
def read_place() -> str:
    """Return whether this read was in the last batch, during which no other greenlet ran, and its place."""
    key = len(_asked), request.args["folder"]
    _asked.add(key)
    return f"{read(_read, key)} {place()}"


@app.get("/garbage")
def garbage() -> list[int]:
    """Leave cycles behind, and return how often each generation was collected meanwhile."""
    before = [each["collections"] for each in gc.get_stats()]
    for _ in range(50_000):
        cycle: list[object] = []
        cycle.append(cycle)
    return [now["collections"] - then for now, then in zip(gc.get_stats(), before, strict=True)]


def _read(keys: Sequence[Key]) -> Mapping[Key, bool]:
    while len(_asked) < READERS:
        time.sleep(0.01)
    _found.update(keys)
    if is_last := len(_found) == READERS:
        _hold(keys[0][1])
    return dict.fromkeys(keys, is_last)


def _hold(folder: str) -> None:
    Path(folder, "held").touch()
    while not Path(folder, "go").exists():
        get_original("time", "sleep")(0.01)  # the patched `sleep` would let other greenlets run

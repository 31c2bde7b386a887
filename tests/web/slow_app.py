"""An application for gunicorn that takes its time, for tests of connections."""

import gc
import time
from collections.abc import Iterator

from flask import Flask, Response, request, send_file

app = Flask(__name__)


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


@app.get("/large")
def large() -> Response:
    return Response((b"x" * 65_536 for _ in range(1_000)), content_type="text/plain")


@app.get("/file")
def file() -> Response:
    return send_file(__file__)


@app.get("/garbage")
def garbage() -> list[int]:
    """Leave cycles behind; tell how often each generation was looked through meanwhile."""
    before = [each["collections"] for each in gc.get_stats()]
    for _ in range(50_000):
        cycle: list[object] = []
        cycle.append(cycle)
    return [now["collections"] - then for now, then in zip(gc.get_stats(), before, strict=True)]

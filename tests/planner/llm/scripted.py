"""A local server that speaks the OpenAI protocol from a script, with one behaviour per call, in order."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

Behaviour = Callable[[dict[str, Any]], Response]


def says(text: str | None, *, finish: str | None = "stop", **message: Any) -> Behaviour:
    """Answer with a text, whole or streamed as the request asks. If `finish` is None, the stream ends early."""

    def behave(body: dict[str, Any]) -> Response:
        usage = {"prompt_tokens": 11, "completion_tokens": 7}
        if not body.get("stream"):
            choice = {"message": {"content": text, **message}, "finish_reason": finish}
            return _json({"model": "scripted", "choices": [choice], "usage": usage})
        deltas: list[dict[str, Any]] = [{"content": piece} for piece in _pieces(text or "")]
        deltas += [message] if message else []
        choices: list[dict[str, Any]] = [{"delta": delta, "finish_reason": None} for delta in deltas]
        chunks: list[dict[str, Any]] = [{"model": "scripted", "choices": [choice]} for choice in choices]
        if finish is not None:
            chunks += [{"choices": [{"delta": {}, "finish_reason": finish}]}]
            chunks += [{"choices": [], "usage": usage}]
        return _stream(chunks, done=finish is not None)

    return behave


def calls(arguments: str, *, finish: str | None = "tool_calls") -> Behaviour:
    """Answer by calling the function that the request offers. A second call beside it must be ignored."""

    def call(index: int, piece: str) -> dict[str, Any]:
        return {"index": index, "type": "function", "function": {"name": "plan", "arguments": piece}}

    def behave(body: dict[str, Any]) -> Response:
        if not body.get("stream"):
            message = {"content": None, "tool_calls": [call(0, arguments), call(1, '{"other": 1}')]}
            return _json({"model": "scripted", "choices": [{"message": message, "finish_reason": finish}]})
        deltas = [{"tool_calls": [call(0, piece)]} for piece in ["", *_pieces(arguments)]]
        deltas += [{"tool_calls": [call(1, '{"other": 1}')]}]
        chunks: list[dict[str, Any]] = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks += [{"choices": [{"delta": {}, "finish_reason": finish}]}] if finish else []
        return _stream(chunks, done=finish is not None)

    return behave


def fails(status: int, message: str = "out of order", code: str | None = None, **headers: str) -> Behaviour:
    """Answer with an error object."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: _json({"error": {"message": message, "code": code}}, status, names)


def raw(content: str, mimetype: str = "application/json") -> Behaviour:
    """Answer with these bytes."""
    return lambda _: Response(content, mimetype=mimetype)


def hangs(released: threading.Event) -> Behaviour:
    """Do not answer until released."""

    def behave(_: dict[str, Any]) -> Response:
        released.wait(20)
        return Response("", 500)

    return behave


def drips(released: threading.Event) -> Behaviour:
    """Begin a stream, then send a piece now and then until released. No single read waits long."""

    def chunks() -> Iterator[str]:
        while not released.wait(0.02):
            yield f"data: {json.dumps({'choices': [{'delta': {'content': 'and '}, 'finish_reason': None}]})}\n\n"

    return lambda _: Response(chunks(), mimetype="text/event-stream")


def stream(pieces: Iterable[str], *, whole: bool = False) -> Response:
    """Send pieces as they come, or their text at once if `whole`."""
    if whole:
        return _json({"choices": [{"message": {"content": "".join(pieces)}, "finish_reason": "stop"}]})
    last: list[dict[str, Any]] = [{"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    chunks = ({"choices": [{"delta": {"content": piece}, "finish_reason": None}]} for piece in pieces)
    return _stream(chain(chunks, last), done=True)


class Script:
    """The answers of the server, and the requests that it has received."""

    def __init__(self) -> None:
        self.url = ""
        self.behaviours: list[Behaviour] = []
        self.otherwise: Behaviour = fails(500, "the script is over")
        """The behaviour when the script has ended."""
        self.requests: list[dict[str, Any]] = []
        self.released = threading.Event()

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        if request.method == "GET":
            return _json({"data": []})(environ, start_response)
        self.requests.append(json.loads(request.data))
        behave = self.behaviours.pop(0) if self.behaviours else self.otherwise
        return behave(self.requests[-1])(environ, start_response)


@contextmanager
def scripted_server() -> Iterator[Script]:
    """Serve a script on a free port."""

    class Quiet(WSGIRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    script = Script()
    with make_server("127.0.0.1", 0, script, threaded=True, request_handler=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        script.url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield script
        finally:
            script.released.set()
            server.shutdown()
            thread.join()


def _pieces(text: str) -> list[str]:
    return [text[start : start + 12] for start in range(0, len(text), 12)]


def _stream(chunks: Iterable[dict[str, Any]], *, done: bool) -> Response:
    lines = (f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Response(chain(lines, ["data: [DONE]\n\n"] if done else []), mimetype="text/event-stream")


def _json(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(data), status, headers, mimetype="application/json")

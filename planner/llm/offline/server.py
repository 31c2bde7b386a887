"""The offline model as a WSGI application: POST /v1/chat/completions, streamed and not, and GET /v1/models."""

import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import WSGIRequestHandler, make_server

from turnloom.planner.llm.offline.prompt import read_request
from turnloom.planner.llm.offline.responses import write

NAME = "offline"
"""The model's only name."""

_PIECE = re.compile(r".{1,40}?(?:\s+|$)|.{40}", re.DOTALL)
"""A streamed piece: up to the next white space, at most 40 characters."""


def create_app(prompts_dir: Path) -> Flask:
    """Return the application. Its rules are read from prompts_dir/offline."""
    app = Flask(__name__)
    numbers = itertools.count(1)

    @app.get("/v1/models")
    def models() -> Response:
        return jsonify(object="list", data=[{"id": NAME, "object": "model", "created": 0, "owned_by": "turnloom"}])

    @app.post("/v1/chat/completions")
    def complete() -> Response:
        body = request.get_json()
        if not isinstance(body, dict):
            raise ValueError("the body must be a JSON object")  # noqa: TRY004 - what a caller sent
        text = write(read_request(body), prompts_dir)
        answer = {"id": f"chatcmpl-{next(numbers)}", "created": int(time.time()), "model": NAME}
        usage = _usage(body["messages"], text)
        if not body.get("stream"):
            message = {"role": "assistant", "content": text, "refusal": None}
            choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
            return jsonify(answer | {"object": "chat.completion", "choices": [choice], "usage": usage})
        options = body.get("stream_options") or {}
        chunks = _chunks(answer, text, usage if options.get("include_usage") else None)
        return Response(chunks, mimetype="text/event-stream")

    @app.errorhandler(ValueError)
    def refuse(error: ValueError) -> tuple[Response, int]:
        return _problem(str(error), "invalid_request_error"), 400

    @app.errorhandler(HTTPException)
    def fail(error: HTTPException) -> tuple[Response, int]:
        return _problem(error.description or error.name, "invalid_request_error"), error.code or 500

    return app


def serve(prompts_dir: Path, host: str, port: int) -> None:
    """Serve the offline model until interrupted, one thread per request."""

    class KeepAlive(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Write nothing: a benchmark makes thousands of calls."""

    with make_server(host, port, create_app(prompts_dir), threaded=True, request_handler=KeepAlive) as server:
        server.serve_forever()


def _chunks(answer: dict[str, Any], text: str, usage: dict[str, int] | None) -> Iterator[str]:
    def chunk(choices: list[dict[str, Any]], **more: Any) -> str:
        data = answer | {"object": "chat.completion.chunk", "choices": choices} | more
        return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"

    yield chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
    for piece in _PIECE.findall(text):
        yield chunk([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
    yield chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    if usage is not None:
        yield chunk([], usage=usage)
    yield "data: [DONE]\n\n"


def _usage(messages: list[dict[str, Any]], text: str) -> dict[str, int]:
    """Count four characters as a token, as is usual for English. Real models count in their own way."""
    prompt = sum(len(message["content"]) for message in messages) // 4 + 1
    completion = len(text) // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _problem(message: str, kind: str) -> Response:
    return jsonify(error={"message": message, "type": kind, "param": None, "code": None})

"""Turn every error into a problem document (RFC 9457). It shows the error's own sentence and nothing else."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import Any

from apiflask import APIFlask
from flask import Response, request
from gunicorn.http.errors import NoMoreData, ParseException
from werkzeug.exceptions import HTTPException

from turnloom.models.contracts.problem import Problem, ProblemError
from turnloom.models.errors import Malformed, RateLimited, TurnloomError, Unauthorized, Unavailable
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.logging import log
from turnloom.web.openai_front.errors import in_openai_shape, speaks_openai
from turnloom.web.request_ids import request_id

MEDIA_TYPE = "application/problem+json"
_RETRY_AFTER_S = 2
_KEPT_HEADERS = ("Allow", "Retry-After")
HTTP_CODES = {
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "too_large",
    415: "unsupported_media_type",
}
"""Codes of the errors that the web server raises itself."""
_DETAILS = {
    408: "the body did not arrive in time; send the request again",
    404: "there is nothing at this address; /openapi.json lists what there is",
}


def handle_errors(app: APIFlask) -> None:
    """Make the application answer every error with a problem document."""
    app.register_error_handler(TurnloomError, _of_ours)
    app.register_error_handler(HTTPException, _of_http)
    app.register_error_handler(ParseException, _of_body)
    app.register_error_handler(NoMoreData, _of_body)
    app.register_error_handler(Exception, _unforeseen)


def fault(field: str, code: str, detail: str) -> dict[str, Any]:
    """Return one fault of a request, for the `faults` of an `Invalid`."""
    return {"field": field, "code": code, "detail": detail}


def unreadable_body() -> Malformed:
    """Return the error for a body that cannot be read to its end."""
    sentence = "the body ends before its Content-Length, or is not well-formed in chunks; send the request again"
    return Malformed(sentence, code="unreadable_body")


def _of_ours(error: TurnloomError) -> Response:
    headers: dict[str, str] = {}
    if isinstance(error, RateLimited) or error.code == "overloaded":
        counts().add("turnloom_requests_refused_total", error.code)
    if isinstance(error, (Unavailable, RateLimited)):
        headers["Retry-After"] = str(ceil(error.retry_after_s or _RETRY_AFTER_S))
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = 'Bearer realm="turnloom"'
    return _answer(problem_of(error), headers)


def problem_of(error: TurnloomError) -> Problem:
    """Return an error of ours as a problem."""
    return _problem(error.status, error.code, str(error), [_read_fault(each) for each in error.faults])


def _of_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        # Werkzeug raises redirects as exceptions, but they are not errors.
        return Response(error.get_response().get_data(), status, dict(error.get_headers()))
    headers = {name: value for name, value in error.get_headers() if name in _KEPT_HEADERS}
    phrase = HTTPStatus(status).phrase
    code = HTTP_CODES.get(status, phrase.lower().replace(" ", "_"))
    detail = _DETAILS.get(status) or error.description or phrase
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        detail = f"the body is larger than the {request.max_content_length} bytes that this server accepts"
    return _answer(_problem(status, code, detail), headers)


def _of_body(error: Exception) -> Response:
    """Answer a request whose body the server cannot read to its end."""
    del error  # it quotes the body
    return _of_ours(unreadable_body())


def _unforeseen(error: Exception) -> Response:
    del error  # it is logged, and the caller must not see it
    detail = "something went wrong on our side; quote the trace_id when you ask about it"
    return _answer(_problem(500, "internal_error", detail), {})


def _problem(status: int, code: str, detail: str, errors: Sequence[ProblemError] = ()) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(title=title, status=status, detail=detail, code=code, errors=[*errors], trace_id=request_id())


def _answer(problem: Problem, headers: Mapping[str, str]) -> Response:
    """Answer with a problem, or on addresses of OpenAI's protocol with an error in its shape."""
    if problem.status >= 500:
        route = request.url_rule.rule if request.url_rule else None
        unforeseen = problem.code == "internal_error"
        log.error("request.failed", trace_id=problem.trace_id, code=problem.code, route=route, exc_info=unforeseen)
    if speaks_openai(request.path):
        status, body = in_openai_shape(problem)
        return Response(body, status, headers, content_type="application/json")
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, problem.status, headers, content_type=MEDIA_TYPE)


def _read_fault(given: Mapping[str, Any]) -> ProblemError:
    """Read a fault of a request or of a plan."""
    return ProblemError(
        code=given["code"],
        detail=given.get("detail") or given["message"],
        field=given.get("field") or given.get("path"),
        step=given.get("step"),
    )

"""Serve the API's OpenAPI 3.1 document at /openapi.json, and a page at /docs that loads nothing from other sites."""

import json
import re
from pathlib import Path
from typing import Any

import flask_swagger_ui
from apiflask import APIBlueprint, APIFlask
from flask import Response, send_from_directory
from werkzeug.exceptions import NotFound

from turnloom.models.contracts.chat import OpenAIError
from turnloom.models.contracts.own_texts import OldText
from turnloom.models.contracts.problem import Problem
from turnloom.models.contracts.turn import TurnView
from turnloom.web.errors import MEDIA_TYPE
from turnloom.web.openai_front.errors import speaks_openai
from turnloom.web.session_cookie import COOKIE

_PAGES = Path(__file__).parent / "pages"
_SWAGGER_UI = Path(flask_swagger_ui.__file__).parent / "dist"
_ASSETS = ("swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png")
_PAGE_SCRIPT = "docs.js"
_A_WEEK_S = 604_800
_REFERENCE = "#/components/schemas/"
_TEXT = {"type": "string"}
_TEXT_OF: dict[str, dict[str, Any]] = {"text/event-stream": {}}
"""The schema of a text that is not one string: what reads a stream takes the schema for that of each event."""
_TOO_LONG = {
    "description": "The request line is longer than 4,094 bytes; the server says so before it reads the request",
    "content": {"text/html": {"schema": _TEXT}},
}
_IDEMPOTENCY_KEY = {"name": "Idempotency-Key", "in": "header", "schema": {**_TEXT, "maxLength": 128}}
_ANYWHERE_404 = (
    *("/v1/turns", "/v1/audit", "/v1/connections", "/v1/replays", "/v1/prompts/check"),
    *("/v1/chat/completions", "/api/ai/chat"),
)
"""Addresses without an id, with something in the request that may not exist."""
_DESCRIPTION = """
Errors are `application/problem+json` (RFC 9457); `code` is the stable name of an error. A key sees nothing of another
tenant: such things get 404. While the database is down, any request may get 503 with `Retry-After`. Each answer has an
`X-Request-Id`: the one that the request came with, or a new one; it is the `trace_id` of an error. In place of a key,
pages of this site may send the cookie that `POST /v1/console/session` sets; what changes something then also needs the
session's `csrf` as `X-CSRF-Token`.
""".strip()

blueprint = APIBlueprint("document", __name__, enable_openapi=False)


@blueprint.get("/docs")
def docs() -> Response:
    """Show the documentation."""
    return send_from_directory(_PAGES, "docs.html")


@blueprint.get("/docs/assets/<name>")
def asset(name: str) -> Response:
    """Send a file that the documentation page loads."""
    if name == _PAGE_SCRIPT:
        return send_from_directory(_PAGES, name)
    if name not in _ASSETS:
        raise NotFound
    return send_from_directory(_SWAGGER_UI, name, max_age=_A_WEEK_S)


def document(app: APIFlask) -> None:
    """Make the application describe itself."""
    app.config.update(
        OPENAPI_VERSION="3.1.0",
        AUTO_SERVERS=False,
        AUTO_404_RESPONSE=False,
        AUTO_VALIDATION_ERROR_RESPONSE=False,
        AUTO_AUTH_ERROR_RESPONSE=False,
        SECURITY_SCHEMES={
            "bearer": {"type": "http", "scheme": "bearer"},
            "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        },
    )
    app.description = _DESCRIPTION
    app.spec_processor(_completed)  # type: ignore[arg-type]  # annotated for YAML too


def _completed(spec: dict[str, Any]) -> dict[str, Any]:
    """Add what APIFlask does not know: problems, security, media types other than JSON, and plain schema names."""
    schemas = spec["components"]["schemas"]
    for model in (Problem, TurnView, OldText, OpenAIError):
        made = model.model_json_schema(ref_template=_REFERENCE + "{model}")
        schemas.update(made.pop("$defs", {}) | {model.__name__: made})
    for path, operations in spec["paths"].items():
        for operation in operations.values():
            _complete(path, operation)
    receive = spec["paths"]["/v1/turns"]["post"]
    receive["responses"]["200"] = _answer("A repeated message, or the finished turn", "TurnAccepted", "TurnView")
    receive["responses"]["409"] = _problem(
        "Busy, the message id came with another body, or the plan repeats what was done before"
    )
    receive["responses"]["429"] = _too_many()
    receive["parameters"].append(_IDEMPOTENCY_KEY)
    spec["paths"]["/v1/turns/{turn_id}/cancel"]["post"]["responses"]["200"] = _answer("It had ended", "TurnState")
    decide = spec["paths"]["/v1/turns/{turn_id}/approvals/{step_id}"]["post"]
    decide["responses"]["409"] = _problem("The decision was the opposite one, or the step waits for none")
    follow = spec["paths"]["/v1/turns/{turn_id}/events"]["get"]
    follow["parameters"].append({"name": "Last-Event-ID", "in": "header", "schema": {**_TEXT, "maxLength": 20}})
    follow["responses"]["429"] = _problem("The key has as many event streams as it may")
    follow["responses"]["400"] = _problem("The id is not one of the turn's events")
    _complete_takeover(spec["paths"])
    _complete_dead_letters(spec["paths"])
    for path in ("/v1/conversations/{conversation_id}", "/v1/users/{user_id}"):
        spec["paths"][path]["delete"]["responses"]["409"] = _problem("A turn is in work")
    _complete_replays(spec["paths"])
    _complete_rollouts(spec["paths"])
    _complete_front(spec["paths"])
    _complete_console(spec["paths"]["/v1/console/session"])
    show_text = spec["paths"]["/v1/prompts/{name}"]["get"]
    show_text["responses"]["200"] = _answer("The text in effect, or that of the version", "TextDetail", "OldText")
    return _plainly_named(spec)


def _complete_takeover(paths: dict[str, Any]) -> None:
    """Describe what a person in place of the agent may be refused."""
    pause, write = (paths[f"/v1/conversations/{{conversation_id}}/{part}"]["post"] for part in ("pause", "messages"))
    pause["responses"]["409"] = _problem("The conversation was erased")
    write["responses"]["200"] = _answer("A repeated message", "TurnAccepted")
    write["responses"]["409"] = _problem(
        "The message id came with another body, the conversation was erased, or nobody has written on its channel"
    )
    write["parameters"].append(_IDEMPOTENCY_KEY)


def _complete_dead_letters(paths: dict[str, Any]) -> None:
    """Describe what an operator may be refused."""
    refused = {
        "steps/{step_id}/decision": "The outcome of the step is known",
        "deliveries/{part}/redrive": "The part is sent, or on its way",
        "callback/redrive": "The callback was not given up",
    }
    for part, why in refused.items():
        paths[f"/v1/turns/{{turn_id}}/{part}"]["post"]["responses"]["409"] = _problem(why)


def _complete_console(operations: dict[str, Any]) -> None:
    operations["post"]["responses"]["429"] = _problem("Too many tries to sign in from this address")
    for verb in ("get", "delete"):
        operations[verb]["security"] = [{"session": []}]


def _complete_replays(paths: dict[str, Any]) -> None:
    """Describe what a replay may refuse."""
    report, cancel = (
        paths["/v1/replays/{replay_id}/report.html"]["get"],
        paths["/v1/replays/{replay_id}/cancel"]["post"],
    )
    report["responses"]["409"] = _problem("The replay has not ended, or its report is being made")
    for tried in ("/v1/replays", "/v1/prompts/check"):
        paths[tried]["post"]["responses"]["409"] = _problem("The turn has not ended, or has no reply of an agent's own")
    cancel["responses"]["409"] = _problem("The replay is finished")
    fork = paths["/v1/turns/{turn_id}/forks"]["post"]
    fork["responses"]["409"] = _problem("The turn has not ended, was stopped, or has its reply from a person")


def _complete_rollouts(paths: dict[str, Any]) -> None:
    """Describe what a rollout may refuse."""
    start = paths["/v1/rollouts"]["post"]["responses"]
    start["404"] = _problem("There is no text of this name")
    start["409"] = _problem("A rollout of this text is running, or too many rollouts are")
    for part in ("stop", "promote"):
        end = paths[f"/v1/rollouts/{{rollout_id}}/{part}"]["post"]
        end["responses"]["409"] = _problem("The rollout has ended")


def _complete_front(paths: dict[str, Any]) -> None:
    """Describe the streams and the errors of clients that keep the conversation themselves."""
    complete, chat = paths["/v1/chat/completions"]["post"], paths["/api/ai/chat"]["post"]
    complete["responses"]["200"]["content"]["text/event-stream"] = {"schema": _TEXT_OF["text/event-stream"]}
    for operation in (complete, chat):
        operation["responses"]["409"] = _problem("The `Idempotency-Key` came before with another body")
        operation["responses"]["429"] = _too_many()
        operation["parameters"].append(_IDEMPOTENCY_KEY)
    for operation in (op for path, operations in paths.items() if speaks_openai(path) for op in operations.values()):
        answers = {status: answer for status, answer in operation["responses"].items() if status != "422"}
        for status, answer in answers.items():
            if not status.startswith("2"):
                answer["content"] = {"application/json": {"schema": {"$ref": _REFERENCE + OpenAIError.__name__}}}
        operation["responses"] = answers


def _complete(path: str, operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    for answer in answers.values():
        for media_type, content in answer.get("content", {}).items():
            if media_type.startswith(("text/", "image/")):
                content["schema"] = _TEXT_OF.get(media_type, _TEXT)
    answers["500"] = _problem("Something went wrong on our side")
    answers["503"] = _problem("A service that we depend on is down; `Retry-After` says when to try again")
    _secure(path, operation)
    if "{" in path or path in _ANYWHERE_404:
        answers["404"] = _problem("It does not exist, or it belongs to another tenant")
    if "requestBody" in operation:
        operation["requestBody"]["required"] = True
        answers["400"] = _problem("The body is not JSON that we can read")
        answers["413"] = _problem("The body is too large")
        answers["415"] = _problem("The body is not application/json in UTF-8")
    has_query = any(parameter["in"] == "query" for parameter in operation["parameters"])
    if has_query:
        answers["414"] = _TOO_LONG
    if "requestBody" in operation or has_query:
        answers["422"] = _problem("The request is well-formed but not valid; `errors` names each fault")
    operation["responses"] = dict(sorted(answers.items()))


def _secure(path: str, operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    if path.startswith("/v1/channels/"):
        answers["401"] = _problem("The provider's signature is missing or wrong")
    elif path.startswith("/v1/console/"):
        answers["401"] = _problem("The key is missing or unknown, or nobody is signed in")
        answers["403"] = _problem("The request comes from a page of another site, or lacks the session's csrf token")
    elif path.startswith(("/v1/", "/api/")):
        operation["security"] = [{"bearer": []}, {"apiKey": []}]
        answers["401"] = _problem("The key is missing or unknown")
        answers["403"] = _problem("The key lacks a scope")


def _too_many() -> dict[str, Any]:
    return _problem("Too many messages of the user, the key or the tenant; `Retry-After` says when to try again")


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE + "Problem"}}}}


def _answer(description: str, *models: str) -> dict[str, Any]:
    schema = {"anyOf": [{"$ref": _REFERENCE + model} for model in models]}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _plainly_named(spec: dict[str, Any]) -> dict[str, Any]:
    """Rename schemas such as `TurnView.Reply` to `Reply`: APIFlask repeats a nested model for each that holds it."""
    schemas = spec["components"]["schemas"]
    spec["components"]["schemas"] = {name.rpartition(".")[2]: schema for name, schema in sorted(schemas.items())}
    named: dict[str, Any] = json.loads(re.sub(rf"({_REFERENCE})\w+\.", r"\1", json.dumps(spec)))
    return named

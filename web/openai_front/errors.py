"""Errors as OpenAI's clients read them."""

from turnloom.models.contracts.chat import OpenAIError, OpenAIFault
from turnloom.models.contracts.problem import Problem

_ROUTES = ("/v1/chat/completions", "/v1/models")
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_STATUSES = {422: 400}
"""Statuses that OpenAI does not use, and what it uses in their place."""
_CODES = {"unauthorized": "invalid_api_key", "unknown_key": "invalid_api_key"}
"""Codes that clients know under another name."""


def speaks_openai(path: str) -> bool:
    """Return whether an address belongs to OpenAI's protocol."""
    return path.startswith(_ROUTES)


def in_openai_shape(problem: Problem) -> tuple[int, str]:
    """Return status and body of a problem in OpenAI's shape."""
    first = problem.errors[0] if problem.errors else None
    status = _STATUSES.get(problem.status, problem.status)
    fault = OpenAIFault(
        message=f"{problem.detail} (trace_id {problem.trace_id})" if status >= 500 else problem.detail,
        type=_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error"),
        param=first.field if first else None,
        code=first.code if first else _CODES.get(problem.code, problem.code),
    )
    return status, OpenAIError(error=fault).model_dump_json()

"""The errors of the client."""

from typing import Any

import httpx2


class ApiUnreachable(Exception):
    """The API does not answer, or has broken off its answer too often."""


class ApiError(Exception):
    """A refusal of the API. Its text is the API's own sentence."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after_s: float = 0.0) -> None:
        details = "; ".join(str(fault.get("detail", "")) for fault in problem.get("errors", []))
        super().__init__(f"{status}: {problem['detail']}" + (f" ({details})" if details else ""))
        self.status = status
        """The HTTP status."""
        self.code = str(problem.get("code", ""))
        """The stable name of the refusal, such as `not_found`."""
        self.problem = problem
        """The whole answer."""
        self.retry_after_s = retry_after_s
        """The pause that the API asks for."""


def error_of(answer: httpx2.Response) -> ApiError:
    """Return the error of an answer whose body is read."""
    asked = answer.headers.get("retry-after", "")
    pause_s = float(asked) if asked.isdecimal() else 0.0
    try:
        return ApiError(answer.status_code, dict(answer.json()), pause_s)
    except (ValueError, KeyError, TypeError):  # not ours: a proxy in front of the API may have its own page
        return ApiError(answer.status_code, {"detail": f"{answer.url.host} answered without a reason"}, pause_s)

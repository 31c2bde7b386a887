"""Retries go on until the caller's patience is over. Pauses grow; a longer one that the API asks for is kept."""

import random
import time

from turnloom.client.api_errors import ApiError, ApiUnreachable

_FIRST_S = 0.2
_LONGEST_S = 5.0
_PASSING = frozenset({429, 502, 503, 504})


class Retries:
    """The further tries of one call."""

    def __init__(self, patience_s: float) -> None:
        self._until = time.monotonic() + patience_s
        self._pause_s = _FIRST_S

    def pause(self, error: ApiError | ApiUnreachable) -> None:
        """Wait for the next try after this error. If there is none, raise the error."""
        asked_s = error.retry_after_s if isinstance(error, ApiError) else 0.0
        pause_s = max(self._pause_s * random.uniform(0.8, 1.2), asked_s)  # noqa: S311 - no secret
        is_final = isinstance(error, ApiError) and error.status not in _PASSING
        if is_final or time.monotonic() + pause_s > self._until:
            raise error
        time.sleep(pause_s)
        self._pause_s = min(self._pause_s * 2, _LONGEST_S)

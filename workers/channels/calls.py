"""Requests to a provider, and what answers of every provider have in common."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import SecretStr

from turnloom.tools.http.upstream import UpstreamRequest, UpstreamResponse
from turnloom.workers.channels.protocol import MessageRefused, ProviderAccount, TryLater, Unsure

_LONGEST_PAUSE_S = 3_600.0
_MAX_ANSWER_BYTES = 262_144


def json_request(
    account: ProviderAccount, url: str, body: Mapping[str, Any], headers: Mapping[str, str]
) -> UpstreamRequest:
    """Return a POST of JSON."""
    return UpstreamRequest(
        url=url,
        method="POST",
        headers={"Content-Type": "application/json; charset=utf-8", **headers},
        content=orjson.dumps(body),
        max_bytes=_MAX_ANSWER_BYTES,
        is_named_by_others=account.config.api_base is not None,
    )


def bearer(token: SecretStr) -> Mapping[str, str]:
    """Return the header that names a token."""
    return {"Authorization": f"Bearer {token.get_secret_value()}"}


def basic(user: str, password: SecretStr) -> Mapping[str, str]:
    """Return the header that names a user and a password."""
    pair = f"{user}:{password.get_secret_value()}".encode()
    return {"Authorization": f"Basic {b64encode(pair).decode()}"}


def answered(answer: UpstreamResponse) -> Any:
    """Return the JSON value of an answer; None if its body is not JSON."""
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None


def failed(answer: UpstreamResponse) -> TryLater | MessageRefused | Unsure:
    """Return what an answer means that has no error code of the provider's."""
    status = str(answer.status)
    if answer.status in (429, 503):
        return TryLater("number", status, pause(answer.headers.get("retry-after")))
    if 300 <= answer.status < 500:
        return MessageRefused(status, f"{answer.host} answered with HTTP {status}")
    # A success that cannot be read, or a fault behind the provider's door: the message may be on its way.
    return Unsure(f"{answer.host} answered with HTTP {status} and said nothing about the message")


def pause(seconds: Any) -> float | None:
    """Return the pause that a provider asked for, an hour at most; None if it is no number of seconds."""
    try:
        asked = float(seconds)
    except (TypeError, ValueError):
        return None
    return min(max(asked, 0.0), _LONGEST_PAUSE_S) if asked == asked else None  # noqa: PLR0124 - not a number differs from itself

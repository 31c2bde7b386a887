"""Talk to our own API, for the commands that use a running stack."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from turnloom.client import ApiError, ApiUnreachable, Client
from turnloom.models.errors import Unavailable

_PATIENCE_S = 5.0
"""A person waits at the terminal."""


class Api:
    """The API as commands use it. Answers are plain data; errors are `Unavailable` with the server's own sentence."""

    def __init__(self, url: str, key: str) -> None:
        self._client = Client(url, key, patience_s=_PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def post_turn(self, **request: Any) -> dict[str, Any]:
        """Post a message and return what the API says on accepting it."""
        with _sentences():
            return self._client.post(**request).model_dump(mode="json")

    def turn(self, turn_id: str) -> dict[str, Any]:
        """Return a turn as it stands."""
        return self._get(f"/v1/turns/{turn_id}")

    def trace(self, turn_id: str) -> dict[str, Any]:
        """Return where a turn's plans and reply come from."""
        return self._get(f"/v1/turns/{turn_id}/trace.json")

    def memory(self, conversation_id: str) -> dict[str, Any]:
        """Return what is settled and remembered in a conversation."""
        return self._get(f"/v1/conversations/{conversation_id}/memory")

    def knowledge(self, conversation_id: str) -> dict[str, Any]:
        """Return what a conversation knows."""
        return self._get(f"/v1/conversations/{conversation_id}/knowledge")

    def agents(self) -> list[dict[str, Any]]:
        """Return the agents."""
        items: list[dict[str, Any]] = self._get("/v1/agents")["items"]
        return items

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools."""
        items: list[dict[str, Any]] = self._get("/v1/tools")["items"]
        return items

    def events(self, turn_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (type, data) until the turn is final. A broken connection is resumed where it broke."""
        with _sentences():
            for event in self._client.stream(turn_id):
                yield event.type, event.data

    def _get(self, path: str) -> dict[str, Any]:
        with _sentences():
            answer: dict[str, Any] = self._client.request("GET", path)
            return answer


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except ApiUnreachable as error:
        raise Unavailable(f"{error}; `turnloom up` starts a stack on this machine") from error
    except ApiError as error:
        raise Unavailable(str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Unavailable(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None

"""Language models behind the OpenAI protocol, through the official SDK.

One retry layer (tenacity; the SDK's own is off), one timeout per attempt, one budget for the whole call.
Requests go through the SDK's `post` with plain data: building its models costs a millisecond per call and
fifteen per streamed answer. Chat Completions, because every compatible server speaks it.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx2
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, OpenAI, Stream
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_before_delay

from models.errors import Unavailable
from models.settings import Settings
from planner.llm.answer import Answer
from planner.llm.forms import Form, Forms, next_form, request_fields
from planner.llm.protocol import Generation, LanguageModel, Message, OnDelta, Purpose

_CONNECT_S = 5.0
_PROBE_S = 3.0

Attempt = Callable[[dict[str, Any], float], Generation]
"""One try with a request body, until a moment on this process's monotonic clock."""


@dataclass
class _Request:
    """A call that is being made, and the form in which it asks for an answer that fits a schema."""

    attempt: Attempt
    body: dict[str, Any]
    schema: dict[str, Any] | None
    form: Form

    def send(self, until: float) -> Generation:
        extra = request_fields(self.form, self.schema) if self.schema is not None else {}
        return self.attempt(self.body | extra, until)


class OpenAIModel:
    """A language model behind an endpoint that speaks the OpenAI protocol."""

    def __init__(self, client: OpenAI, config: Settings, *, cost: float | None = None) -> None:
        """Use a client that was made with `max_retries=0`. `cost`: what every call costs, where that is known."""
        self._client = client
        self._config = config
        self._cost = cost
        self._forms = Forms()

    @property
    def supports_structured_output(self) -> bool:
        """Whether the default language model has not refused a schema lately."""
        return self._forms.best(self._config.llm_model) == "schema"

    @property
    def supports_function_calling(self) -> bool:
        """Whether the default language model has not refused a function to call lately."""
        return self._forms.best(self._config.llm_model) in ("schema", "function")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def available(self) -> bool:
        """Ask whether the endpoint is there and would take our key."""
        try:
            self._client.get("/models", cast_to=object, options={"timeout": _PROBE_S})
        except APIStatusError as error:
            return error.status_code == 404  # the list is optional for compatible servers
        except (APIError, ValueError):
            return False
        return True

    def generate(
        self,
        messages: Sequence[Message],
        *,
        purpose: Purpose,  # noqa: ARG002 - for those who count, or look on
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Return the whole answer. `timeout_s` bounds the call with all its retries."""
        return self._persist(self._request(self._whole, self._body(messages, model), schema), timeout_s)

    def stream(
        self,
        messages: Sequence[Message],
        on_delta: OnDelta,
        *,
        purpose: Purpose,  # noqa: ARG002 - for those who count, or look on
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Return the whole answer, having handed on each piece as it came; nothing is retried after the first."""
        body = self._body(messages, model) | {"stream": True, "stream_options": {"include_usage": True}}
        return self._persist(self._request(partial(self._pieces, on_delta), body, schema), timeout_s)

    def _request(self, attempt: Attempt, body: dict[str, Any], schema: dict[str, Any] | None) -> _Request:
        return _Request(attempt, body, schema, self._forms.best(body["model"]))

    def _persist(self, request: _Request, timeout_s: float | None) -> Generation:
        tries, first_form = self._config.llm_retries + 1, request.form
        budget_s = timeout_s if timeout_s is not None else self._config.llm_timeout_s * tries
        retrying = Retrying(
            stop=stop_after_attempt(tries) | stop_before_delay(budget_s),
            wait=_pause_s,
            retry=retry_if_exception(_is_transient),
            reraise=True,
        )
        generation: Generation = retrying(self._try, request, time.monotonic() + budget_s)
        if request.form != first_form:
            self._forms.keep(request.body["model"], request.form)
        return generation

    def _try(self, request: _Request, end: float) -> Generation:
        now = time.monotonic()
        if now >= end:
            raise Unavailable("no time is left for the language model", code="llm_timeout", passes=True)
        try:
            return request.send(min(end, now + self._config.llm_timeout_s))
        except APIStatusError as error:
            lesser = next_form(request.form, error) if request.schema is not None else None
            if lesser is None:
                raise _unavailable(error) from error
            request.form = lesser
        except (APIError, httpx2.HTTPError) as error:
            raise _unavailable(error) from error
        return self._try(request, end)

    def _whole(self, body: dict[str, Any], until: float) -> Generation:
        answer = Answer(body["model"], self._cost)
        options: Any = {"timeout": _timeout(until)}
        try:
            answer.take_whole(self._client.post("/chat/completions", cast_to=object, body=body, options=options))
        except ValueError as error:
            raise httpx2.DecodingError(f"the answer is not JSON: {error}") from error
        return answer.finished()

    def _pieces(self, on_delta: OnDelta, body: dict[str, Any], until: float) -> Generation:
        answer = Answer(body["model"], self._cost)
        for chunk in self._chunks(body, until, answer):
            if piece := answer.take(chunk):
                on_delta(piece)
        generation = answer.finished()
        if generation.finish_reason == "cut" and not answer.begun:
            raise httpx2.RemoteProtocolError("the stream ended before it began")
        return generation

    def _chunks(self, body: dict[str, Any], until: float, answer: Answer) -> Iterator[object]:
        """Yield the chunks of a stream. One that breaks after the first words ends early; before them it raises."""
        options: Any = {"timeout": _timeout(until)}
        try:
            with self._client.post(
                "/chat/completions", cast_to=object, body=body, options=options, stream=True, stream_cls=Stream[object]
            ) as chunks:
                for chunk in chunks:
                    yield chunk
                    if time.monotonic() > until:  # the SDK's timeout is per read: a dripping stream never meets it
                        raise httpx2.ReadTimeout("the stream was still running when its time was over")
        except ValueError as error:
            if not answer.begun:
                raise httpx2.DecodingError(f"the stream holds something that is not JSON: {error}") from error
        except (APIError, httpx2.HTTPError):
            if not answer.begun:
                raise

    def _body(self, messages: Sequence[Message], model: str | None) -> dict[str, Any]:
        return {
            "model": model or self._config.llm_model,
            "messages": list(messages),
            self._config.llm_max_tokens_parameter: self._config.llm_max_tokens,
        }


def connect(config: Settings) -> LanguageModel:
    """Return the language model that the settings name; without a key and a base URL, the offline one, in process.

    Connect once per process: building a client costs 20 ms.
    """
    if not config.offline:
        # Local servers want no key, and the SDK refuses to start without one.
        key = config.openai_api_key or "none"
        return OpenAIModel(OpenAI(api_key=key, base_url=config.openai_base_url, max_retries=0), config)
    from planner.llm.offline.server import create_app  # noqa: PLC0415 - Flask stays out of processes with a real model

    transport = httpx2.WSGITransport(create_app(config.prompts_dir))
    http_client = httpx2.Client(transport=transport)
    client = OpenAI(api_key="none", base_url="http://offline/v1", max_retries=0, http_client=http_client)
    return OpenAIModel(client, config, cost=0.0)


def _timeout(until: float) -> httpx2.Timeout:
    left_s = max(until - time.monotonic(), 0.001)
    return httpx2.Timeout(left_s, connect=min(left_s, _CONNECT_S))


def _pause_s(state: RetryCallState) -> float:
    """Wait as long as the endpoint said; else 0.25 s, doubled with each try, and a random part."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Unavailable) and error.retry_after_s is not None:
        return error.retry_after_s
    pause_s: float = min(4.0, 0.25 * 2 ** (state.attempt_number - 1))
    return pause_s * random.uniform(0.75, 1.25)  # noqa: S311 - spreads retries


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, Unavailable) and error.passes


def _unavailable(error: Exception) -> Unavailable:
    match error:
        case APITimeoutError() | httpx2.TimeoutException():
            return Unavailable("the language model did not answer in time", code="llm_timeout", passes=True)
        case APIConnectionError() | httpx2.TransportError():
            return Unavailable("the language model cannot be reached", code="llm_unreachable", passes=True)
        case APIStatusError(status_code=429) if error.code != "insufficient_quota":
            after_s = _retry_after_s(error)
            message = "the language model limits our rate"
            return Unavailable(message, code="llm_rate_limited", retry_after_s=after_s, passes=True)
        case APIStatusError() if error.status_code in (408, 409) or error.status_code >= 500:
            message = f"the language model failed with HTTP {error.status_code}"
            return Unavailable(message, code="llm_failed", retry_after_s=_retry_after_s(error), passes=True)
        case APIStatusError():
            return Unavailable(f"the language model rejects the request: {error.message}", code="llm_rejected")
    message = f"the language model's endpoint does not speak the OpenAI protocol: {error}"
    return Unavailable(message, code="llm_failed", passes=True)


def _retry_after_s(error: APIStatusError) -> float | None:
    """Read Retry-After: seconds, or an HTTP date (RFC 9110, section 10.2.3)."""
    value = error.response.headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None

"""The adapter to language models behind the OpenAI protocol, through the official SDK.

There is one retry layer (tenacity; the SDK's own is off), one timeout per attempt, one time budget for the whole call.
The SDK builds the request once, and each call sends it with another body, because building takes longer than sending.
Answers are read as plain data, because the SDK's models cost fifteen milliseconds per streamed answer. The API is Chat
Completions, because every compatible server speaks it.
"""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any
from urllib.request import getproxies

import httpx2
import orjson
from openai import APIError, APIStatusError, DefaultHttpx2Client, OpenAI, Stream
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_before_delay

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import Settings
from turnloom.planner.llm.completion import Completion
from turnloom.planner.llm.errors import status_error, unavailable
from turnloom.planner.llm.named_models import NamedModels, settings_of
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage, Purpose
from turnloom.planner.llm.request import Attempt, Request
from turnloom.planner.llm.response_formats import Forms
from turnloom.planner.llm.transport import KeptConnections

_CONNECT_S = 5.0
_PROBE_S = 3.0
_OFFLINE_URL = "http://offline/v1"
_OF_ONE_CALL = ("content-length", "x-stainless-read-timeout")
"""Headers that the SDK sets for each call."""


class OpenAIModel:
    """A language model behind an endpoint that speaks the OpenAI protocol."""

    def __init__(self, http: httpx2.Client, config: Settings, *, cost: float | None = None) -> None:
        """`http` sends the requests. `cost`: the fixed cost of every call, if it is known."""
        url = _OFFLINE_URL if config.offline else config.openai_base_url
        # Local servers need no key, but the SDK refuses to start without one.
        key = config.openai_api_key or "none"
        self._client = OpenAI(api_key=key, base_url=url, max_retries=0, http_client=http)
        self._http = http
        self._template = _request_of(self._client)
        self._config = config
        self._cost = cost
        self._forms = Forms()
        self._limits: dict[str, str] = {}
        """The name under which a model takes the limit of its answer, where it refused the other one."""
        self._left_out: dict[str, frozenset[str]] = {}
        """The parameters that a model refused."""
        self._thinking: set[str] = set()
        """Models that write only the end of their thoughts. Their next answers are held back until then."""

    @property
    def supports_structured_output(self) -> bool:
        """Whether the default language model accepts a schema, as far as is known."""
        return self._forms.best(self._config.llm_model) == "schema"

    @property
    def supports_function_calling(self) -> bool:
        """Whether the default language model accepts functions to call, as far as is known."""
        return self._forms.best(self._config.llm_model) in ("schema", "function")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def available(self) -> bool:
        """Return whether the endpoint answers and accepts our key."""
        try:
            self._client.get("/models", cast_to=object, options={"timeout": _PROBE_S})
        except APIStatusError as error:
            return error.status_code == 404  # the list is optional for compatible servers
        except (APIError, ValueError):
            return False
        return True

    def generate(
        self,
        messages: Sequence[PromptMessage],
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Return the whole answer. `timeout_s` bounds the call with all its retries."""
        return self._persist(self._request(self._whole, self._body(messages, purpose, model), schema), timeout_s)

    def stream(
        self,
        messages: Sequence[PromptMessage],
        on_delta: OnDelta,
        *,
        purpose: Purpose,
        model: str | None = None,
        schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Generation:
        """Hand on each piece as it comes, and return the whole answer. Nothing is retried after the first piece."""
        body = self._body(messages, purpose, model) | {"stream": True, "stream_options": {"include_usage": True}}
        return self._persist(self._request(partial(self._pieces, on_delta), body, schema), timeout_s)

    def _request(self, attempt: Attempt, body: dict[str, Any], schema: dict[str, Any] | None) -> Request:
        self._forms.check_size(body["model"], schema)
        return Request(attempt, body, schema, self._forms, self._forms.best(body["model"]))

    def _persist(self, request: Request, timeout_s: float | None) -> Generation:
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
        if request.left_out:
            name = request.body["model"]
            self._left_out[name] = self._left_out.get(name, frozenset()) | request.left_out
        if request.limit is not None:
            self._limits[request.body["model"]] = request.limit
        return generation

    def _try(self, request: Request, end: float) -> Generation:
        now = time.monotonic()
        if now >= end:
            raise Unavailable("no time is left for the language model", code="llm_timeout", passes=True)
        try:
            return request.send(min(end, now + self._config.llm_timeout_s))
        except APIStatusError as error:
            if not request.avoids(error):
                raise unavailable(error) from error
        except (APIError, httpx2.HTTPError) as error:
            raise unavailable(error) from error
        return self._try(request, end)

    def _whole(self, body: dict[str, Any], until: float) -> Generation:
        answer = self._completion(body)
        try:
            with closing(self._send(body, until)) as response:
                response.read()
                answer.take_whole(response.json())
        except ValueError as error:
            raise httpx2.DecodingError(f"the answer is not JSON: {error}") from error
        return self._finished(answer, body)

    def _pieces(self, on_delta: OnDelta, body: dict[str, Any], until: float) -> Generation:
        answer = self._completion(body)
        for chunk in self._chunks(body, until, answer):
            if piece := answer.take(chunk):
                on_delta(piece)
        if piece := answer.rest():
            on_delta(piece)
        generation = self._finished(answer, body)
        if generation.finish_reason == "cut" and not answer.begun:
            raise httpx2.RemoteProtocolError("the stream ended before it began")
        return generation

    def _completion(self, body: dict[str, Any]) -> Completion:
        return Completion(body["model"], self._cost, begins_in_thought=body["model"] in self._thinking)

    def _finished(self, answer: Completion, body: dict[str, Any]) -> Generation:
        generation = answer.finished()
        if answer.began_in_thought:
            self._thinking.add(body["model"])
        return generation

    def _chunks(self, body: dict[str, Any], until: float, answer: Completion) -> Iterator[object]:
        """Yield the chunks of a stream. If it breaks after the first text, it ends early; before that it raises."""
        try:
            response = self._send(body, until)
            with Stream[object](cast_to=object, response=response, client=self._client) as chunks:
                for chunk in chunks:
                    yield chunk
                    if time.monotonic() > until:  # through a proxy the timeout is per read, and a drip never reaches it
                        raise httpx2.ReadTimeout("the stream was still running when its time was over")
        except ValueError as error:
            if not answer.begun:
                raise httpx2.DecodingError(f"the stream holds something that is not JSON: {error}") from error
        except (APIError, httpx2.HTTPError):
            if not answer.begun:
                raise

    def _send(self, body: dict[str, Any], until: float) -> httpx2.Response:
        """Return the answer, with its body unread.

        Raises:
            APIStatusError: the endpoint refuses.
        """
        made, timeout = self._template, {"timeout": _timeout(until).as_dict()}
        request = httpx2.Request("POST", made.url, headers=made.headers, content=_written(body), extensions=timeout)
        response = self._http.send(request, stream=True)
        if not response.is_success:
            with closing(response):
                response.read()
            raise status_error(response)
        return response

    def _body(self, messages: Sequence[PromptMessage], purpose: Purpose, model: str | None) -> dict[str, Any]:
        name = model or self._config.llm_model
        limit = self._limits.get(name, self._config.llm_max_tokens_parameter)
        body = {"model": name, "messages": list(messages), limit: self._config.llm_max_tokens}
        choices: dict[str, Mapping[str, float]] = {
            "temperature": self._config.llm_temperature,
            "seed": self._config.llm_seed,
        }
        known = choices.keys() - self._left_out.get(name, frozenset())
        return body | {choice: choices[choice][purpose] for choice in sorted(known) if purpose in choices[choice]}


def connect(config: Settings) -> LanguageModel:
    """Return the language models of the settings. The default is the offline one without a key and a URL.

    Connect once per process: building a client costs 20 ms.
    """
    named = {name: _connect(settings_of(config, name)) for name in config.llm_models}
    return NamedModels(_connect(config), named) if named else _connect(config)


def _connect(config: Settings) -> LanguageModel:
    if not config.offline:
        # Behind a proxy httpx's own transport is needed.
        is_direct = not getproxies().keys() & {"http", "https", "all"}
        return OpenAIModel(DefaultHttpx2Client(**({"transport": KeptConnections()} if is_direct else {})), config)
    from turnloom.planner.llm.offline.server import create_app  # noqa: PLC0415 - Flask stays out of processes with a real model

    transport = httpx2.WSGITransport(create_app(config.prompts_dir))
    return OpenAIModel(httpx2.Client(transport=transport), config, cost=0.0)


def _request_of(client: OpenAI) -> httpx2.Request:
    """Return the request that the SDK builds for a call, without the fields of that call."""
    made: list[httpx2.Request] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        made.append(request)
        return httpx2.Response(200, json={})

    with httpx2.Client(transport=httpx2.MockTransport(keep)) as http:
        client.with_options(http_client=http).post("/chat/completions", cast_to=object, body={})
    for header in _OF_ONE_CALL:
        made[0].headers.pop(header, None)
    return made[0]


def _written(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # a number of more than 64 bits, or half a surrogate pair
        return json.dumps(body).encode()


def _timeout(until: float) -> httpx2.Timeout:
    left_s = max(until - time.monotonic(), 0.001)
    return httpx2.Timeout(left_s, connect=min(left_s, _CONNECT_S))


def _pause_s(state: RetryCallState) -> float:
    """Return the pause that the endpoint asked for; otherwise 0.25 s, doubled with each try, with a random part."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Unavailable) and error.retry_after_s is not None:
        return error.retry_after_s
    pause_s: float = min(4.0, 0.25 * 2 ** (state.attempt_number - 1))
    return pause_s * random.uniform(0.75, 1.25)  # noqa: S311 - spreads retries


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, Unavailable) and error.passes

"""The adapter works against an endpoint that misbehaves by script."""

import sys
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from openai import OpenAI, Stream

from tests.planner.llm.scripted import Script, drips, fails, hangs, raw, says
from tests.planner.llm.wire import chunked, sends, wire
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import Settings
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.planner.llm.protocol import PromptMessage

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello"}]


def test_an_answer_has_text_usage_and_the_endpoints_name(script: Script, llm: OpenAIModel) -> None:
    """Its price is not known."""
    script.behaviours = [says("good day")]

    answer = llm.generate(HELLO, purpose="plan", model="some-model")

    assert (answer.text, answer.model, answer.finish_reason) == ("good day", "scripted", "stop")
    assert (answer.usage.llm_calls, answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1, 11, 7)
    assert answer.usage.cost is None
    assert script.requests == [{"model": "some-model", "messages": HELLO, "max_tokens": 4096, "temperature": 0.1}]


def test_a_stream_hands_on_every_piece_and_its_usage(script: Script, llm: OpenAIModel) -> None:
    """The pieces make up the answer. The usage arrives at the end."""
    script.behaviours = [says("a somewhat longer answer, in pieces")]
    pieces: list[str] = []

    answer = llm.stream(HELLO, pieces.append, purpose="plan")

    assert len(pieces) > 1
    assert "".join(pieces) == answer.text == "a somewhat longer answer, in pieces"
    assert answer.usage.completion_tokens == 7
    assert script.requests[0]["stream_options"] == {"include_usage": True}


def test_retry_after_is_waited_for(script: Script, llm: OpenAIModel) -> None:
    """After a rate limit with a time, the next try is made at that time and not earlier."""
    script.behaviours = [fails(429, Retry_After="0.4"), says("now")]
    started = time.monotonic()

    answer = llm.generate(HELLO, purpose="plan")

    assert answer.text == "now"
    assert time.monotonic() - started >= 0.4
    assert len(script.requests) == 2


def test_a_wait_beyond_the_budget_is_not_begun(script: Script, llm: OpenAIModel) -> None:
    """If Retry-After is beyond the caller's time, the error comes at once and contains it."""
    script.behaviours = [fails(429, Retry_After="60")]

    with pytest.raises(Unavailable) as caught:
        llm.generate(HELLO, purpose="plan", timeout_s=3)

    assert (caught.value.code, caught.value.retry_after_s) == ("llm_rate_limited", 60)
    assert len(script.requests) == 1


def test_an_outage_is_tried_again_a_bounded_number_of_times(script: Script, llm: OpenAIModel) -> None:
    """After HTTP 500 there are two more tries, then `Unavailable`."""
    script.behaviours = [fails(500), fails(502), fails(503), says("too late")]

    with pytest.raises(Unavailable, match="HTTP 503"):
        llm.generate(HELLO, purpose="plan")

    assert len(script.requests) == 3


def test_an_outage_that_passes_is_not_noticed(script: Script, llm: OpenAIModel) -> None:
    """One HTTP 500 and then an answer is an answer, streamed or not."""
    script.behaviours = [fails(500), says("back"), fails(500), says("again")]

    answers = [llm.generate(HELLO, purpose="plan").text, llm.stream(HELLO, lambda _: None, purpose="plan").text]

    assert answers == ["back", "again"]


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [(401, "wrong key", None), (400, "the prompt is too long", None), (429, "no money left", "insufficient_quota")],
)
def test_a_lasting_failure_is_not_tried_again(
    script: Script, llm: OpenAIModel, status: int, message: str, code: str | None
) -> None:
    """A request that the endpoint rejects for good is sent once. The error has the reason."""
    script.behaviours = [fails(status, message, code)]

    with pytest.raises(Unavailable, match=message) as caught:
        llm.generate(HELLO, purpose="plan")

    assert caught.value.code == "llm_rejected"
    assert len(script.requests) == 1


def test_silence_ends_at_the_timeout(script: Script, llm: OpenAIModel) -> None:
    """An endpoint that never answers takes no longer than the caller's limit."""
    script.behaviours = [hangs(script.released)]
    started = time.monotonic()

    with pytest.raises(Unavailable) as caught:
        llm.generate(HELLO, purpose="plan", timeout_s=0.3)

    assert caught.value.code == "llm_timeout"
    assert time.monotonic() - started < 20


def test_a_dripping_stream_ends_at_the_timeout(script: Script, llm: OpenAIModel) -> None:
    """A stream that neither pauses long nor ends is cut at the limit."""
    script.behaviours = [drips(script.released)]

    answer = llm.stream(HELLO, lambda _: None, purpose="plan", timeout_s=0.3)

    assert answer.finish_reason == "cut"
    assert answer.text.startswith("and ")  # how often depends on the machine


def test_a_cut_stream_is_told_from_a_finished_one(script: Script, llm: OpenAIModel) -> None:
    """A stream without an end keeps its words and is marked. It is not requested again, as its words are out."""
    script.behaviours = [says("half of the", finish=None)]

    answer = llm.stream(HELLO, lambda _: None, purpose="plan")

    assert (answer.text, answer.finish_reason) == ("half of the", "cut")
    assert len(script.requests) == 1


def test_a_stream_that_never_begins_is_tried_again(script: Script, llm: OpenAIModel) -> None:
    """A stream that is cut before its first word is requested again."""
    script.behaviours = [says("", finish=None), says("here it is")]

    answer = llm.stream(HELLO, lambda _: None, purpose="plan")

    assert answer.text == "here it is"


@pytest.mark.parametrize(
    ("behaviour", "text", "reason"),
    [
        (says(""), "", "empty"),
        (says(None), "", "empty"),
        (says(None, refusal="I would rather not."), "I would rather not.", "refusal"),
        (says("a long", finish="length"), "a long", "length"),
        (says("filtered", finish="content_filter"), "filtered", "refusal"),
        (says("nul \0 and half \ud800 a pair"), "nul  and half ? a pair", "stop"),
    ],
    ids=["empty", "null", "refusal", "length", "filter", "unstorable"],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_every_kind_of_end_is_told_apart(
    script: Script, llm: OpenAIModel, behaviour: object, text: str, reason: str, streamed: bool
) -> None:
    """Empty, refused, too long and filtered answers have a `finish_reason` each, and text that can be stored."""
    script.behaviours = [behaviour]  # type: ignore[list-item]

    answer = llm.stream(HELLO, lambda _: None, purpose="plan") if streamed else llm.generate(HELLO, purpose="plan")

    assert (answer.text, answer.finish_reason) == (text, reason)


@pytest.mark.parametrize("content", ["<html>please log in</html>", "[]", '{"choices": []}', '{"choices": 3', "null"])
def test_an_invalid_answer_is_unavailable(script: Script, llm: OpenAIModel, content: str) -> None:
    """A proxy's page, or JSON of another shape, counts as an outage."""
    script.behaviours = [raw(content)] * 3

    with pytest.raises(Unavailable) as caught:
        llm.generate(HELLO, purpose="plan")

    assert caught.value.code == "llm_failed"


def test_a_listener_that_fails_is_not_taken_for_an_outage(script: Script, llm: OpenAIModel) -> None:
    """An error in `on_delta` reaches the caller. No second request is made."""
    script.behaviours = [says("some words")]

    def broken(_: str) -> None:
        raise ValueError("not ours")

    with pytest.raises(ValueError, match="not ours"):
        llm.stream(HELLO, broken, purpose="plan")

    assert len(script.requests) == 1


def test_every_number_and_text_can_be_sent(script: Script, llm: OpenAIModel) -> None:
    """A schema of foreign tools may have a number of more than 64 bits, and a text half a surrogate pair."""
    script.behaviours = [says("{}")]
    message: PromptMessage = {"role": "user", "content": "half \ud800"}

    llm.generate([message], purpose="plan", schema={"title": "plan", "maximum": 2**70})

    assert script.requests[0]["messages"] == [message]
    assert script.requests[0]["response_format"]["json_schema"]["schema"]["maximum"] == 2**70


def test_a_call_takes_few_steps(script: Script, llm: OpenAIModel) -> None:
    """The adapter reuses its request and connection. A call enters about half as many functions as in the SDK."""
    script.otherwise = says("some words")
    sdk = OpenAI(api_key="none", base_url=script.url, max_retries=0)

    def ask_sdk() -> None:
        whole = sdk.post(
            "/chat/completions",
            cast_to=object,
            body={"messages": HELLO, "stream": True},
            stream=True,
            stream_cls=Stream[object],
        )
        with whole as chunks:
            assert list(chunks)

    ours, theirs = _steps(lambda: llm.stream(HELLO, lambda _: None, purpose="plan")), _steps(ask_sdk)
    sdk.close()

    assert ours < 0.65 * theirs


def _steps(call: Callable[[], object]) -> int:
    """Count the functions that a call enters once everything is ready: the fewest of ten calls.

    How many pieces an answer arrives in, and whether a lock has to be waited for, is different for every call.
    """
    call()
    counts = []
    for _ in range(10):
        entered: list[None] = []
        sys.setprofile(lambda _frame, event, _, entered=entered: entered.append(None) if event == "call" else None)
        try:
            call()
        finally:
            sys.setprofile(None)
        counts.append(len(entered))
    return min(counts)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used(script: Script, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """If the environment names a proxy, calls go through it, unless the endpoint is exempt."""
    chunk = b'{"choices": [{"message": {"content": "by proxy"}, "finish_reason": "stop"}]}'
    monkeypatch.setenv("no_proxy", "")
    with wire() as proxy:
        proxy.otherwise = sends(chunked(chunk))
        monkeypatch.setenv(name, proxy.address)
        answers = [_answer("http://llm.example/v1")]
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        script.behaviours = [says("directly")]
        answers.append(_answer(script.url))

    assert answers == ["by proxy", "directly"]
    assert [request.split()[1] for _, request in proxy.requests] == [b"http://llm.example/v1/chat/completions"]


def test_a_key_alone_means_the_sdks_own_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a base URL, calls go over TLS to the default address of the SDK."""
    with wire() as proxy:
        proxy.otherwise = sends(b"HTTP/1.1 403 Forbidden\r\n\r\n", goes_on=False)
        monkeypatch.setenv("https_proxy", proxy.address)
        llm = connect(Settings(openai_api_key="key", llm_retries=0))
        with pytest.raises(Unavailable):
            llm.generate(HELLO, purpose="plan")

    assert [request.split()[:2] for _, request in proxy.requests] == [[b"CONNECT", b"api.openai.com:443"]]


def _answer(url: str) -> str:
    llm = connect(Settings(openai_base_url=url, llm_retries=0))
    assert isinstance(llm, OpenAIModel)
    with closing(llm):
        return llm.generate(HELLO, purpose="plan").text


def test_available_says_whether_anybody_is_there(llm: OpenAIModel) -> None:
    """It is true for an endpoint that answers, and false if nothing listens."""
    nobody = connect(Settings(openai_base_url="http://127.0.0.1:9/v1"))

    assert llm.available()
    assert not nobody.available()


def test_without_key_and_url_the_offline_model_answers(offline: OpenAIModel) -> None:
    """It answers in this process and costs nothing."""
    answer = offline.generate(HELLO, purpose="plan")

    assert (answer.model, answer.usage.cost) == ("offline", 0.0)
    assert offline.available()

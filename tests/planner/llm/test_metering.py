"""The account of a turn has the cost of each call, and no call exceeds a budget."""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.planner.llm.scripted import Script, fails, raw, says
from turnloom.models.contracts.recording import PackedText, Recording
from turnloom.models.contracts.turn import Usage
from turnloom.models.contracts.usage import Allowance, AllowanceUnit, LlmCall
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.packed_text import pack, unpack
from turnloom.models.runtime.settings import Settings, settings
from turnloom.planner.llm.metering import Meter
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.planner.llm.prices import LlmPrice, cost_of, find_price, load_prices
from turnloom.planner.llm.protocol import LanguageModel, PromptMessage
from turnloom.planner.llm.recording import Recorder
from turnloom.planner.llm.redaction import redaction_of

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello"}]


def counted(call: LlmCall) -> tuple[str, str, int, int, float | None, str]:
    return call.purpose, call.model, call.prompt_tokens, call.completion_tokens, call.cost, call.finish_reason


def test_each_call_is_kept_with_its_purpose_tokens_and_end(script: Script, llm: OpenAIModel) -> None:
    """This holds for good and bad answers, streamed or not. The account keeps them until it is settled."""
    script.behaviours = [says("hi"), says("cut off", finish="length"), says("half", finish=None)]
    meter = Meter(llm)

    meter.generate(HELLO, purpose="plan")
    meter.stream(HELLO, lambda _: None, purpose="reply")
    meter.stream(HELLO, lambda _: None, purpose="reply")

    assert [counted(call) for call in meter.calls] == [
        ("plan", "scripted", 11, 7, None, "stop"),
        ("reply", "scripted", 11, 7, None, "length"),
        ("reply", "scripted", 0, 0, None, "cut"),
    ]
    assert all(call.duration_ms > 0 for call in meter.calls)
    meter.settle()
    assert meter.calls == []


def test_a_call_that_got_no_answer_is_one_call(script: Script, llm: OpenAIModel) -> None:
    """A failed call counts once, whatever its retries, under its error's code and without a cost."""
    script.behaviours = [fails(500, Retry_After="0")] * 3
    meter = Meter(llm)

    with pytest.raises(Unavailable):
        meter.generate(HELLO, purpose="plan", model="mine")

    assert [counted(call) for call in meter.calls] == [("plan", "mine", 0, 0, 0.0, "llm_failed")]
    assert len(script.requests) == 3


def test_cached_tokens_are_counted_and_cheaper(script: Script, llm: OpenAIModel) -> None:
    """Tokens that the endpoint reports as cached cost the lower price."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 800}}
    answer = {"model": "gpt-4o-2024-08-06", "choices": [{"message": {"content": "hi"}}], "usage": usage}
    script.behaviours = [raw(json.dumps(answer))]
    meter = Meter(llm)

    generation = meter.generate(HELLO, purpose="plan")

    call = meter.calls[0]
    assert call.cached_tokens == 800
    assert call.cost == generation.usage.cost == pytest.approx((200 * 2.5 + 800 * 1.25 + 100 * 10) / 1e6)


@pytest.mark.parametrize(
    ("unit", "limit", "calls"), [("tokens", 0, 0), ("tokens", 18, 1), ("tokens", 19, 2), ("cost", 0, 0), ("cost", 1, 9)]
)
def test_no_call_is_made_over_an_allowance(
    script: Script, llm: OpenAIModel, unit: AllowanceUnit, limit: float, calls: int
) -> None:
    """Spending before and since the start counts. A refused call does not reach the endpoint."""
    script.otherwise = says("hi")
    meter = Meter(llm, [Allowance("day", unit, limit, 0)])

    refused = None
    for _ in range(9):
        try:
            meter.generate(HELLO, purpose="plan")
        except Unavailable as error:
            refused = error.code

    assert len(script.requests) == len(meter.calls) == calls
    assert refused == (None if calls == 9 else "budget_exceeded")


def test_the_offline_model_costs_nothing() -> None:
    """It has a price, and the price is zero."""
    offline = connect(Settings())
    assert isinstance(offline, OpenAIModel)
    meter = Meter(offline)

    meter.generate(HELLO, purpose="plan")
    offline.close()

    assert meter.calls[0].cost == 0.0
    assert cost_of("offline", Usage(prompt_tokens=1000)) == 0.0


NAMES = ["gpt-x", "gpt-x-mini", "local-*", "*"]
PRICES = {name: LlmPrice(prompt=number, completion=0) for number, name in enumerate(NAMES)}


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-x", 0),
        ("gpt-x-2026-01-31", 0),
        ("gpt-x-20260131", 0),
        ("gpt-x-latest", 0),
        ("gpt-x-mini", 1),
        ("gpt-x-mini-2026-01-31", 1),
        ("local-llama", 2),
        ("gpt-x-pro", 3),
    ],
)
def test_a_name_stands_for_its_versions_and_no_other_model(model: str, price: int) -> None:
    """A dated version has its model's price. A longer name has no price, unless an entry with `*` covers it."""
    found = find_price(model, PRICES)

    assert found is not None
    assert found.prompt == price


def test_an_unknown_model_has_no_price() -> None:
    """No price is better than a wrong one."""
    assert cost_of("gpt-4o-superb", Usage(prompt_tokens=5)) is None


def test_prices_may_be_set_as_text_or_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configured prices replace the shipped ones, model by model."""
    file = tmp_path / "prices.yaml"
    file.write_text("mine: {prompt: 3, completion: 4}\n")
    text = '{"gpt-4o": {"prompt": 1, "completion": 2}}'

    assert load_prices(str(file))["mine"].completion == 4
    assert load_prices(text)["gpt-4o"].prompt == 1
    assert load_prices(text)["gpt-4o-mini"] == load_prices(None)["gpt-4o-mini"]
    for wrong in ('{"gpt-4o": {"completion": 2}}', "{no json"):
        with pytest.raises(ValueError, match=r"prompt|prices"):
            load_prices(wrong)
    monkeypatch.setenv("TURNLOOM_LLM_PRICES", text)
    settings.cache_clear()
    assert cost_of("gpt-4o", Usage(prompt_tokens=1_000_000)) == 1.0
    # Prices that cannot be read are reported, and the shipped ones count.
    monkeypatch.setenv("TURNLOOM_LLM_PRICES", "/nowhere/prices.yaml")
    settings.cache_clear()
    assert cost_of("gpt-4o", Usage(prompt_tokens=1_000_000)) == 2.5
    monkeypatch.undo()
    settings.cache_clear()


NOW = datetime(2026, 11, 25, 23, 30, tzinfo=ZoneInfo("Asia/Jerusalem"))
PLANS: list[PromptMessage] = [{"role": "system", "content": "You plan."}, *HELLO]
FORM = {"title": "plan", "type": "object", "properties": {}}


def recording(meter: Meter) -> Recording:
    (call,) = meter.calls
    assert call.recording is not None
    return call.recording


def content(*texts: PackedText | None) -> list[str | None]:
    return [text and unpack(bytes.fromhex(text.data)) for text in texts]


def recording_meter(llm: LanguageModel) -> Meter:
    meter = Meter(llm, recorder=Recorder(redaction_of(settings())))
    meter.made_for(NOW)
    return meter


def test_a_call_is_recorded_as_it_was_sent(script: Script, llm: OpenAIModel) -> None:
    """With the rules apart, the schema, the answer, the parameters, and the time in the person's zone."""
    script.behaviours = [says("{}")]
    meter = recording_meter(llm)

    meter.stream(PLANS, lambda _: None, purpose="plan", schema=FORM)

    found = recording(meter)
    assert content(found.rules, *found.messages, found.answer) == ["You plan.", "hello", "{}"]
    assert json.loads(str(content(found.schema)[0])) == FORM
    assert found.parameters == {
        "model": settings().llm_model,
        "temperature": 0.1,
        "max_tokens": 4096,
        "stream": True,
        "form": "schema",
    }
    assert (found.now, found.error) == ("2026-11-25T23:30:00+02:00", None)


def test_what_the_endpoint_refused_is_not_recorded_as_sent(script: Script, llm: OpenAIModel) -> None:
    """The recording is of the request that was answered: another form, the types in the rules, no temperature."""
    script.behaviours = [
        fails(400, "response_format is not supported"),
        fails(400, "tools are not supported"),
        fails(400, "temperature is not supported"),
        says("{}"),
    ]
    meter = recording_meter(llm)

    meter.generate(PLANS, purpose="plan", schema=FORM)

    found, sent = recording(meter), script.requests[-1]
    assert found.schema is None
    assert content(found.rules) == [sent["messages"][0]["content"]]
    assert str(content(found.rules)[0]).startswith("You plan.\n\n")
    assert found.parameters == {"model": settings().llm_model, "max_tokens": 4096, "form": "json"}


def test_a_failed_call_is_recorded_with_its_error(script: Script, llm: OpenAIModel) -> None:
    """It has the prompt and no answer. Secrets in the endpoint's words are taken out."""
    script.behaviours = [fails(401, "wrong key: sk-proj-Ab3dEf6hIj9lMn0p")]
    meter = recording_meter(llm)

    with pytest.raises(Unavailable):
        meter.generate(PLANS, purpose="plan", schema=FORM)

    found = recording(meter)
    assert content(found.rules, *found.messages, found.answer) == ["You plan.", "hello", None]
    assert found.error == "the language model rejects the request: HTTP 401: wrong key: [secret]"
    assert found.parameters == {}


def test_texts_are_redacted_before_they_are_packed(script: Script, llm: OpenAIModel) -> None:
    """In messages and answers. What the caller gets is what the model wrote."""
    script.behaviours = [says("Your card 4111 1111 1111 1111 is charged.")]
    meter = recording_meter(llm)

    answer = meter.generate([{"role": "user", "content": "charge 4111111111111111"}], purpose="direct")

    found = recording(meter)
    assert content(found.rules, *found.messages, found.answer) == [
        None,
        "charge [card]",
        "Your card [card] is charged.",
    ]
    assert answer.text == "Your card 4111 1111 1111 1111 is charged."


def test_equal_texts_have_equal_digests() -> None:
    """A text in another role is another one. What Postgres could not store is replaced."""
    assert pack("user", "hello").digest == pack("user", "hello").digest
    assert pack("user", "hello").digest != pack("assistant", "hello").digest
    assert content(pack("user", "half a pair: \ud83d")) == ["half a pair: ?"]


def test_without_a_recorder_nothing_is_recorded(script: Script, llm: OpenAIModel) -> None:
    """The cost is counted all the same."""
    script.behaviours = [says("hi")]
    meter = Meter(llm)
    meter.made_for(NOW)

    meter.generate(HELLO, purpose="plan")

    assert meter.calls[0].recording is None

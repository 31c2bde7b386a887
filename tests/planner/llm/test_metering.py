"""The account of a turn has the cost of each call, and no call exceeds a budget."""

import json
from pathlib import Path

import pytest

from tests.planner.llm.scripted import Script, fails, raw, says
from turnloom.models.contracts.turn import Usage
from turnloom.models.contracts.usage import Allowance, AllowanceUnit, LlmCall
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import Settings, settings
from turnloom.planner.llm.metering import Meter
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.planner.llm.prices import LlmPrice, cost_of, find_price, load_prices
from turnloom.planner.llm.protocol import PromptMessage

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

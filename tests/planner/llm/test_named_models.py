"""Each named language model is asked at its own endpoint."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from tests.planner.llm.scripted import Script, says, scripted_server
from turnloom.models.runtime.settings import Settings
from turnloom.planner.llm.named_models import settings_of
from turnloom.planner.llm.openai import connect
from turnloom.planner.llm.protocol import PromptMessage

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello"}]


@pytest.fixture
def other() -> Iterator[Script]:
    """Serve a second endpoint."""
    with scripted_server() as script:
        yield script


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_call_reaches_the_endpoint_of_the_language_model_that_it_names(
    script: Script, other: Script, streamed: bool
) -> None:
    """The endpoint is told its own name of the model. A call that names none reaches the default."""
    named: Any = {"local": {"base_url": other.url, "model": "llama"}, "small": {"model": "mini"}}
    llm = connect(Settings(openai_base_url=script.url, llm_model="big", llm_models=named))
    script.otherwise = other.otherwise = says("hi")

    for name in (None, "local", "small", "big"):
        if streamed:
            llm.stream(HELLO, str, purpose="reply", model=name)
        else:
            llm.generate(HELLO, purpose="reply", model=name)

    assert [asked["model"] for asked in script.requests] == ["big", "mini", "big"]
    assert [asked["model"] for asked in other.requests] == ["llama"]


@pytest.mark.parametrize(
    ("named", "url", "key"),
    [
        ({}, "https://default/v1", "ours"),
        ({"api_key": "its"}, "https://default/v1", "its"),
        ({"base_url": "https://other/v1"}, "https://other/v1", None),
        ({"base_url": "https://other/v1", "api_key": "its"}, "https://other/v1", "its"),
    ],
    ids=["default endpoint", "other key", "other endpoint", "both"],
)
def test_the_default_key_goes_to_the_default_endpoint_only(named: Any, url: str, key: str | None) -> None:
    """Another endpoint gets the key that is set for it, or none."""
    config = Settings(openai_base_url="https://default/v1", openai_api_key="ours", llm_models={"x": named})

    found = settings_of(config, "x")

    assert (found.openai_base_url, found.openai_api_key, found.llm_model) == (url, key, "x")


def test_a_key_is_not_shown() -> None:
    """Neither the settings nor their faults show the keys of named language models."""
    config = Settings(llm_models={"x": {"api_key": "sk-secret"}})  # type: ignore[dict-item]  # as from the environment
    with pytest.raises(ValidationError) as caught:
        Settings(llm_models={"x": {"api_key": "sk-secret", "base_url": "no url"}})  # type: ignore[dict-item]

    assert "sk-secret" not in f"{config!r} {caught.value}"

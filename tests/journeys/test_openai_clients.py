"""Clients of OpenAI's protocol run unchanged against the embedded stack."""

import asyncio
from collections.abc import Iterator

import any_llm_client
import httpx2
import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from tests.journeys.following import finished
from turnloom.workers.embedded.stack import Stack

KYOTO = "Plan a 2-day Kyoto trip: main attractions, check the weather, hotels for 2 nights"


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[OpenAI]:
    """The official client, which knows nothing of us but the address and the key."""
    with OpenAI(base_url=f"{stack.url}/v1", api_key=stack.dev_key, timeout=40) as made:
        yield made


def _asked(*texts: str) -> list[ChatCompletionMessageParam]:
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]  # type: ignore[misc]


def test_a_completion(client: OpenAI, api: httpx2.Client) -> None:
    """The reply, the usage and the ids are those of the turn."""
    asked = client.chat.completions.with_raw_response.create(
        model="travel", messages=_asked(KYOTO), user="ada", temperature=0.3
    )

    completion = asked.parse()
    turn = api.get(f"/v1/turns/{asked.headers['X-Turnloom-Turn-Id']}").json()
    assert completion.choices[0].message.content == turn["reply"]["text"]
    assert completion.choices[0].finish_reason == "stop"
    assert (completion.model, completion.id) == ("travel", f"chatcmpl-{turn['turn_id']}")
    assert completion.usage is not None
    assert completion.usage.prompt_tokens == turn["usage"]["prompt_tokens"] > 0
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    assert completion.model_extra is not None
    assert completion.model_extra["turnloom_turn_id"] == turn["turn_id"]
    assert completion.model_extra["turnloom_conversation_id"] == turn["conversation_id"]
    assert asked.headers["X-Turnloom-Ignored"] == "temperature"


def test_a_stream(client: OpenAI, api: httpx2.Client) -> None:
    """The pieces are the reply; steps and usage come where they are asked for, beside the choices."""
    with client.chat.completions.create(
        model="travel",
        messages=_asked(KYOTO),
        stream=True,
        stream_options={"include_usage": True},
        metadata={"steps": "true"},
    ) as stream:
        chunks = list(stream)

    extra = chunks[0].model_extra
    assert extra is not None
    turn = api.get(f"/v1/turns/{extra['turnloom_turn_id']}").json()
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == turn["reply"]["text"]
    events = [
        chunk.model_extra["turnloom"] for chunk in chunks if chunk.model_extra and "turnloom" in chunk.model_extra
    ]
    ended = {event["data"]["step"] for event in events if event["type"] == "step.finished"}
    assert ended == {step["id"] for step in turn["steps"]}
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == turn["usage"]["prompt_tokens"]


def test_the_clients_own_reader_of_streams(client: OpenAI) -> None:
    """The helper of the client that puts a stream together ends with the whole completion."""
    with client.chat.completions.stream(model="travel", messages=_asked("Hello")) as stream:
        completion = stream.get_final_completion()

    assert completion.choices[0].message.content
    assert completion.choices[0].finish_reason == "stop"


def test_a_conversation_by_its_history_alone(client: OpenAI, api: httpx2.Client) -> None:
    """A client that sends back what was said goes on in its conversation, with all that this remembers."""
    first = client.chat.completions.create(model="travel", messages=_asked(KYOTO))
    reply = first.choices[0].message.content or ""

    second = client.chat.completions.create(model="travel", messages=_asked(KYOTO, reply, "Make it 3 days"))
    changed = client.chat.completions.create(model="travel", messages=_asked(KYOTO, "No.", "Make it 3 days"))

    ids = [(one.model_extra or {})["turnloom_conversation_id"] for one in (first, second, changed)]
    assert ids[0] == ids[1] != ids[2]
    turn = api.get(f"/v1/turns/{(second.model_extra or {})['turnloom_turn_id']}").json()
    assert turn["seq"] == 2
    assert "memory" in {step["cache"] for step in turn["steps"]}


def test_models(client: OpenAI) -> None:
    """The client lists the agents, and finds one."""
    names = [model.id for model in client.models.list()]

    assert {"hotel", "travel", "research", "assistant", "generic"} <= set(names)
    assert client.models.retrieve("hotel").id == "hotel"


def test_errors(client: OpenAI, stack: Stack) -> None:
    """The client's own classes of errors tell what is wrong."""
    hello = _asked("Hello")
    with pytest.raises(openai.BadRequestError) as several:
        client.chat.completions.create(model="travel", messages=hello, n=2)
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="gpt-4o", messages=hello)
    with (
        pytest.raises(openai.AuthenticationError) as stranger,
        OpenAI(base_url=f"{stack.url}/v1", api_key="nobody") as other,
    ):
        other.chat.completions.create(model="travel", messages=hello)

    assert (several.value.param, several.value.code) == ("n", "unsupported_value")
    assert (unknown.value.param, unknown.value.code) == ("model", "model_not_found")
    assert stranger.value.code == "invalid_api_key"


def test_a_client_that_leaves(client: OpenAI, api: httpx2.Client) -> None:
    """The turn of a client that closes its stream after the first chunk ends as any other."""
    with client.chat.completions.create(model="travel", messages=_asked(KYOTO), stream=True) as stream:
        first = next(iter(stream))

    turn = finished(api, (first.model_extra or {})["turnloom_turn_id"])
    assert turn["status"] == "succeeded"


def test_another_client_library(stack: Stack, api: httpx2.Client) -> None:
    """A client that shares no code with the official one reads replies, streams and errors, and continues."""
    config = any_llm_client.OpenAIConfig(
        url=f"{stack.url}/v1/chat/completions", auth_token=stack.dev_key, model_name="travel"
    )

    async def talk() -> tuple[str, str]:
        async with any_llm_client.get_client(config, timeout=40) as client:
            first = await client.request_llm_message(KYOTO)
            history = [
                any_llm_client.UserMessage(KYOTO),
                any_llm_client.AssistantMessage(first.content),
                any_llm_client.UserMessage("Make it 3 days"),
            ]
            async with client.stream_llm_message_chunks(history) as stream:
                second = "".join([piece.content async for piece in stream])
            with pytest.raises(any_llm_client.LLMError, match="one reply"):
                await client.request_llm_message("Hello", extra={"n": 2})
            return first.content, second

    first, second = asyncio.run(talk())

    assert "Here is your 2-day plan." in first
    assert "Here is your 3-day plan." in second


def test_the_assistant_as_plain_text(stack: Stack, api: httpx2.Client) -> None:
    """The stream is the reply's text. A user's word about it is kept with the turn."""
    body = {"messages": _asked("Hello"), "tone": "cheerful", "assistant_name": "Robin", "specialization": "memory"}

    answer = api.post("/api/ai/chat", json=body)

    turn_id = answer.headers["X-Turnloom-Turn-Id"]
    assert answer.text == api.get(f"/v1/turns/{turn_id}").json()["reply"]["text"]
    assert api.put(f"/v1/turns/{turn_id}/feedback", json={"rating": "up"}).json()["rating"] == "up"
    assert [one["rating"] for one in api.get(f"/v1/turns/{turn_id}/trace.json").json()["feedback"]] == ["up"]

"""The offline model answers a newcomer's first questions from results, or says what it can be asked."""

import httpx2
import pytest

from tests.journeys.following import finished, post


@pytest.mark.parametrize(
    ("agent", "message", "mentioned"),
    [
        ("travel", "Weather in Paris tomorrow?", ["Paris", "°C", "% chance of rain"]),
        ("travel", "מה מזג האוויר ברומא מחר?", ["רומא", "°C", "ממוצעי אקלים"]),
        ("travel", "Quel temps fera-t-il à Lisbonne demain ?", ["Lisbonne", "°C", "moyennes climatiques"]),
        ("generic", "Weather in Paris tomorrow?", ["Paris", "°C"]),
        ("travel", "Flights from London to Barcelona on 2030-05-01", ["London", "Barcelona", "LHR", "US$"]),
        ("travel", "Flights from London to Barcelona tomorrow", ["London", "Barcelona", "LHR", "US$"]),
    ],
)
def test_a_question_is_answered_from_results(
    api: httpx2.Client, agent: str, message: str, mentioned: list[str]
) -> None:
    """The reply mentions what the tools found, every figure has its source, and no internal name shows."""
    turn = finished(api, post(api, message, agent=agent)["turn_id"])

    reply = turn["reply"]
    assert [words for words in mentioned if words not in reply["text"]] == []
    assert [words for words in ("{", "stand-in", "None", "resolve hint") if words in reply["text"]] == []
    assert reply["grounded"] is True
    assert turn["usage"]["llm_calls"] <= 2


@pytest.mark.parametrize(
    ("agent", "example"), [("travel", "Kyoto"), ("hotel", "Find a room"), ("generic", "echo hello")]
)
def test_another_message_gets_examples(api: httpx2.Client, agent: str, example: str) -> None:
    """If the offline model does not understand a message, it says what it does understand, in one call."""
    turn = finished(api, post(api, "Write me a poem about love", agent=agent)["turn_id"])

    assert "I understand" in turn["reply"]["text"]
    assert example in turn["reply"]["text"]
    assert turn["reply"]["grounded"] is not False
    assert turn["usage"]["llm_calls"] == 1

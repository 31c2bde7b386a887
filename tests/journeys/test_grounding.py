"""In whole turns, no invented price is sent, and the reply names the sources of its own figures."""

import json
from typing import Any

import httpx2
import pytest

from tests.journeys.following import events_of, finished, post
from tests.journeys.speaking import written
from tests.planner.llm.scripted import Script, says

QUOTE = {"id": "quote", "tool": "sim.echo", "args": {"value": {"price": 940, "currency": "ILS"}}, "needs": []}
INVENTED = "I asked the hotel. The room is ₪1,915 for the night. Shall I book it?"
TRUE = "I asked the hotel. The room is ₪940 for the night. Shall I book it?"


class Writer:
    """A model that gives one plan, and the test's replies one after the other."""

    def __init__(self, script: Script) -> None:
        self.plan = written(QUOTE)
        self.replies: list[str] = []
        self.asked = 0
        script.otherwise = self._answer

    def _answer(self, body: dict[str, Any]) -> Any:
        if "response_format" in body:
            return says(self.plan)(body)
        self.asked += 1
        return says(self.replies[min(self.asked, len(self.replies)) - 1])(body)


@pytest.fixture
def writer(script: Script) -> Writer:
    return Writer(script)


@pytest.mark.parametrize(
    ("replies", "asked"),
    [([TRUE], 1), ([INVENTED, TRUE], 2), ([INVENTED, INVENTED], 2)],
    ids=["true", "corrected", "cut"],
)
def test_no_event_holds_an_invented_price(
    asking: httpx2.Client, writer: Writer, replies: list[str], asked: int
) -> None:
    """Readers get sentences that passed the check, then the reply. After a second failure, it lacks the others."""
    writer.plan, writer.replies, writer.asked = written(QUOTE), replies, 0

    turn = finished(asking, post(asking, "What does the room cost?", agent="generic")["turn_id"])

    events = events_of(asking, turn["turn_id"])
    heard = "".join(data["text"] for kind, data in events if kind == "reply.delta")
    done = next(data for kind, data in events if kind == "reply.done")
    assert "1,915" not in json.dumps([turn, events])  # no id and no time has a comma
    assert heard == (TRUE if replies == [TRUE] else "I asked the hotel. ")
    assert writer.asked == asked
    assert done["text"] == turn["reply"]["text"]
    is_whole = replies[-1] == TRUE
    assert ("940" in done["text"], turn["reply"]["grounded"]) == (is_whole, is_whole)
    assert [(source["step"], source["path"]) for source in turn["reply"]["sources"]] == [
        ("quote", "value.price")
    ] * is_whole


def test_a_missing_formatting_step_is_added(asking: httpx2.Client, writer: Writer) -> None:
    """A plan for an itinerary without a formatting step gets one, without another call of the model."""
    sights = {"id": "sights", "tool": "travel.search_attractions", "args": {"city": "Kyoto", "limit": 6}, "needs": []}
    writer.plan, writer.asked = json.dumps({**json.loads(written(sights)), "synthesis_hint": "itinerary"}), 0

    turn = finished(asking, post(asking, "Two days in Kyoto, please", agent="travel")["turn_id"])

    assert [step["id"] for step in turn["steps"]] == ["sights"]
    assert len(turn["output"]["days"]) == 3
    assert turn["reply"]["artifacts"][0]["kind"] == "itinerary"
    assert turn["reply"]["text"].startswith("Here is your 3-day plan.")
    assert writer.asked == 0


@pytest.mark.parametrize(
    "link", ["evil.xyz/pay?card=1", "bit.ly/abc", "t.me/x", "//evil.xyz", "https:/x.y", "[here](javascript:alert)"]
)
def test_an_invented_link_is_not_sent(asking: httpx2.Client, writer: Writer, link: str) -> None:
    """A reply with a link that is in no result is not sent; the next attempt is."""
    writer.plan, writer.replies, writer.asked = written(QUOTE), [f"The room is ₪940. Book at {link} now.", TRUE], 0

    turn = finished(asking, post(asking, "What does the room cost?", agent="generic")["turn_id"])

    assert turn["reply"]["text"] == TRUE
    assert writer.asked == 2
    assert not any(link in str(data) for kind, data in events_of(asking, turn["turn_id"]) if kind == "reply.delta")


@pytest.mark.parametrize("word", ["one", "cent", "מאה"])
def test_a_message_of_numerals_blocks_nobody(asking: httpx2.Client, writer: Writer, word: str) -> None:
    """A message of numerals only, at the maximum length, is answered, and so are others sent beside it."""
    writer.plan, writer.replies, writer.asked = written(QUOTE), [TRUE], 0
    hard = f"{word} " * (7_990 // (len(word) + 1)) + "1"

    turns = [post(asking, text, agent="generic")["turn_id"] for text in (hard, hard, "hello", hard)]

    replies = [finished(asking, turn)["reply"] for turn in turns]
    assert [reply["text"] for reply in replies] == [TRUE] * 4

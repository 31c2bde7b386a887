"""The older messages of a long conversation are summarised once, and no turn waits for the summary."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests import factories
from tests.factories import claim_turn, make_tenant, open_turn
from tests.planner.llm.scripted import Script, fails, says, scripted_server
from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import queue_lengths
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger import memory, turns
from turnloom.models.ledger.turns import ClaimedTurn, Ending
from turnloom.models.runtime.settings import Settings, settings
from turnloom.planner.agents import load_agents
from turnloom.planner.draft.packing import packed
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.tools.registry import Registry
from turnloom.workers.turns.planning_context import recall
from turnloom.workers.upkeep.summaries import summarise

pytestmark = pytest.mark.usefixtures("database", "redis_url")

AGENT = load_agents(settings().prompts_dir / "agents").get("generic")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """A language model that answers by script, for the workers of this process."""
    with scripted_server() as script:
        model = connect(Settings(openai_base_url=script.url, llm_retries=0, llm_timeout_s=5))
        assert isinstance(model, OpenAIModel)
        monkeypatch.setattr("turnloom.workers.turns.accounting.llm", lambda: model)
        yield script
        model.close()


def _conversation(exchanges: int, reply: str = "Fine.") -> ClaimedTurn:
    """Return the turn that is planned after this many exchanges."""
    tenant = make_tenant()
    for number in range(exchanges):
        turn = claim_turn(open_turn(tenant, f"message {number}").turn_id)
        assert turn is not None
        with statement() as db:
            turns.finish(db, turn.id, turn.attempt, Ending("succeeded", Reply(text=reply), {}))
    now = claim_turn(open_turn(tenant, "now").turn_id)
    assert now is not None
    return now


def _told(turn: ClaimedTurn) -> tuple[str | None, list[str]]:
    context = packed(recall(replace(turn, recalled=factories.recall(turn)), AGENT, Registry()))
    return context.summary, [exchange.message for exchange in context.history]


def _waiting() -> int:
    lengths = queue_lengths(["plan"])
    assert lengths is not None
    return lengths["plan"]


def test_a_short_conversation_is_not_summarised(script: Script) -> None:
    """No summary is asked for, and none is made."""
    turn = _conversation(16)

    summary, history = _told(turn)
    summarise(str(turn.id))

    assert (summary, len(history), _waiting(), script.requests) == (None, 16, 0, [])


def test_the_older_messages_of_a_long_conversation_are_summarised(script: Script) -> None:
    """The planner asks for a summary, which then replaces the older messages."""
    script.behaviours = [says("They said hello seventeen times.")]
    turn = _conversation(17)

    before = _told(turn)
    asked = _waiting()
    summarise(str(turn.id))
    summary, history = _told(turn)

    assert (before[0], len(before[1]), asked) == (None, 17, 1)
    assert summary == "They said hello seventeen times."
    assert history == [f"message {number}" for number in range(9, 17)]
    prompt = script.requests[0]["messages"][0]["content"]
    assert "message 8" in prompt
    assert "message 9" not in prompt


def test_a_summary_replaces_the_earlier_one(script: Script) -> None:
    """The new summary is made from the earlier one and the messages since then."""
    script.behaviours = [says("First."), says("Second.")]
    turn = _conversation(60)

    summarise(str(turn.id))
    summarise(str(turn.id))
    summary, history = _told(turn)

    assert "First." in script.requests[1]["messages"][0]["content"]
    assert (summary, len(history)) == ("Second.", 8)


def test_copies_of_a_message_summarise_once(script: Script) -> None:
    """Messages that are in the summary are not summarised again."""
    script.behaviours = [says("Once.")]
    turn = _conversation(17)

    for _ in range(3):
        summarise(str(turn.id))

    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "answer", [fails(500), says(""), says("Half of", finish="length")], ids=["out", "empty", "cut"]
)
def test_without_a_usable_answer_nothing_changes(script: Script, answer: object) -> None:
    """The context leaves the oldest messages out, and the next turn asks again."""
    script.behaviours = [answer]  # type: ignore[list-item]
    turn = _conversation(30)

    summarise(str(turn.id))
    summary, history = _told(turn)

    assert summary is None
    assert history == [f"message {number}" for number in range(6, 30)]
    with statement() as db:
        left = memory.unsummarised(db, turn.id, 100)
    assert left is not None
    assert len(left.history) == 30


def test_calls_for_a_summary_are_counted(script: Script) -> None:
    """The calls for a summary belong to the turn that asked for it."""
    script.behaviours = [says("Short.")]
    turn = _conversation(17)

    summarise(str(turn.id))

    with statement() as db:
        rows = db.execute("SELECT purpose FROM llm_calls WHERE turn_id = %s", (turn.id,)).fetchall()
    assert rows == [("summary",)]

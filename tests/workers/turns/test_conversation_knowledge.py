"""Knowledge that a planner learns is recorded once under its fence, and is in the next call's context."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn, record_plan, step
from tests.planner.llm.scripted import Script, says, scripted_server
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.plan import Assumption, Plan
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.ledger import knowledge
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.settings import Settings, settings
from turnloom.planner.agents import load_agents
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.tools.registry import load_registry
from turnloom.workers.turns.conversation_knowledge import with_knowledge

pytestmark = pytest.mark.usefixtures("database")

NOTHING = '{"entities": [], "hypotheses": [], "contradicted": []}'
WEATHER = {
    "city": "Kyoto",
    "tz": "Asia/Tokyo",
    "days": [{"date": "2026-12-01", "summary": "Cool", "t_min_c": 4, "t_max_c": 11, "precipitation_pct": 20}],
}
DONE = StepResult(id="w", tool="travel.lookup_weather", args={}, status="succeeded", result=WEATHER)
FAILED = StepResult(id="f", tool="sim.fail", args={}, status="failed", error={"code": "NOT_FOUND", "message": "no"})


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_server() as script:
        yield script


@pytest.fixture
def llm(script: Script) -> Iterator[OpenAIModel]:
    model = connect(Settings(openai_base_url=script.url, llm_retries=0, llm_timeout_s=5))
    assert isinstance(model, OpenAIModel)
    yield model
    model.close()


def _context(*done: StepResult, **more: Any) -> PlanningContext:
    agent = load_agents(settings().prompts_dir / "agents").get("travel")
    tools = load_registry(["travel", "sim"])
    given: dict[str, Any] = {"mode": "adaptive", "now": datetime.now(UTC), "timeout_s": 10.0} | more
    return PlanningContext(agent=agent, tools=tools, message="Kyoto", done=done, **given)


def _claimed(revision: int = 1, **plan: Any) -> ClaimedTurn:
    """Return a turn whose planner is to write the next revision."""
    turn = claim_turn(open_turn(make_tenant(), mode="adaptive").turn_id)
    assert turn is not None
    if plan:
        assumptions = [Assumption.model_validate(one) for one in plan["assumptions"]]
        record_plan(turn, step("w"))
        document = Plan(assumptions=assumptions, steps=[]).model_dump_json(exclude_none=True)
        with statement() as db:
            db.execute("UPDATE plans SET document = %s", (document,))
            db.execute("UPDATE turns SET status = 'planning'")
    return replace(turn, revision=revision)


def test_a_planner_learns_and_gets_the_knowledge(script: Script, llm: OpenAIModel) -> None:
    """New knowledge is in the next call's context and in the ledger, after one call of the language model."""
    script.behaviours = [says(NOTHING)]
    turn = _claimed()

    told = with_knowledge(turn, _context(DONE, FAILED), llm)

    assert told is not None
    assert {"city:kyoto", "weather:kyoto_2026_12_01"} <= {entity["id"] for entity in told.knowledge["entities"]}
    with transaction() as db:
        held = knowledge.load(db, turn.tenant_id, turn.conversation_id)
    assert held.lessons[str(turn.id), 1].steps == ["w"]
    assert len(script.requests) == 1


def test_a_planner_after_a_lost_one_learns_nothing_twice(script: Script, llm: OpenAIModel) -> None:
    """The next planner has the same knowledge and the same contradictions, without another call."""
    assumed = {"id": "x", "text": "…", "subject": "Kyoto", "attribute": "time_zone", "value": "Europe/Rome"}
    script.behaviours = [says(NOTHING)]
    turn = _claimed(assumptions=[assumed])
    first = with_knowledge(turn, _context(DONE), llm)

    second = with_knowledge(turn, _context(DONE, now=datetime.now(UTC) + timedelta(seconds=5)), llm)

    assert first is not None
    assert second is not None
    assert second.contradicted == first.contradicted == {"x": "time_zone of Kyoto is Asia/Tokyo, not Europe/Rome"}
    assert second.knowledge == first.knowledge
    assert second.lesson == first.lesson
    assert len(script.requests) == 1


def test_each_result_is_read_once(script: Script, llm: OpenAIModel) -> None:
    """The next round shows the language model only new results."""
    script.behaviours = [says(NOTHING), says(NOTHING)]
    turn = _claimed()
    with_knowledge(turn, _context(DONE), llm)

    with_knowledge(replace(turn, revision=2), _context(DONE, replace(DONE, id="w2")), llm)

    asked = script.requests[1]["messages"][-1]["content"].partition("<incoming>")[2]
    assert '"step": "w2"' in asked
    assert '"step": "w"' not in asked


def test_a_planner_that_lost_its_turn_gets_nothing(script: Script, llm: OpenAIModel) -> None:
    """The planner stops before it asks for a plan, and records nothing."""
    script.behaviours = [says(NOTHING)]
    turn = _claimed()
    finish_turn(turn)

    assert with_knowledge(turn, _context(DONE), llm) is None
    with transaction() as db:
        assert knowledge.load(db, turn.tenant_id, turn.conversation_id).items == []


def test_a_later_turn_of_the_conversation_knows(script: Script, llm: OpenAIModel) -> None:
    """The first plan of a turn has the knowledge of earlier turns, without a call."""
    script.behaviours = [says(NOTHING)]
    first = _claimed()
    with_knowledge(first, _context(DONE), llm)
    finish_turn(first)
    second = _claimed(revision=0)

    told = with_knowledge(second, _context(), llm)

    assert told is not None
    assert told.knowledge["entities"]
    assert told.lesson is None
    assert len(script.requests) == 1


def test_other_modes_do_not_learn(script: Script, llm: OpenAIModel) -> None:
    """Only `adaptive` keeps a graph, so the other modes pay nothing for it."""
    turn, context = _claimed(), _context(DONE, mode="react")

    assert with_knowledge(turn, context, llm) is context
    assert script.requests == []

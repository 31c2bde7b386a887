"""A fork is made, run by a worker as a replay of one turn, and erased with its conversation."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import claim_turn, make_tenant, open_turn, record_plan, step
from tests.models.ledger.remembering import answered, found
from tests.planner.llm.scripted import Script, says
from tests.workers.replay.working import scripted_parts, work_off
from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.replay import ReplayedTurn, ReplayReport
from turnloom.models.contracts.replay_request import ForkRequest, ReplayRequest
from turnloom.models.ledger import replays
from turnloom.planner.tenant_texts import Tailored, with_texts
from turnloom.tools.erasure import erase_conversation
from turnloom.workers.broker.app import app as celery
from turnloom.workers.replay import forks, requests
from turnloom.workers.replay.reports import forked_turn, view_of
from turnloom.workers.replay.tasks import report_task, resume_replays
from turnloom.workers.turns.process_parts import registry

GIVEN = {"ms": 1, "payload": "ours"}


@pytest.fixture
def tenant_id(database: str, redis_url: str) -> UUID:
    celery.conf.update(broker_url=redis_url, broker_write_url=redis_url)
    return make_tenant()


@pytest.fixture
def script(tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with scripted_parts(monkeypatch) as serving:
        yield serving


def recorded_turn(tenant_id: UUID, conversation_id: str = "c1") -> str:
    """Return a turn that has ended: its step `b` is called with what `a` has returned."""
    turn = claim_turn(open_turn(tenant_id, conversation_id=conversation_id).turn_id)
    assert turn is not None
    record_plan(turn, step("a", args={"ms": 1}), step("b", args={"ms": 1, "payload": {"$from": "a.payload"}}))
    for name in ("a", "b"):
        found(turn, name, {"ms": 1, "payload": "a"}, call=None)
    answered(turn)
    return str(turn.id)


def forked(tenant_id: UUID, turn_id: str, **asked: Any) -> tuple[ReplayedTurn | None, ReplayReport]:
    """Make a fork, work on it, and return the turn and the report."""
    replay_id = forks.make(tenant_id, turn_id, ForkRequest(**asked), registry())
    return worked_off(tenant_id, replay_id)


def worked_off(tenant_id: UUID, replay_id: UUID) -> tuple[ReplayedTurn | None, ReplayReport]:
    work_off(replay_id)
    report_task(str(replay_id))
    with transaction() as db:
        progress = replays.progress(db, tenant_id, replay_id)
    return forked_turn(progress), ReplayReport.model_validate(progress.replay.report)


def rows_of_turns() -> Any:
    """Return how many rows there are of what a turn writes."""
    counts = ", ".join(f"(SELECT count(*) FROM {name})" for name in ("turns", "plans", "steps", "replies", "llm_calls"))
    with statement() as db:
        return db.execute(f"SELECT {counts}").fetchone()


def test_a_given_result_takes_another_way(tenant_id: UUID, script: Script) -> None:
    """The report and the turn compare it with the record, as of any replay. The ledger of turns stays as it was."""
    script.behaviours = [says("Another reply.")]
    turn_id = recorded_turn(tenant_id)
    before = rows_of_turns()

    turn, report = forked(tenant_id, turn_id, step="a", results={"a": GIVEN})

    assert turn is not None
    assert turn.replayed is not None
    assert (turn.outcome, turn.replayed.reply, turn.unused) == ("different", "Another reply.", [])
    assert [each.args for each in turn.replayed.steps] == [{"ms": 1}, GIVEN]
    assert [(each.seq, each.outcome) for each in report.listed] == [(1, "different")]
    assert report.about["replayed"] == f"turn {turn_id}, from the step a"
    assert len(script.requests) == 1
    assert rows_of_turns() == before


def test_only_the_turn_is_replayed(tenant_id: UUID, script: Script) -> None:
    """The other turns of its conversation are its past. Without changes it goes the same way, and is shown."""
    script.behaviours = [says("Again.")]
    recorded_turn(tenant_id)
    turn_id = recorded_turn(tenant_id)

    turn, report = forked(tenant_id, turn_id, step="b")

    assert turn is not None
    assert (turn.seq, turn.outcome) == (2, "same")
    assert (report.turns, report.outcomes["same"]) == (1, 1)
    assert [each.seq for each in report.listed] == [2]


def test_another_text_plans_again(tenant_id: UUID, script: Script) -> None:
    """What takes no given result is told."""
    script.behaviours = [says('{"steps": [], "reply": "No tool is needed."}')]
    turn_id = recorded_turn(tenant_id)
    prompts = {"agents/generic": "description: another one\n"}

    turn, _ = forked(tenant_id, turn_id, step="a", results={"b": GIVEN}, prompts=prompts)

    assert turn is not None
    assert turn.replayed is not None
    assert (turn.replayed.steps, turn.replayed.reply, turn.unused) == ([], "No tool is needed.", ["b"])


def test_changes_that_fit_no_more_fail_the_turn(tenant_id: UUID, script: Script) -> None:
    """The record may have changed since it was asked for, such as after an update. The worker goes on."""
    turn_id = recorded_turn(tenant_id)
    replay_id = forks.make(tenant_id, turn_id, ForkRequest(step="a", results={"a": GIVEN}), registry())
    with transaction() as db:
        db.execute(text("""UPDATE replay_conversations SET content = '{"results": {"gone": 1}}'"""))

    turn, report = worked_off(tenant_id, replay_id)

    assert turn is not None
    assert (turn.outcome, turn.reason) == ("failed", "there is no step 'gone'; the steps are: a, b")
    assert report.outcomes["failed"] == 1


def test_its_changes_are_erased_with_the_conversation(tenant_id: UUID, script: Script) -> None:
    """They may hold what a person has said; what stays are ids."""
    script.behaviours = [says("Again.")]
    turn_id = recorded_turn(tenant_id)
    plan = {"steps": [{"id": "b", "tool": "sim.wait", "args": {"ms": 1, "payload": "Ada's secret"}}]}
    replay_id = forks.make(tenant_id, turn_id, ForkRequest(step="b", plan=plan), registry())
    worked_off(tenant_id, replay_id)

    with transaction() as db:
        erase_conversation(db, tenant_id, "c1")
    resume_replays()
    turn, report = worked_off(tenant_id, replay_id)

    with statement() as db:
        kept = db.execute("SELECT row_to_json(r)::text FROM replays r").fetchall()
        rest = db.execute("SELECT count(*) FROM replay_conversations").fetchone()
    assert "Ada" not in str(kept)
    assert rest == (0,)
    assert (turn, report.turns) == (None, 0)


def test_the_texts_are_compiled_once(tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are all that the tenant has, and a client waits meanwhile."""
    turn_id, made = recorded_turn(tenant_id), list[Any]()

    def counted(*given: Any) -> Tailored:
        made.append(given)
        return with_texts(*given)

    monkeypatch.setattr(requests, "with_texts", counted)
    forks.make(tenant_id, turn_id, ForkRequest(step="b"), registry())
    requests.make(tenant_id, ReplayRequest.model_validate({"since": "2026-03-01", "agent": "generic"}))

    assert len(made) == 2


def test_it_is_shown_with_what_it_runs_again(tenant_id: UUID) -> None:
    """Beside the turn that stands for the request."""
    turn_id = recorded_turn(tenant_id)
    replay_id = forks.make(tenant_id, turn_id, ForkRequest(step="b"), registry())

    with transaction() as db:
        (view,) = map(view_of, replays.listed(db, tenant_id, 10))

    assert view.replay_id == str(replay_id)
    assert view.fork is not None
    assert (view.fork.turn_id, view.fork.step, view.since) == (turn_id, "b", None)

"""Conversations of a replay are claimed, replayed and recorded once, whatever happens to their workers."""

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.factories import make_tenant, queue_length
from tests.planner.llm.scripted import Script, says
from tests.workers.replay.working import scripted_parts, work_off
from turnloom.models.connections.database import statement, transaction
from turnloom.models.connections.redis import redis
from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.contracts.replay_request import ReplayRequest
from turnloom.models.errors import Conflict, Invalid, NotFound
from turnloom.models.ledger import foreign, replays
from turnloom.models.ledger.replays import ReplayProgress
from turnloom.tools.erasure import erase_conversation, erase_user
from turnloom.workers.broker.app import app as celery
from turnloom.workers.replay import requests
from turnloom.workers.replay.foreign import began_at
from turnloom.workers.replay.tasks import report_task, resume_replays
from turnloom.workers.upkeep.retention import prune_replays


@pytest.fixture
def tenant_id(database: str, redis_url: str) -> UUID:
    celery.conf.update(broker_url=redis_url, broker_write_url=redis_url)
    return make_tenant()


@pytest.fixture
def script(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """A language model from a script, and the sim pack's tools."""
    with scripted_parts(monkeypatch) as serving:
        yield serving


def waiting(ms: int, payload: str | None) -> dict[str, Any]:
    """Return a recorded call of `sim.wait`."""
    args = {"ms": ms, "payload": payload}
    return {"name": "sim.wait", "args": args, "result": args}


def conversation(name: str, *calls: dict[str, Any]) -> ForeignConversation:
    """Return a conversation with a turn for each call."""
    turns = [{"user": f"wait {number}", "tool_calls": [call]} for number, call in enumerate(calls, 1)]
    return ForeignConversation.model_validate(
        {"conversation_id": name, "user": "ada", "turns": turns or [{"user": "hi"}]}
    )


def greetings(count: int) -> ReplayRequest:
    return ReplayRequest(conversations=[conversation(f"c{number}") for number in range(count)])


def progress(tenant_id: UUID, replay_id: UUID) -> ReplayProgress:
    with transaction() as db:
        return replays.progress(db, tenant_id, replay_id)


def report(tenant_id: UUID, request: ReplayRequest) -> dict[str, Any]:
    """Make a replay, work on it and return its report."""
    replay_id = requests.make(tenant_id, request)
    work_off(replay_id)
    report_task(str(replay_id))
    found = progress(tenant_id, replay_id).replay
    assert found.status == "finished"
    return dict(found.report)


def plan(ms: int, **more: Any) -> Any:
    return says(json.dumps({"steps": [{"id": "w", "tool": "sim.wait", "args": {"ms": ms} | more, "needs": []}]}))


def change(query: str) -> None:
    with transaction() as db:
        db.execute(text(query))


def test_exactly_the_turns_in_which_an_argument_is_dropped_differ(tenant_id: UUID, script: Script) -> None:
    """A language model that forgets an argument of every third call is caught in these turns and in no other."""
    recorded = conversation("c1", *(waiting(number, f"p{number}") for number in range(1, 7)))
    for number in range(1, 7):
        script.behaviours += [plan(number, **({} if number % 3 == 0 else {"payload": f"p{number}"})), says("Done.")]

    made = report(tenant_id, ReplayRequest(conversations=[recorded], max_different=0.05))

    assert [(turn["seq"], turn["outcome"]) for turn in made["listed"]] == [(3, "different"), (6, "different")]
    assert {one["aspect"] for turn in made["listed"] for one in turn["differences"]} == {"arguments"}
    assert not made["passed"]


def test_noise_is_told_from_change(tenant_id: UUID, script: Script) -> None:
    """What only some replays of a turn do is noise."""
    recorded = conversation("c1", waiting(1, "p"))
    script.behaviours = [plan(1, payload="p"), says("Done."), plan(1, payload="q"), says("Done.")]

    made = report(tenant_id, ReplayRequest(conversations=[recorded], repeat=2))

    assert made["outcomes"]["same"] == 1
    assert [one["aspect"] for one in made["aspects"] if one["noisy"]] == ["arguments"]


def test_a_language_model_that_is_down_fails_the_turn(tenant_id: UUID, script: Script) -> None:
    """The reason is in the report, and the worker goes on."""
    made = report(tenant_id, greetings(2))

    assert made["outcomes"]["failed"] == 2
    assert all(turn["reason"] for turn in made["listed"])


def test_the_same_replay_gives_the_same_report(tenant_id: UUID) -> None:
    """Nothing in a report depends on when, or in which order, the conversations were replayed."""
    assert report(tenant_id, greetings(5)) == report(tenant_id, greetings(5))


def test_a_sample_is_chosen_by_the_seed(tenant_id: UUID) -> None:
    """The same seed chooses the same conversations."""

    def chosen(seed: int) -> list[str]:
        request = greetings(30).model_copy(update={"sample": 5, "seed": seed})
        replay_id = requests.make(tenant_id, request)
        with statement() as db:
            query = "SELECT conversation_id FROM replay_conversations WHERE replay_id = %s ORDER BY number"
            return [name for (name,) in db.execute(query, (replay_id,)).fetchall()]

    assert len(chosen(1)) == 5
    assert chosen(1) == chosen(1) != chosen(2)


def test_a_conversation_is_held_until_its_lease_ends(tenant_id: UUID) -> None:
    """Then another worker takes it, and the first can record nothing any more."""
    replay_id = requests.make(tenant_id, greetings(1))
    with statement() as db:
        first = replays.claim(db, replay_id)
        none = replays.claim(db, replay_id)
        db.execute("UPDATE replay_conversations SET lease_until = clock_timestamp()")
        second = replays.claim(db, replay_id)
        assert first is not None
        assert second is not None
        replays.renew(db, [first])
        kept = [replays.record(db, each, []) for each in (first, second, second)]

    assert none is None
    assert [first.attempt, second.attempt] == [1, 2]
    assert kept == [False, True, False]


def test_what_kills_its_workers_is_given_up(tenant_id: UUID) -> None:
    """After five lost attempts its turns are failed, and the replay ends."""
    replay_id = requests.make(tenant_id, greetings(1))
    change("UPDATE replay_conversations SET attempt = 5")

    work_off(replay_id)
    report_task(str(replay_id))

    [turn] = progress(tenant_id, replay_id).replay.report["listed"]
    assert (turn["outcome"], "lost in each of 5 attempts" in turn["reason"]) == ("failed", True)


def test_a_replay_that_nobody_works_on_is_sent_again(tenant_id: UUID) -> None:
    """Its messages may be lost, or wait behind others. Not while somebody holds a conversation of it."""
    replay_id = requests.make(tenant_id, greetings(3))
    resume_replays()
    sent = queue_length("replay")
    redis().delete("replay")
    resume_replays()
    sent_again = queue_length("replay")
    redis().delete("replay")
    with statement() as db:
        replays.claim(db, replay_id)
    resume_replays()

    assert (sent, sent_again > 1, queue_length("replay")) == (4, True, 0)


def test_the_report_of_an_ended_replay_is_made_in_any_case(tenant_id: UUID) -> None:
    """Also if the message that asks for it was lost."""
    replay_id = requests.make(tenant_id, greetings(1))
    work_off(replay_id)
    redis().delete("replay")

    resume_replays()

    assert queue_length("replay") == 1
    report_task(str(replay_id))
    assert progress(tenant_id, replay_id).replay.report["turns"] == 1


def test_a_cancelled_replay_reports_what_was_done(tenant_id: UUID) -> None:
    """Nothing of it is claimed any more. A finished one cannot be cancelled."""
    replay_id = requests.make(tenant_id, greetings(3))
    with statement() as db:
        claimed = replays.claim(db, replay_id)
        assert claimed is not None
        replays.record(db, claimed, [])
    with transaction() as db:
        cancelled = [replays.cancel(db, tenant_id, replay_id) for _ in range(2)]
    with statement() as db:
        further = replays.claim(db, replay_id)
    report_task(str(replay_id))

    found = progress(tenant_id, replay_id)
    assert cancelled == [True, False]
    assert (further, found.done, found.replay.report["turns"]) == (None, 1, 0)
    change("UPDATE replays SET status = 'finished'")
    with pytest.raises(Conflict), transaction() as db:
        replays.cancel(db, tenant_id, replay_id)


def test_erasing_takes_a_conversation_out_of_replays(tenant_id: UUID) -> None:
    """Also out of a report that is made already: it is made again without it."""
    replay_id = requests.make(tenant_id, greetings(2))
    work_off(replay_id)
    report_task(str(replay_id))
    with transaction() as db:
        foreign.keep(db, tenant_id, [(each, began_at(each)) for each in (conversation("c1"), conversation("c9"))])

    with transaction() as db:
        erase_conversation(db, tenant_id, "c1")
    report_task(str(replay_id))

    assert progress(tenant_id, replay_id).replay.report["conversations"] == 1
    with transaction() as db:
        left = foreign.kept(db, tenant_id, began_at(conversation("c9")), None, None)
        assert [each.conversation_id for each in left] == ["c9"]
        assert erase_user(db, tenant_id, "ada") == 2
    assert progress(tenant_id, replay_id).conversations == 0
    with pytest.raises(NotFound), transaction() as db:
        erase_conversation(db, tenant_id, "c1")


def test_a_report_with_what_was_erased_meanwhile_is_not_kept(tenant_id: UUID) -> None:
    """It is made again, without that."""
    replay_id = requests.make(tenant_id, greetings(2))
    work_off(replay_id)
    with transaction() as db:
        found = replays.unreported(db, replay_id)
        assert found
        erase_conversation(db, tenant_id, "c1")
        assert not replays.keep_report(db, found, {})


def test_imported_conversations_are_replayed_by_time(tenant_id: UUID) -> None:
    """One that is imported again is replaced."""
    kept = conversation("c1")
    with transaction() as db:
        for _ in range(2):
            foreign.keep(db, tenant_id, [(kept, began_at(kept))])

    made = report(tenant_id, ReplayRequest(since=began_at(kept)))

    assert made["conversations"] == 1
    with pytest.raises(NotFound):
        requests.make(tenant_id, ReplayRequest(since=began_at(kept), until=began_at(kept)))


def test_old_replays_are_pruned(tenant_id: UUID) -> None:
    """Those that run stay."""
    running, ended = (requests.make(tenant_id, greetings(1)) for _ in range(2))
    work_off(ended)
    change("UPDATE replays SET created_at = now() - interval '2 days'")

    removed = prune_replays(tenant_id, 86_400)

    assert removed == 1
    assert progress(tenant_id, running).conversations == 1
    with pytest.raises(NotFound):
        progress(tenant_id, ended)


def test_another_tenant_sees_nothing(tenant_id: UUID) -> None:
    """A replay belongs to its tenant."""
    replay_id = requests.make(tenant_id, greetings(1))

    with pytest.raises(NotFound):
        progress(make_tenant("other"), replay_id)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"model": "nobody"}, "no language model 'nobody'"),
        ({"agent": "nobody"}, "nobody"),
        ({"prompts": {"agents/hotel": "mode: [wrong"}}, "agents/hotel"),
        ({"prompts": {"offline/hotel": "x"}}, "offline/hotel"),
    ],
)
def test_a_wrong_request_is_refused(tenant_id: UUID, fields: dict[str, Any], named: str) -> None:
    """The message says what is wrong, and nothing is recorded."""
    with pytest.raises(Invalid, match=re.escape(named)):
        requests.make(tenant_id, ReplayRequest(conversations=[conversation("c1")], **fields))

    with transaction() as db:
        assert replays.listed(db, tenant_id, 10) == []

"""The past of a recorded turn: what its planner knew."""

from datetime import timedelta

from tests.planner.knowledge.graph_items import entity
from tests.workers.replay.recorded import NOW, conversation, step, turn
from turnloom.models.contracts.memory import Exchange
from turnloom.tools.registry import Registry, load_registry
from turnloom.workers.replay.past import past_of

TOOLS = load_registry(["sim", "hotel"])
ROOMS = {"room_types": []}


def _rooms(name: str, minute: int, **fields: object):
    """Return a read whose result the conversation remembers."""
    given = {"args": {"hotel_id": "demo"}, "result": {"name": name}, "ended_at": NOW + timedelta(minutes=minute)}
    return step(name, "pms.get_availability", **given | fields)


def test_each_turn_knows_the_recorded_exchanges_before_it() -> None:
    """A turn knows the exchanges of turns that had ended, and those that the conversation was opened with."""
    talk = conversation(turn(1), turn(2), turn(3), past=[Exchange("before", "indeed")])

    past = past_of(talk, talk.turns[2], TOOLS)

    assert [(each.seq, each.message, each.reply) for each in past.history] == [
        (0, "before", "indeed"),
        (1, "message 1", "reply 1"),
        (2, "message 2", "reply 2"),
    ]


def test_a_turn_that_was_rolled_back_or_had_not_ended_is_not_known() -> None:
    """What ended later, or was rolled back, is none of a turn's past."""
    late = turn(2, ended_at=NOW + timedelta(hours=1))
    talk = conversation(turn(1, is_forgotten=True), late, turn(3))

    assert past_of(talk, talk.turns[2], TOOLS).history == []


def test_what_older_turns_have_learned_is_known() -> None:
    """Of a long conversation only the last turns are read. What later turns have learned is not known."""
    learned = [entity(f"City {seq}", turn=turn(seq).turn_id) for seq in (1, 2, 4)]
    talk = conversation(turn(2), turn(3), knowledge=learned, older=[turn(1).turn_id])

    known = past_of(talk, talk.turns[1], TOOLS).knowledge.items

    assert sorted(item.source.turn for item in known.values()) == [turn(1).turn_id, turn(2).turn_id]


def test_slots_are_those_that_the_turn_before_left() -> None:
    """Slots are the recorded ones, not those of a replay."""
    talk = conversation(turn(1, slots={"adults": 2}), turn(2, slots={"adults": 3}), turn(3))

    assert past_of(talk, talk.turns[1], TOOLS).slots == {"adults": 2}
    assert past_of(talk, talk.turns[2], TOOLS).slots == {"adults": 3}


def test_a_summary_is_known_only_to_the_turns_after_it() -> None:
    """Earlier turns were planned with the exchanges word for word."""
    talk = conversation(turn(1), turn(2), turn(3), summary="they greeted", summary_seq=1)

    pasts = [past_of(talk, each, TOOLS) for each in talk.turns]

    assert [past.summary for past in pasts] == [None, "they greeted", "they greeted"]
    assert [exchange.seq for exchange in pasts[2].history] == [2]


def test_results_are_remembered_as_long_as_their_tool_says() -> None:
    """A result is there until it expires. A tool whose results are not remembered leaves none."""
    seconds = TOOLS.get("pms.get_availability").remembered_s
    minutes = int(seconds // 60)
    talk = conversation(turn(1, _rooms("rooms", 1), step("echo")), turn(2), turn(minutes + 3))

    assert [entry.step for entry in past_of(talk, talk.turns[1], TOOLS).memory] == ["rooms"]
    assert past_of(talk, talk.turns[2], TOOLS).memory == []


def test_a_result_holds_until_something_is_changed() -> None:
    """After a call with an effect, results that were read before only tell what was found."""
    write = step("write", "sim.write", ended_at=NOW + timedelta(minutes=2), effect="write")
    talk = conversation(turn(1, _rooms("rooms", 1)), turn(2, write), turn(3))

    before, after = (past_of(talk, talk.turns[place], TOOLS).memory for place in (1, 2))

    assert [(entry.step, entry.holds) for entry in before] == [("rooms", True)]
    assert {entry.step: entry.holds for entry in after} == {"rooms": False, "write": False}


def test_what_came_from_memory_is_as_old_as_it_was() -> None:
    """A step whose result was remembered does not renew it."""
    talk = conversation(turn(1, _rooms("rooms", 1)), turn(2, _rooms("again", 2), uncalled=["again"]), turn(3))

    [entry] = past_of(talk, talk.turns[2], TOOLS).memory

    assert (entry.step, entry.age_s) == ("rooms", 120)


def test_without_tools_nothing_is_remembered() -> None:
    """Calls of another system's tools leave no results in our memory."""
    talk = conversation(turn(1, step("own", "their_tool", ended_at=NOW + timedelta(minutes=1))), turn(2))

    assert past_of(talk, talk.turns[1], Registry()).memory == []

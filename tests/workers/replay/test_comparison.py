"""Turns are compared by structure, and each difference is told in words."""

from dataclasses import replace

import pytest

from tests.factories import REGISTRY
from tests.workers.replay.records import call, turn, used
from turnloom.models.contracts.replay import UNRECORDED_ELSEWHERE, Tolerances, TurnRecord
from turnloom.workers.replay.comparison import compare

TOOLS = REGISTRY.tools
QUESTION = {"fields": ["adults"], "choices": {"adults": [1, 2]}}

DIFFERENCES: dict[str, tuple[TurnRecord, TurnRecord, list[str]]] = {
    "a tool is no longer called": (
        turn(call("a", "x.find"), call("b", "x.book")),
        turn(call("a", "x.find")),
        ["x.book is called never, was once"],
    ),
    "a tool is called too": (turn(), turn(call("a", "x.find")), ["x.find is called once, was never"]),
    "a tool is called more often": (
        turn(call("a", "x.find"), call("b", "x.find")),
        turn(call("a", "x.find"), call("b", "x.find"), call("c", "x.find")),
        ["x.find is called 3 times, was twice"],
    ),
    "an argument has another value": (
        turn(call("a", "pms.get_availability", {"adults": 2})),
        turn(call("a", "pms.get_availability", {"adults": 3})),
        ["pms.get_availability: adults is 3, was 2"],
    ),
    "an argument is left out": (
        turn(call("a", "x.find", {"adults": 2, "city": "Rome"})),
        turn(call("a", "x.find", {"city": "Rome"})),
        ["x.find: adults is left out, was 2"],
    ),
    "an argument is new": (
        turn(call("a", "x.find", {})),
        turn(call("a", "x.find", {"city": "Rome"})),
        ['x.find: city is "Rome", was left out'],
    ),
    "an argument with a default is left out": (
        turn(call("a", "sim.write", {"value": 1, "ms": 5})),
        turn(call("a", "sim.write", {"value": 1})),
        ["sim.write: ms is left out, which means 0, was 5"],
    ),
    "an argument with a default is given": (
        turn(call("a", "sim.write", {"value": 1})),
        turn(call("a", "sim.write", {"value": 1, "ms": 5})),
        ["sim.write: ms is 5, was left out, which means 0"],
    ),
    "a required argument is left out": (
        turn(call("a", "sim.write", {"value": 1})),
        turn(call("a", "sim.write", {})),
        ["sim.write: value is left out, was 1"],
    ),
    "a required argument is left out, and a default spelled out": (
        turn(call("a", "sim.write", {"value": 1})),
        turn(call("a", "sim.write", {"ms": 0})),
        ["sim.write: value is left out, was 1"],
    ),
    "a part of an argument differs": (
        turn(call("a", "x.find", {"guests": [{"age": 4}, {"age": 30}]})),
        turn(call("a", "x.find", {"guests": [{"age": 5}, {"age": 30}]})),
        ["x.find: guests[0].age is 5, was 4"],
    ),
    "true is not 1": (
        turn(call("a", "x.find", {"pets": 1})),
        turn(call("a", "x.find", {"pets": True})),
        ["x.find: pets is true, was 1"],
    ),
    "of repeated calls, those that differ least are compared": (
        turn(call("a", "x.find", {"city": "Rome", "n": 1}), call("b", "x.find", {"city": "Oslo", "n": 1})),
        turn(call("a", "x.find", {"city": "Oslo", "n": 2}), call("b", "x.find", {"city": "Rome", "n": 1})),
        ["x.find: n is 2, was 1"],
    ),
    "a call waits for another one": (
        turn(call("a", "x.find"), call("b", "x.price")),
        turn(call("a", "x.find"), call("b", "x.price", needs=["a"])),
        ["x.price waits for x.find, did not"],
    ),
    "a call no longer waits, nor does what follows it": (
        turn(call("a", "x.find"), call("b", "x.price", needs=["a"]), call("c", "x.book", needs=["b"])),
        turn(call("a", "x.find"), call("b", "x.price"), call("c", "x.book", needs=["b"])),
        ["x.price does not wait for x.find, did"],
    ),
    "the same calls wait for other calls of a tool": (
        turn(call("a", "x.find", {"n": 1}), call("b", "x.find", {"n": 2}), call("c", "x.book", needs=["a"])),
        turn(call("a", "x.find", {"n": 1}), call("b", "x.find", {"n": 2}), call("c", "x.book", needs=["b"])),
        ["x.book does not wait for x.find, did", "x.book waits for x.find, did not"],
    ),
    "a slot has another value": (
        turn(slots={"adults": 2, "city": "Rome"}),
        turn(slots={"adults": 3}),
        ["slot adults is 3, was 2", 'slot city is left out, was "Rome"'],
    ),
    "an artifact is missing, another is larger": (
        turn(artifacts=[{"kind": "table", "size": 2}, {"kind": "link", "size": 1}]),
        turn(artifacts=[{"kind": "table", "size": 3}]),
        ["link is shown never, was once", "size of table is 3, was 2"],
    ),
    "something else is asked": (
        turn(question=QUESTION),
        turn(question={"fields": ["adults", "check_in"], "choices": {"adults": [1, 2]}}),
        ["the reply asks for adults and check_in, asked for adults"],
    ),
    "nothing is asked": (turn(question=QUESTION), turn(), ["the reply asks for nothing, asked for adults"]),
    "other choices are offered": (
        turn(question=QUESTION),
        turn(question={"fields": ["adults"], "choices": {"adults": [2, 3]}}),
        ["choices of adults is [2, 3], was [1, 2]"],
    ),
    "the reply is not grounded": (
        turn(grounded=True),
        turn(grounded=False),
        ["the reply is not grounded, was grounded"],
    ),
    "a policy is broken": (turn(), turn(violations=["too_wide"]), ["too_wide is broken once, was never"]),
    "the turn fails": (
        turn(),
        turn(status="failed", error={"code": "llm_unavailable", "message": "it does not answer"}),
        ["the turn ended failed (llm_unavailable), was succeeded"],
    ),
    "a step fails": (
        turn(call("a", "x.find")),
        turn(call("a", "x.find", status="failed", error={"code": "TIMEOUT"})),
        ["x.find ended failed (TIMEOUT), was succeeded"],
    ),
    "it takes more tokens and costs less": (
        turn(usage=used(1_000, 0.02)),
        turn(usage=used(1_300, 0.01)),
        ["cost: 0.010000 USD, was 0.020000 USD (-50%)", "tokens: 1,300, was 1,000 (+30%)"],
    ),
    "it takes a call of the language model more": (
        turn(usage=used(0)),
        turn(usage=used(0, llm_calls=2)),
        ["calls of the language model: 2, was 1 (+100%)"],
    ),
    "it takes longer": (
        turn(latency_ms=600),
        turn(latency_ms=900),
        ["predicted latency: 900 ms, was 600 ms (+50%)"],
    ),
}

SAME: dict[str, tuple[TurnRecord, TurnRecord]] = {
    "other ids and another order of independent steps": (
        turn(call("a", "x.find", {"n": 1}), call("b", "y.find"), call("c", "x.book", needs=["a", "b"])),
        turn(call("1", "y.find"), call("2", "x.find", {"n": 1}), call("3", "x.book", needs=["2", "1"])),
    ),
    "an edge that follows from others": (
        turn(call("a", "x.a"), call("b", "x.b", needs=["a"]), call("c", "x.c", needs=["b"])),
        turn(call("a", "x.a"), call("b", "x.b", needs=["a"]), call("c", "x.c", needs=["a", "b"])),
    ),
    "7 and 7.0, also with a tool that is not ours": (
        turn(call("a", "x.find", {"n": 7}), slots={"n": 7}),
        turn(call("a", "x.find", {"n": 7.0}), slots={"n": 7.0}),
    ),
    "a default that one side spells out": (
        turn(call("a", "sim.write", {"value": 1})),
        turn(call("a", "sim.write", {"value": 1.0, "ms": 0})),
    ),
    "a default, with arguments that the tool refuses": (
        turn(call("a", "sim.write", {"other": 1})),
        turn(call("a", "sim.write", {"other": 1, "ms": 0})),
    ),
    "a reference that nobody filled in, to a step with another id": (
        turn(call("a", "x.find"), call("b", "x.book", {"code": {"$from": "a.rooms[0].code"}}, ["a"])),
        turn(call("1", "x.find"), call("2", "x.book", {"code": {"$from": "1.rooms[0].code"}}, ["1"])),
    ),
    "choices in another order": (
        turn(question=QUESTION),
        turn(question={"fields": ["adults"], "choices": {"adults": [2, 1]}}),
    ),
    "another wording": (turn(reply="Yes."), turn(reply="Indeed!")),
    "figures within their tolerance": (
        turn(usage=used(1_000, 0.01), latency_ms=1_000),
        turn(usage=used(1_100, 0.009), latency_ms=1_100),
    ),
    "small latencies": (turn(latency_ms=10), turn(latency_ms=55)),
    "figures that nobody recorded": (turn(), turn(usage=used(1_000, 0.01), latency_ms=1_000, grounded=True)),
    "a price that is known on one side": (turn(usage=used(10)), turn(usage=used(10, 0.3))),
    "calls of which the record names neither tool nor arguments": (
        turn(call("a", ""), call("b", "")),
        turn(call("a", "x.find", {"n": 1}), call("b", "y.find")),
    ),
    "what a foreign record does not have": (
        turn(call("a", "x.find"), call("b", "x.book"), unrecorded=list(UNRECORDED_ELSEWHERE)),
        turn(
            call("1", "x.find"),
            call("2", "x.book", needs=["1"]),
            slots={"n": 1},
            artifacts=[{"kind": "table"}],
            question=QUESTION,
            violations=["too_wide"],
        ),
    ),
}


@pytest.mark.parametrize(("recorded", "replayed", "texts"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_a_difference_is_told_in_words(recorded: TurnRecord, replayed: TurnRecord, texts: list[str]):
    """Nothing else is told."""
    assert [each.text for each in compare(recorded, replayed, TOOLS)] == texts


@pytest.mark.parametrize(("recorded", "replayed"), SAME.values(), ids=list(SAME))
def test_what_is_no_difference(recorded: TurnRecord, replayed: TurnRecord):
    """Neither forth nor, where both sides have it, back."""
    assert compare(recorded, replayed, TOOLS) == []


def test_a_difference_names_its_subject_and_both_values():
    """By these, reports count the same difference in many turns."""
    (found,) = compare(turn(call("a", "x.find", {"adults": 2})), turn(call("b", "x.find", {"adults": 3})), TOOLS)

    assert (found.aspect, found.kind, found.subject) == ("arguments", "changed", "x.find.adults")
    assert (found.recorded, found.replayed) == (2, 3)


def test_secret_arguments_are_not_shown():
    """A field that its tool redacts is told to differ, without its values, at any depth."""
    tool = replace(TOOLS["sim.echo"], redact=frozenset({"number"}))
    before = turn(call("a", "sim.echo", {"value": {"number": "+49 151 1", "more": [{"number": "s1"}]}}))
    after = turn(call("a", "sim.echo", {"value": {"number": "+49 151 2", "more": []}}))

    found = compare(before, after, {"sim.echo": tool})

    assert [each.text for each in found] == [
        'sim.echo: value.more is [], was [{"number": "***"}]',
        "sim.echo: value.number is another one; its values are not shown",
    ]
    assert "151" not in str([each.model_dump() for each in found])


def test_tolerances_can_be_set():
    """What is within is no difference, and what is beyond is one."""
    before, after = turn(usage=used(1_000), latency_ms=1_000), turn(usage=used(1_300), latency_ms=1_300)

    assert compare(before, after, TOOLS, Tolerances(usage=0.3, latency=0.3)) == []
    assert len(compare(before, after, TOOLS, Tolerances(usage=0.29, latency=0.29))) == 2


def test_a_huge_value_is_cut_and_many_parts_are_counted():
    """A report stays small whatever a call holds."""
    before = turn(call("a", "x.find", {f"n{number:02}": 1 for number in range(30)}))
    after = turn(call("a", "x.find", {f"n{number:02}": "x" * 10_000 for number in range(30)}))

    found = compare(before, after, TOOLS)

    assert len(found) == 21
    assert found[0].text == "x.find: 10 further parts of its arguments differ"
    assert max(len(str(each.replayed)) for each in found) <= 500
    assert max(len(each.text) for each in found) < 200

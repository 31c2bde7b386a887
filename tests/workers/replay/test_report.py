"""A report counts how replayed turns went, and lists those that did not go the same way."""

import tracemalloc
from collections.abc import Iterator

import pytest

from tests.workers.replay.records import call, replayed, turn, used
from turnloom.models.contracts.replay import ReplayedTurn, ReplayReport
from turnloom.workers.replay.report import report, report_json

FOUND = turn(call("a", "x.find", {"n": 1}), usage=used(100, 0.01), latency_ms=200)
TURNS = [
    replayed(FOUND, FOUND, conversation="c2", seq=2),
    replayed(FOUND, turn(call("b", "x.find", {"n": 2}), usage=used(100, 0.01), latency_ms=200), conversation="c2"),
    replayed(FOUND, turn(call("b", "x.find", {"n": 1}), usage=used(200, 0.03), latency_ms=200), noise=["latency"]),
    replayed(
        turn(call("a", "x.find"), call("b", "y.book", needs=["a"])),
        turn(call("a", "x.find", status="failed", error={"code": "TIMEOUT"})),
        seq=2,
        outcome="diverged",
        reason="y.other has no recorded result",
    ),
    replayed(FOUND, None, seq=3, outcome="failed", reason="the language model does not answer"),
]


@pytest.fixture(scope="module")
def made() -> ReplayReport:
    return report(TURNS, about={"Tools": "recorded"}, max_different=0.5)


def test_outcomes_are_counted(made: ReplayReport):
    """Turns that diverged or failed did not go the same way either. Those with other figures only are told apart."""
    assert (made.turns, made.conversations, made.only_figures) == (5, 2, 1)
    assert made.outcomes == {"same": 1, "different": 2, "diverged": 1, "failed": 1}
    assert (made.different.count, made.different.of) == (4, 5)


def test_differences_are_counted_by_aspect_and_by_subject(made: ReplayReport):
    """In turns. The most frequent come first, and then in a fixed order."""
    counted = {each.aspect: (each.turns, each.noisy) for each in made.aspects if each.turns or each.noisy}

    assert counted == {"tools": (1, 0), "arguments": (1, 0), "usage": (1, 0), "status": (1, 0), "latency": (0, 1)}
    assert [(each.subject, each.kind, each.turns) for each in made.changes] == [
        ("x.find.n", "changed", 1),
        ("x.find", "changed", 1),
        ("y.book", "removed", 1),
        ("cost", "higher", 1),
        ("tokens", "higher", 1),
    ]


def test_figures_are_those_of_the_same_turns(made: ReplayReport):
    """A turn without a figure on one side is on neither side."""
    figures = {each.name: (each.turns, each.before.mean, each.after.mean) for each in made.figures}

    assert figures["tokens"] == (3, 100, pytest.approx(400 / 3))
    assert figures["latency_ms"] == (3, 200, 200)


def test_tools_are_counted(made: ReplayReport):
    """Calls and failures before and after, and the turns that call them differently."""
    find, book = made.tools

    assert find.model_dump() == {
        "tool": "x.find", "before": 4, "after": 4, "failed_before": 0, "failed_after": 1, "turns": 1
    }  # fmt: skip
    assert (book.tool, book.before, book.after, book.turns) == ("y.book", 1, 0, 1)


def test_turns_that_went_another_way_are_listed(made: ReplayReport):
    """All of them, by conversation and place, with plans whose steps are marked."""
    places = [(each.conversation_id, each.seq, each.outcome) for each in made.listed]

    assert places == [("c1", 1, "different"), ("c1", 2, "diverged"), ("c1", 3, "failed"), ("c2", 1, "different")]
    assert [step.mark for step in made.listed[1].before] == ["changed", "only_here"]
    assert [step.mark for step in made.listed[3].after] == ["changed"]


@pytest.mark.parametrize(
    ("turns", "limit", "passed", "verdict"),
    [
        (TURNS, None, True, "4 of 5 turns (80.0%) did not go the same way"),
        (TURNS, 0.8, True, "4 of 5 turns (80.0%) did not go the same way; the limit is 80.0%: passed"),
        (TURNS, 0.05, False, "4 of 5 turns (80.0%) did not go the same way; the limit is 5.0%: failed"),
        ([], None, True, "no turn was replayed, so nothing is known"),
        ([], 1.0, False, "no turn was replayed, so nothing is known"),
    ],
)
def test_a_limit_decides(turns: list[ReplayedTurn], limit: float | None, passed: bool, verdict: str):
    """A limit over nothing is not kept: a replay of no turns must not let a change pass."""
    found = report(turns, max_different=limit)

    assert (found.passed, found.verdict) == (passed, verdict)


def test_the_same_turns_make_the_same_bytes(made: ReplayReport):
    """In whatever order workers deliver them."""
    assert report_json(report(TURNS[::-1], about={"Tools": "recorded"}, max_different=0.5)) == report_json(made)


def test_a_report_can_be_read_back(made: ReplayReport):
    """From its own JSON."""
    assert ReplayReport.model_validate_json(report_json(made)) == made


def test_turns_that_went_the_same_way_are_not_kept():
    """Each takes a few hundred bytes at most, whatever its size."""

    def turns() -> Iterator[ReplayedTurn]:
        same = turn(call("a", "x.find", {"text": "x" * 10_000}), reply="y" * 10_000, usage=used(1), latency_ms=1)
        for number in range(2_000):
            yield ReplayedTurn(
                conversation_id="c",
                seq=number + 1,
                outcome="same",
                recorded=same.model_copy(update={"message": f"{number} " + "x" * 10_000}),
                replayed=same,
            )

    tracemalloc.start()
    report(turns())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 2_000 * 500


def test_long_texts_are_cut():
    """A report does not grow with the length of messages."""
    before = turn(call("a", "x.find"), message="m" * 8_000, reply="r" * 8_000)

    (listed,) = report([replayed(before, turn(reply="s" * 8_000))]).listed

    assert {len(text or "") for text in (listed.message, listed.reply_before, listed.reply_after)} == {1_000}


def test_a_turn_that_goes_the_same_way_is_shown_if_it_is_what_was_asked_for() -> None:
    """Of a replay of one turn, whoever reads it wants to see that turn."""
    same = replayed(FOUND, FOUND)

    assert report([same]).listed == []
    assert [turn.outcome for turn in report([same], shows_same=True).listed] == ["same"]

"""What differs between any two replays is told from what every replay does otherwise."""

import pytest

from tests.factories import REGISTRY
from tests.workers.replay.records import call, turn, used
from turnloom.models.contracts.replay import Aspect, TurnRecord
from turnloom.workers.replay.noise import judge


def find(**args: int | str) -> TurnRecord:
    return turn(call("a", "x.find", args))


CASES: dict[str, tuple[TurnRecord, list[TurnRecord], list[str], list[Aspect]]] = {
    "one replay, no noise": (find(n=1), [find(n=2)], ["x.find: n is 2, was 1"], []),
    "all replays do the same": (find(n=1), [find(n=2)] * 3, ["x.find: n is 2, was 1"], []),
    "a replay does as the record": (find(n=1), [find(n=2), find(n=1), find(n=2)], [], ["arguments"]),
    "every replay does otherwise, each in its way": (
        find(n=1),
        [find(n=2), find(n=3), find(n=2)],
        ["x.find: n is 2, was 1"],
        ["arguments"],
    ),
    "one argument is noise and another one is real": (
        find(n=1, hint="a"),
        [find(n=2, hint="b"), find(n=2, hint="a")],
        ["x.find: n is 2, was 1"],
        ["arguments"],
    ),
    "left out and changed is not what it was": (
        find(n=1),
        [find(), find(n=3), find()],
        ["x.find: n is left out, was 1"],
        ["arguments"],
    ),
    "a number between those of the replays": (
        turn(usage=used(1_000)),
        [turn(usage=used(700)), turn(usage=used(1_400))],
        [],
        ["usage"],
    ),
    "a number below those of the replays": (
        turn(usage=used(1_000)),
        [turn(usage=used(2_000)), turn(usage=used(1_400)), turn(usage=used(1_450))],
        ["tokens: 1,400, was 1,000 (+40%)"],
        ["usage"],
    ),
    "a tool that is called between never and twice": (
        find(),
        [turn(), turn(call("a", "x.find"), call("b", "x.find"))],
        [],
        ["tools"],
    ),
}


@pytest.mark.parametrize(("recorded", "replays", "texts", "noise"), CASES.values(), ids=list(CASES))
def test_noise_is_no_difference(recorded: TurnRecord, replays: list[TurnRecord], texts: list[str], noise: list[Aspect]):
    """A difference is real if every replay has it."""
    judgement = judge(recorded, replays, REGISTRY.tools)

    assert [each.text for each in judgement.differences] == texts
    assert judgement.noise == noise


def test_the_most_typical_replay_is_shown():
    """The one that differs least from the others, and the first of several."""
    typical, odd = find(n=2), turn(call("a", "y.other"), status="failed")

    assert judge(find(n=1), [odd, typical, find(n=2, hint="a")], REGISTRY.tools).replayed is typical

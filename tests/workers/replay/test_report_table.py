"""A report is printed as tables."""

import pytest

from tests.workers.replay.records import call, replayed, turn, used
from turnloom.models.contracts.replay import ReplayReport
from turnloom.workers.replay.report import report
from turnloom.workers.replay.report_table import show_report

BEFORE = turn(call("a", "x.find", {"n": 1, "text": "[/b]"}), usage=used(100, 0.01), latency_ms=200)
AFTER = turn(call("a", "x.find", {"n": 2, "text": "[/i]\x1b[31m"}), usage=used(150, 0.01), latency_ms=200)


def made(turns: int = 1) -> ReplayReport:
    found = [replayed(BEFORE, AFTER, conversation=f"c{number:03}\x1b") for number in range(turns)]
    return report([*found, replayed(BEFORE, BEFORE, conversation="same")], about={"Tools": "recorded"})


def test_a_report_is_printed(capsys: pytest.CaptureFixture[str]):
    """What was counted, in rows, and the verdict in the end."""
    show_report(made())

    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Tools: recorded", "2 turns of 2 conversations: 1 same, 1 different, 0 diverged, 0 failed"]
    assert "arguments\t1\t50.0%\t" in lines
    assert "tokens\t2\tmean\t100\t125\t+25.0%" in lines
    assert "x.find\t2\t2\t0 → 0\t1" in lines
    assert "arguments\tx.find.n\tchanged\t1" in lines
    assert lines[-1] == (
        "1 of 2 turns (50.0%) did not go the same way. With 95 % confidence the share is between 9.5% and 90.5%."
    )


@pytest.mark.parametrize("colours", ["", "1"])
def test_texts_of_users_are_only_text(
    colours: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """They neither steer the terminal nor count as markup."""
    monkeypatch.setenv("FORCE_COLOR", colours)
    monkeypatch.setenv("COLUMNS", "200")

    show_report(made())

    shown = capsys.readouterr().out
    assert "\x1b[31m" not in shown
    assert "[/b]" in shown


def test_a_long_list_of_turns_is_cut(capsys: pytest.CaptureFixture[str]):
    """And it is said where the rest is."""
    show_report(made(60))

    shown = capsys.readouterr().out
    assert "c049" in shown
    assert "c050" not in shown
    assert "… and 10 more; --json and --html show them" in shown


def test_an_empty_report_is_printed(capsys: pytest.CaptureFixture[str]):
    """Without empty tables."""
    show_report(report([]))

    assert capsys.readouterr().out.splitlines() == [
        "0 turns of 0 conversations: 0 same, 0 different, 0 diverged, 0 failed",
        "",
        "no turn was replayed, so nothing is known.",
    ]

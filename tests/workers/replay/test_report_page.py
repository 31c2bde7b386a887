"""The page of a report is one valid HTML file that loads nothing, and shows texts as text."""

import base64
import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring

from tests.workers.replay.records import call, replayed, turn, used
from turnloom.models.contracts.replay import ReplayedTurn, ReplayReport
from turnloom.workers.replay.report import report, report_json
from turnloom.workers.replay.report_page import page

ROOT = Path(__file__).resolve().parents[3]
ATTACK = "</blockquote><script>alert('x')</script><img src=x onerror=alert(1)> \x00\x1b\ud800 &amp; ]]>"
BEFORE = turn(
    call("a", "x.find", {"n": 1}),
    call("b", "x.price", needs=["a"]),
    call("c", "x.book", needs=["a", "b"]),
    usage=used(100, 0.01),
    latency_ms=200,
    message=ATTACK,
    reply=ATTACK,
)
AFTER = turn(
    call(ATTACK, f"x.<b>{ATTACK}", {ATTACK: ATTACK}),
    call("b", "x.find", {"n": 2}, [ATTACK]),
    usage=used(150, 0.01),
    latency_ms=900,
    reply=ATTACK,
    question={"fields": [ATTACK], "choices": {}},
    slots={ATTACK: ATTACK},
    violations=[ATTACK],
    status="failed",
    error={"code": ATTACK},
)


def made(*turns: ReplayedTurn, about: dict[str, str] | None = None) -> ReplayReport:
    return report(turns, about=about or {}, max_different=0.05)


FULL = made(
    replayed(BEFORE, AFTER, conversation=ATTACK, noise=["slots"]),
    replayed(BEFORE, None, seq=2, outcome="failed", reason=ATTACK),
    replayed(BEFORE, BEFORE, seq=3),
    about={ATTACK: ATTACK},
)
REPORTS = {
    "full": FULL,
    "empty": report([]),
    "same": made(replayed(BEFORE, BEFORE)),
    "bare": made(replayed(turn(), turn())),
}


def parsed(report: ReplayReport) -> Element:
    root: Element = fromstring(page(report))
    return root


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_is_well_formed(name: str):
    """Each id is used once, each label of a section exists, and headings skip no level."""
    root = parsed(REPORTS[name])

    ids = Counter(each.attrib["id"] for each in root.iter() if "id" in each.attrib)
    labels = {each.attrib["aria-labelledby"] for each in root.iter() if "aria-labelledby" in each.attrib}
    levels = [int(each.tag[1]) for each in root.iter() if re.fullmatch("h[1-6]", each.tag)]
    assert set(ids.values()) <= {1}
    assert labels <= ids.keys()
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_not_seen_is_told(name: str):
    """Tables have a caption and the titles of columns, drawings a title and a description."""
    root = parsed(REPORTS[name])

    assert all(table.find("caption") is not None for table in root.iter("table"))
    assert all(cell.attrib.get("scope") for cell in root.iter("th"))
    drawings = [*root.iter("svg")]
    assert drawings
    assert all(each.findtext("title") and each.findtext("desc") for each in drawings)
    assert all(each.attrib["role"] == "img" for each in drawings)


def test_texts_are_text():
    """No message, name or reason becomes an element, an attribute or a script."""
    root = parsed(FULL)

    tags = {each.tag for each in root.iter()}
    assert not tags & {"script", "img", "b", "iframe", "link", "object"}
    assert not [
        name for each in root.iter() for name in each.attrib if name.startswith("on") or name in ("src", "href")
    ]
    shown = ATTACK.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")
    quotes = ["".join(each.itertext()) for each in root.iter("blockquote")]
    assert quotes.count(shown) == 5
    assert [each.text for each in root.iter("dt")] == [shown]


def test_the_page_allows_nothing_but_its_own_style():
    """Its policy names the digest of its style sheet, and no element has a style of its own."""
    root = parsed(FULL)

    (style,) = root.iter("style")
    digest = base64.b64encode(hashlib.sha256((style.text or "").encode()).digest()).decode()
    (policy,) = [each.attrib["content"] for each in root.iter("meta") if "http-equiv" in each.attrib]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not [each for each in root.iter() if "style" in each.attrib]
    assert not re.search(r"url\(|@import", style.text or "")


def test_both_plans_are_drawn():
    """Calls that only one side has are marked, and so are other arguments. What waits for what is told in words."""
    first = next(each for each in parsed(FULL).iter("details") if "in-different" in each.attrib["class"])

    before, after = (each for each in first.iter("svg") if each.attrib["class"] == "plan")
    assert before.findtext("desc") == "x.find; x.price after x.find; x.book after x.price"
    assert sorted(each.text or "" for each in before.iter("text")) == ["\u2212 x.book", "\u2212 x.price", "≠ x.find"]
    assert [each.attrib["class"] for each in after.iter("g")] == ["step only-here", "step changed"]


def test_filters_show_the_turns_that_differ_in_an_aspect():
    """Without a script: each has its rule in the style sheet, and its number of turns."""
    root = parsed(FULL)

    labels = ["".join(each.itertext()).strip() for each in root.iter("label")]
    assert labels[:3] == ["anything 2", "tools 1", "arguments 1"]
    assert labels[-1] == "failed 1"
    (style,) = root.iter("style")
    for each in root.iter("input"):
        name = each.attrib["id"].removeprefix("filter-")
        rule = f"main:has(#filter-{name}:checked) .turn:not(.in-{name}) {{ display: none; }}"
        assert name == "all" or rule in (style.text or "")


def test_the_first_turns_are_shown_and_the_others_counted():
    """A page stays small enough for a phone."""
    turns = [replayed(BEFORE, AFTER, conversation=f"c{number:04}") for number in range(205)]

    root = parsed(made(*turns))

    titles = [each.findtext("summary/h3") for each in root.iter("details")]
    assert (titles[0], titles[-1], len(titles)) == ("c0000 · turn 1", "c0199 · turn 1", 200)
    assert any(each.text == "These are the first 200 of 205; the JSON report has all." for each in root.iter("p"))


def digest() -> str:
    """Return a digest of the report and the page of turns with many steps."""
    needs = {"c": ["a"], "d": ["b"], "e": ["c"], "f": ["e", "d", "b"], "g": ["f", "i", "j", "h"]}
    steps = [call(name, f"x.{name}", {"n": 1}, needs.get(name)) for name in "abcdefghij"]
    again = [step.model_copy(update={"args": {}, "needs": step.needs[1:]}) for step in steps[2:]]
    bad = ["a", "b", "c", "d"]
    found = made(
        replayed(turn(*steps), turn(*again, violations=bad, slots=dict.fromkeys(bad)), noise=["slots", "tools"])
    )
    return hashlib.sha256(report_json(found) + page(found).encode()).hexdigest()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_process_makes_the_same_report_and_page(seed: str):
    """Python orders sets otherwise in each process; bytes do not depend on it."""
    program = "from tests.workers.replay.test_report_page import digest; print(digest())"
    environment = {**os.environ, "PYTHONHASHSEED": seed}

    said = subprocess.run([sys.executable, "-c", program], env=environment, cwd=ROOT, check=True, capture_output=True)

    assert said.stdout.decode().strip() == digest()

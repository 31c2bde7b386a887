"""Plans are drawn as SVG and as Mermaid flowcharts."""

import re
import xml.etree.ElementTree as ET
from graphlib import CycleError

import pytest

from turnloom.planner.picture.drawing import draw, mermaid
from turnloom.planner.picture.shapes import DrawnStep, Picture, TimeSpan, in_words

_SVG = "{http://www.w3.org/2000/svg}"


def _texts(drawn: str, kind: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(drawn).iter(f"{_SVG}text") if each.get("class") == kind]


def _groups(drawn: str) -> dict[str, str]:
    """Return the class of each step's box by what its title says."""
    found = {}
    for group in ET.fromstring(drawn).iter(f"{_SVG}g"):
        if (title := group.find(f"{_SVG}title")) is not None:
            found[title.text or ""] = group.get("class") or ""
    return found


def test_boxes_show_their_state_and_the_longest_path() -> None:
    """A box has the class of its state; those of the longest path by time are marked, with the links between them."""
    steps = [
        DrawnStep("a", "sim.wait", start_ms=0, end_ms=10, worker="w1"),
        DrawnStep("b", "sim.fail", status="failed", start_ms=0, end_ms=50),
        DrawnStep("c", "sim.wait", ["a", "b"], "running", start_ms=50),
        DrawnStep("d", "sim.wait", ["c"], "pending"),
    ]

    drawn = draw(Picture("A plan", "now", steps, until_ms=60))

    assert _groups(drawn) == {
        "a: sim.wait, succeeded, 10 ms, w1": "succeeded",
        "b: sim.fail, failed, 50 ms": "failed hot",
        "c: sim.wait, running": "running hot",
        "d: sim.wait, pending": "idle hot",
    }
    assert _texts(drawn, "sign") == ["✓", "✕", "▸", ""]
    assert drawn.count("class='link hot'") == 1


def test_the_time_line_tells_waiting_from_running() -> None:
    """A row has what came before it, its bar, and its end; a step that has not ended reaches to now."""
    steps = [
        DrawnStep("late", "t", start_ms=30, end_ms=50, ready_ms=10),
        DrawnStep("early", "t", start_ms=20),
        DrawnStep("never", "t", status="skipped"),
    ]

    drawn = draw(Picture("A plan", "now", steps, [TimeSpan("plan", 0, 5, 10)], until_ms=100))

    assert _texts(drawn, "label") == ["plan", "early", "late", "never"]
    assert {"5 ms", "80 ms", "20 ms", "skipped"} <= {*_texts(drawn, "soft")}
    assert len(re.findall("class='wait'", drawn)) == 2
    assert len(re.findall("class='span open'", drawn)) == 1


def test_a_plan_without_times_has_no_time_line() -> None:
    """Steps that were read from elsewhere may have no times; what they need and nobody drew is left out."""
    drawn = draw(Picture("A plan", "", [DrawnStep("a", "t", ["nowhere"]), DrawnStep("b", "t", ["a"])]))

    assert "When it ran" not in drawn
    assert _texts(drawn, "name") == ["a", "b"]


def test_pictures_stand_beside_each_other() -> None:
    """Several pictures are one drawing, as wide as all of them."""
    one, two = (Picture(name, "", [DrawnStep("a", "t")]) for name in ("recorded", "replayed"))

    alone, beside = draw(one), draw(one, two)

    assert _texts(beside, "head") == ["recorded", "replayed"]
    assert float(ET.fromstring(beside).get("width", "0")) > 1.9 * float(ET.fromstring(alone).get("width", "0"))


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "]]>&amp;'\"", "\x00\x0b\ud800\ufffe", "x" * 5_000])
def test_any_text_stays_text(text: str) -> None:
    """Nothing that is drawn breaks out of its element, and all of it is XML."""
    drawn = draw(Picture(text, text, [DrawnStep(text, text, status=text, start_ms=0, end_ms=1, worker=text)]))

    root = ET.fromstring(drawn.encode("utf-8"))

    kinds = {each.tag.removeprefix(_SVG) for each in root.iter()}
    assert kinds == {"svg", "title", "style", "rect", "g", "path", "text"} - (
        {"path"} if "path" not in kinds else set()
    )
    assert "<script" not in drawn


@pytest.mark.parametrize("shape", ["chain", "fan", "mixed"])
def test_a_large_plan_stays_readable(shape: str) -> None:
    """Two hundred steps keep the size of their letters, none covers another, and the width is bounded."""
    needs = {"chain": lambda n: [n - 1], "fan": lambda n: [0], "mixed": lambda n: {n - 1 - n % 10, max(0, n - 10)}}
    steps = [DrawnStep(f"s{n}", "sim.wait", [f"s{m}" for m in needs[shape](n)] if n else []) for n in range(200)]

    root = ET.fromstring(draw(Picture("A plan", "", steps)))

    boxes = {(each.get("x"), each.get("y")) for each in root.iter(f"{_SVG}rect") if each.get("class") == "box"}
    assert len(boxes) == 200
    assert float(root.get("width", "0")) < 2_500


def test_a_cycle_is_refused() -> None:
    """Steps that need each other are no plan."""
    with pytest.raises(CycleError):
        draw(Picture("A plan", "", [DrawnStep("a", "t", ["b"]), DrawnStep("b", "t", ["a"])]))


def test_mermaid_escapes_what_it_labels() -> None:
    """Text in a label cannot break out of its quotes, and is none of Mermaid's own marks."""
    drawn = mermaid([DrawnStep("a", 'say "hi"\n<b> #lt; `x`'), DrawnStep("b", "t", ["a", "nowhere"], "failed")])

    assert drawn.splitlines()[:4] == [
        "flowchart TD",
        '  s0["a: say &quot;hi&quot; &lt;b&gt; #35;lt; #96;x#96; (succeeded)"]',
        '  s1["b: t (failed)"]',
        "  s0 --> s1",
    ]
    assert "  class s1 failed" in drawn


@pytest.mark.parametrize(
    ("ms", "said"),
    [(0, "0 ms"), (9_999, "9,999 ms"), (12_340, "12.3 s"), (600_000, "10 min"), (86_400_000, "1,440 min")],
)
def test_durations_in_words(ms: float, said: str) -> None:
    """A duration has the unit in which people read it."""
    assert in_words(ms) == said

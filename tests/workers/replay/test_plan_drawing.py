"""A plan is drawn from left to right."""

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from turnloom.models.contracts.replay import ReportedStep
from turnloom.workers.replay.plan_drawing import draw


def drawn(plan: Mapping[str, list[str]]) -> Element:
    steps = [
        ReportedStep(id=name, tool=f"x.{name}", needs=needs, status="succeeded", mark="same")
        for name, needs in plan.items()
    ]
    root: Element = fromstring(draw(steps, "Plan", {}))
    return root


def places(root: Element) -> dict[str, tuple[float, float]]:
    boxes = {each.findtext("text") or "": each.find("rect") for each in root.iter("g")}
    return {name: (float(box.attrib["x"]), float(box.attrib["y"])) for name, box in boxes.items() if box is not None}


def test_a_step_stands_right_of_those_that_it_waits_for():
    """Independent steps stand below each other."""
    at = places(drawn({"a": [], "b": [], "c": ["a", "b"], "d": ["c"]}))

    assert at["x.a"][0] == at["x.b"][0] < at["x.c"][0] < at["x.d"][0]
    assert at["x.a"][1] != at["x.b"][1]


def test_a_line_over_several_columns_passes_no_step():
    """It has a row of its own there, so that it does not seem to come from the step between."""
    root = drawn({"a": [], "b": [], "c": ["a"], "d": ["b", "c"]})

    (passing,) = [each.attrib["d"] for each in root.iter("path") if " h" in each.attrib["d"]]
    y = float(passing.split()[-2])
    (_, top) = places(root)["x.c"]
    assert not top <= y <= top + 28


def test_edges_that_follow_from_others_are_left_out():
    """And needs that are not in the plan."""
    root = drawn({"a": ["gone"], "b": ["a"], "c": ["a", "b"]})

    assert len([each for each in root.iter("path") if each.attrib["class"] == "edge"]) == 2


def test_a_huge_plan_is_cut():
    """Sixty steps are drawn."""
    assert len([*drawn({f"s{number}": [] for number in range(200)}).iter("g")]) == 60


def test_everything_lies_within_the_picture():
    """Boxes are not cut off."""
    root = drawn({"a": [], "b": ["a"], "c": ["b"], "e": [], "f": []})

    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter("rect"):
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width + 1
        assert 0 <= y <= y + h <= height + 1

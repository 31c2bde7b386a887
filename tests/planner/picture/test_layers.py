"""Steps are laid out in layers by their distance from the start."""

from turnloom.planner.picture.layers import lay_out, layers_of


def test_layers_follow_the_longest_way() -> None:
    """A step comes after all that it needs, and beside what it is linked to."""
    needs = {"a": (), "b": (), "c": ("b",), "d": ("a",), "e": ("c", "a")}

    assert layers_of(needs) == [["b", "a"], ["c", "d"], ["e"]]


def test_nothing_takes_no_room() -> None:
    """A turn that is not planned yet has no steps."""
    layout = lay_out({}, (100, 40), 860)

    assert (layout.places, layout.width, layout.height) == ({}, 0, 0)


def test_a_short_plan_goes_to_the_right_and_a_long_one_down() -> None:
    """The picture is as narrow as it can be."""
    short = {"a": (), **{f"b{n}": ("a",) for n in range(50)}}
    long = {f"s{n}": ((f"s{n - 1}",) if n else ()) for n in range(50)}

    assert not lay_out(short, (100, 40), 860).goes_down
    assert lay_out(long, (100, 40), 860).goes_down

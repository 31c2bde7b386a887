"""The knowledge graph takes items in any order, and decides disagreements by a fixed rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planner.knowledge.graph_items import entity, fact, found, graph, hypothesis, source, told
from turnloom.models.contracts.belief import believe, comparable
from turnloom.models.contracts.knowledge import (
    AttributeFact,
    Entity,
    EntityLink,
    Finding,
    Hypothesis,
    Item,
    Rule,
    Value,
)
from turnloom.planner.knowledge.graph import Knowledge, entity_id, key_of, recalled, with_items, word

SOURCES = st.builds(
    source,
    step=st.sampled_from("abcdef"),
    turn=st.sampled_from(["t1", "t2"]),
    origin=st.sampled_from(["one", "two", "three"]),
    trust=st.sampled_from(["model", "outside", "tool"]),
    hours=st.sampled_from([0, 1, 30]),
)
NAMES = st.sampled_from(["Kyoto", "Osaka", "Tokyo"])
FINDINGS = st.builds(
    Finding,
    type=st.just("city"),
    name=NAMES,
    attributes=st.dictionaries(st.sampled_from(["size", "mayor"]), st.sampled_from([1, 1.0, "1", 2, "Ada", True])),
    links=st.lists(st.builds(EntityLink, kind=st.just("near"), type=st.just("city"), name=NAMES), max_size=2),
)
HYPOTHESES = st.builds(
    Hypothesis,
    id=st.sampled_from(["h1", "h2"]),
    text=st.just("It is so."),
    confidence=st.sampled_from([0.1, 0.5, 0.99]),
    supports=st.just(["city:kyoto"]),
    contradicts=st.just([]),
    source=SOURCES,
)


def _items(said: list[tuple[Finding, Any]], supposed: list[Hypothesis]) -> list[Item]:
    return [item for finding, who in said for item in told(finding, **_about(who))] + list(supposed)


def _about(who: Any) -> dict[str, Any]:
    hours = (source().at - who.at).total_seconds() / 3600
    return {"step": who.step, "turn": who.turn, "origin": who.origin, "trust": who.trust, "hours": hours}


ITEMS = st.builds(_items, st.lists(st.tuples(FINDINGS, SOURCES), max_size=15), st.lists(HYPOTHESES, max_size=4))


@given(ITEMS, st.randoms(use_true_random=False), st.integers(0, 20))
def test_the_order_of_arrival_does_not_count(items: list[Item], random: Any, cut: int) -> None:
    """The same items, in any order and any portions, give the same graph and the same beliefs."""
    shuffled = list(items)
    random.shuffle(shuffled)

    once = with_items(Knowledge(), items)
    twice = with_items(with_items(Knowledge(), shuffled[:cut]), shuffled[cut:])

    assert twice.items == once.items
    assert twice.beliefs == once.beliefs
    assert with_items(once, items).items == once.items


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("4.2 million euros", "€4.2m"),
        ("12%", "12 percent"),
        ("3 March 1932", "1932-03-03"),
        ("1 200", 1200),
        ("1,200", 1200.0),
        ("$1,200.00", "1200 USD"),
        ("990 rooms", "990  Rooms"),
        ("from 3 March 1932 on", "From 1932-03-03 on"),
    ],
)
def test_figures_agree_however_they_are_written(first: Value, second: Value) -> None:
    """Two sources that write one figure in two ways do not contradict each other."""
    known = graph(fact(first, step="a"), fact(second, step="b"))

    assert [belief.rule for belief in known.beliefs["city:kyoto"].values()] == ["agreed"]


@pytest.mark.parametrize(
    ("first", "second"), [("€4.2m", "$4.2m"), ("12%", 12), ("12%", "13%"), ("990 rooms", "990 metres"), (True, 1)]
)
def test_other_figures_do_not_agree(first: Value, second: Value) -> None:
    """Another amount, currency or unit is another value."""
    known = graph(fact(first, step="a"), fact(second, step="b"))

    assert len(known.contradictions) == 1


@given(ITEMS)
def test_both_sides_of_a_contradiction_are_kept(items: list[Item]) -> None:
    """A belief shows every value in the graph, and is called agreed only if there is one."""
    known = with_items(Knowledge(), items)

    for subject, attributes in known.beliefs.items():
        for attribute, belief in attributes.items():
            held = [one for one in known.items.values() if isinstance(one, AttributeFact) and one.subject == subject]
            values = {comparable(one.value) for one in held if one.attribute == attribute}
            assert {comparable(one.value) for one in belief.facts} == values
            assert (belief.rule == "agreed") == (len(values) == 1)
            assert belief.value is None or belief.value == belief.facts[0].value


@pytest.mark.parametrize(
    ("facts", "value", "rule"),
    [
        ([fact(1), fact(1, step="b")], 1, "agreed"),
        ([fact("1,200"), fact(1200.0, step="b")], 1200.0, "agreed"),
        ([fact(1, step="a"), fact(1, step="b"), fact(2, step="c")], 1, "corroboration"),
        ([fact(1, trust="model"), fact(1, step="b", trust="model"), fact(2, step="c")], 2, "trust"),
        ([fact(1, trust="model"), fact(1, step="b", trust="model"), fact(2, step="c", trust="outside")], 2, "trust"),
        (
            [fact(1, trust="model"), fact(1, step="b", trust="model"), fact(2, step="c", trust="model")],
            1,
            "corroboration",
        ),
        ([fact(1), fact(1, step="b", trust="model", hours=-1), fact(2, step="c")], None, "unresolved"),
        ([fact(1, step="a", origin="x"), fact(1, step="b", origin="x"), fact(2, step="c", hours=-1)], 2, "recency"),
        ([fact(1, trust="tool", hours=5), fact(2, step="b", trust="outside")], 1, "trust"),
        ([fact(1, trust="outside", hours=5), fact(2, step="b", trust="model")], 1, "trust"),
        ([fact(1, hours=5), fact(2, step="b")], 2, "recency"),
        ([fact(1, day=2, hours=5), fact(2, step="b", day=1)], 1, "recency"),
        ([fact(1, day=2), fact(2, step="b", hours=5)], 2, "recency"),
        ([fact(1, day=2, hours=5), fact(2, step="b", day=2)], None, "unresolved"),
        ([fact(1, origin="x"), fact(2, origin="y")], None, "unresolved"),
        ([fact(1), fact(2, step="b")], None, "unresolved"),
        ([fact(1), fact(2, step="b"), fact(3, step="c", hours=1)], None, "unresolved"),
        ([fact("old"), fact("new", turn="t2", origin="a", hours=-1)], "new", "recency"),
    ],
)
def test_the_rule_that_decides(facts: list[AttributeFact], value: Any, rule: Rule) -> None:
    """A source outweighs all conclusions. Then independent origins count, then trust, then age."""
    belief = believe(facts)

    assert (belief.value, belief.rule) == (value, rule)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Rain  likely", "rain likely"),
        ("\uff11\uff12", 12),
        (1, 1.0),
        ("1,234.50", 1234.5),
        (True, "true"),
        ("-0.10", -0.1),
    ],
)
def test_values_that_are_the_same(left: Any, right: Any) -> None:
    """Two spellings of a value are one value."""
    assert comparable(left) == comparable(right)


@pytest.mark.parametrize(
    ("left", "right"), [("12", "12 %"), (12345678901234567, 12345678901234568), ("1,2", "12"), (True, 1), ("a b", "ab")]
)
def test_values_that_are_not(left: Any, right: Any) -> None:
    """Values that differ stay different."""
    assert comparable(left) != comparable(right)


def test_the_same_thing_under_another_spelling_is_one_entity() -> None:
    """Case, accents and punctuation make no second entity. Another type does."""
    known = graph(*told(found("City", "São Paulo", size=1)), *told(found("city", "sao  paulo!", size=2), step="b"))

    assert list(known.entities) == ["city:sao_paulo"]
    assert len(known.beliefs["city:sao_paulo"]["size"].facts) == 2
    assert entity_id("club", "São Paulo") not in known.entities


def test_long_and_wordless_names_stay_apart() -> None:
    """An id is short, whatever the name. Two long names, or two names without letters, do not share one."""
    names = ["x" * 200, "x" * 199 + "y", "!!!", "???"]

    assert len({word(name) for name in names}) == 4
    assert all(len(word(name)) <= 80 for name in names)


def test_an_entity_is_found_by_id_or_by_its_only_name() -> None:
    """If two entities share a name, only the id finds one of them."""
    known = graph(entity("Kyoto"), entity("Kyoto", "station"), entity("Osaka"))

    assert known.get_entity("city:kyoto") == known.entities["city:kyoto"]
    assert known.get_entity("OSAKA") == known.entities["city:osaka"]
    assert known.get_entity("Kyoto") is None
    assert known.get_entity("Nara") is None


def test_one_step_has_one_word_on_an_attribute() -> None:
    """A step that reports again replaces its own value. Another step's value is kept beside it."""
    known = graph(entity(), fact(1, hours=1), fact(2), fact(3, step="b"))

    assert sorted(str(one.value) for one in known.beliefs["city:kyoto"]["population"].facts) == ["2", "3"]


def test_sources_of_one_attribute_are_bounded() -> None:
    """If there are very many sources, the most trusted stay, then the newest."""
    doubtful = [fact(n, step=f"m{n}", trust="model") for n in range(20)]

    known = graph(entity(), fact(99, step="tool", hours=50), *doubtful)

    kept = known.beliefs["city:kyoto"]["population"].facts
    assert len(kept) == 8
    assert 99 in [one.value for one in kept]


def test_knowledge_of_undone_turns_is_not_recalled() -> None:
    """Items from an undone turn alone are gone. An entity that other turns mention stays with their facts."""
    mine = told(found("city", "Kyoto", (("near", "city", "Nara"),), size=1), turn="t1", hours=1)
    undone = told(found("city", "Kyoto", (("near", "city", "Osaka"),), size=2), turn="t2", step="b")
    known = graph(*mine, *undone, hypothesis("h1", turn="t2"))

    left = recalled(known.items.values(), {"t2"})

    assert list(left.entities) == ["city:kyoto", "city:nara"]
    assert [one.value for one in left.beliefs["city:kyoto"]["size"].facts] == [1]
    assert [edge.end for edge in left.relationships] == ["city:nara"]
    assert left.hypotheses == []


def test_facts_without_their_entity_say_nothing() -> None:
    """The rest of a graph is consistent. No fact and no relationship is without its ends."""
    items = told(found("city", "Kyoto", (("near", "city", "Nara"),), size=1))

    left = recalled([item for item in items if not (isinstance(item, Entity) and item.name == "Kyoto")])

    assert [key.id for key in map(key_of, left.items.values())] == ["city:nara"]

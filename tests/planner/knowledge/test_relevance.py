"""Test the scores, the pruning and the snapshots of the knowledge graph."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planner.knowledge.graph_items import NOON, entity, fact, found, graph, hypothesis, source, told
from tests.planner.knowledge.test_graph import ITEMS
from turnloom.models.contracts.knowledge import Item
from turnloom.planner.knowledge.graph import Knowledge, key_of
from turnloom.planner.knowledge.relevance import FLOOR, HALF_LIFE, MAX_ITEMS, THRESHOLD, decay, prune, score, snapshot

TRIP = told(
    found("city", "Kyoto", (("has_attraction", "attraction", "Nijo Castle"), ("part_of", "country", "Japan"))),
    found("attraction", "Nijo Castle", kind="castle"),
    found("country", "Japan", (("has", "city", "Osaka"),)),
    found("city", "Osaka", (("has_attraction", "attraction", "Aquarium"),)),
    found("hotel", "Far Away Inn", price=90),
)


def _scores(known: Knowledge, goal: str) -> dict[str, float]:
    scores = score(known, goal, NOON)
    return {name: round(scores.of[key_of(one)], 6) for name, one in known.entities.items()}


def test_what_the_goal_names_matters_most_and_its_neighbours_half_as_much() -> None:
    """The match scores one, and each edge halves the score. Unconnected entities have the least score."""
    scores = _scores(graph(*TRIP), "a trip to KYOTO")

    assert scores["city:kyoto"] == 1.0
    assert scores["attraction:nijo_castle"] == scores["country:japan"] == 0.6
    assert scores["city:osaka"] == 0.4
    assert scores["hotel:far_away_inn"] == FLOOR


@pytest.mark.parametrize("goal", ["which castles are there", "attractions", "the kind of thing"])
def test_types_attributes_and_values_are_words_too(goal: str) -> None:
    """A goal can name an entity's type, or what is known about it. A plural counts as its singular."""
    scores = _scores(graph(*TRIP), goal)

    assert scores["attraction:nijo_castle"] > scores["hotel:far_away_inn"]


def test_text_without_spaces_is_matched_in_parts() -> None:
    """A goal in Japanese names a temple within a longer word."""
    known = graph(*told(found("寺", "金閣寺"), found("城", "大阪城")))

    scores = score(known, "金閣寺の拝観料はいくらですか", NOON)

    of = {one.name: scores.of[key_of(one)] for one in known.entities.values()}
    assert of["金閣寺"] > of["大阪城"] == FLOOR


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    """A word that every hotel has does not distinguish them."""
    hotels = [item for n in range(10) for item in told(found("hotel", f"Hotel {n}"))]
    known = graph(*hotels, *told(found("hotel", "Hotel Ryokan")), *told(found("place", "Garden Ryokan")))

    scores = _scores(known, "hotel ryokan")

    assert scores["hotel:hotel_ryokan"] > scores["place:garden_ryokan"] > scores["hotel:hotel_3"]


def test_a_relationship_has_a_score_too() -> None:
    """Its score is the mean of its ends, or higher if the goal names its type."""
    known = graph(*TRIP)
    edges = {(edge.kind, edge.end): key_of(edge) for edge in known.relationships}

    near, named = score(known, "Kyoto", NOON), score(known, "what is it part of", NOON)

    assert near.of[edges["part_of", "country:japan"]] == FLOOR + (1 - FLOOR) * 0.75
    assert named.of[edges["part_of", "country:japan"]] > named.of[edges["has", "city:osaka"]]


@given(st.floats(0, 1000), st.floats(0, 1000))
def test_age_only_lowers_a_score(early: float, late: float) -> None:
    """The score halves with each half-life and never rises with age. A clock that is behind changes nothing."""
    hours = HALF_LIFE / timedelta(hours=1)
    now = NOON

    assert decay(source(hours=-1), now) == 1.0
    assert decay(source(hours=early + hours), now) == pytest.approx(decay(source(hours=early), now) / 2)
    if early <= late:
        assert decay(source(hours=early), now) >= decay(source(hours=late), now)


@given(ITEMS, st.sampled_from(["", "size of Kyoto", "mayor"]), st.integers(0, 400))
def test_pruning_keeps_what_is_needed_and_a_whole_graph(items: list[Item], goal: str, hours: int) -> None:
    """The needs of an open hypothesis or contradiction stay, however old. No link loses its end."""
    known = graph(*items)
    now = NOON + timedelta(hours=hours)
    scores = score(known, goal, now)

    left = prune(known, scores)

    unresolved = [belief for belief in known.contradictions if belief.rule == "unresolved"]
    opened = [one for one in known.hypotheses if 0.05 < one.confidence < 0.95]
    assert [belief for belief in left.contradictions if belief.rule == "unresolved"] == unresolved
    assert all(one in left.hypotheses for one in opened)
    assert all(name in left.entities for one in opened for name in one.supports if name in known.entities)
    for name, one in known.entities.items():
        assert scores.of[key_of(one)] < THRESHOLD or name in left.entities
    assert all(edge.start in left.entities and edge.end in left.entities for edge in left.relationships)
    assert prune(left, score(left, goal, now)).items.keys() <= left.items.keys()


def test_what_never_mattered_is_forgotten_first() -> None:
    """After three days only what the goal names is left, and after a week nothing."""
    known = graph(*TRIP)

    three, seven = NOON + timedelta(days=3), NOON + timedelta(days=7)

    assert "hotel:far_away_inn" not in prune(known, score(known, "Kyoto", three)).entities
    assert "city:kyoto" in prune(known, score(known, "Kyoto", three)).entities
    assert prune(known, score(known, "Kyoto", seven)).items == {}


def test_a_graph_is_bounded_and_the_best_stays() -> None:
    """Beyond the bound the least relevant items go first. Items that others need go last."""
    many = [item for n in range(MAX_ITEMS) for item in told(found("thing", f"Thing {n}", number=n))]
    disputed = [entity("Nara", "town"), fact(1, subject="town:nara"), fact(2, subject="town:nara", step="b")]
    known = graph(*many, *disputed, *told(found("city", "Kyoto", size=1)))

    left = prune(known, score(known, "Kyoto", NOON))

    assert len(left.items) <= MAX_ITEMS
    assert {"city:kyoto", "town:nara"} <= left.entities.keys()


@given(ITEMS, st.integers(0, 3_000))
def test_a_snapshot_stays_within_its_budget(items: list[Item], budget: int) -> None:
    """It is never longer than the budget, and the same knowledge gives the same bytes."""
    known = graph(*items)
    scores = score(known, "size of Kyoto", NOON)

    text = json.dumps(snapshot(known, scores, budget), ensure_ascii=False)
    again = json.dumps(snapshot(Knowledge(dict(reversed(known.items.items()))), scores, budget), ensure_ascii=False)

    assert text == again
    assert text == "{}" or len(text) <= budget


def test_a_snapshot_shows_the_best_and_what_is_disputed() -> None:
    """Beliefs are plain values. Where sources disagree, each value is shown with its step."""
    known = graph(
        *told(found("city", "Kyoto", (("near", "city", "Osaka"),), size=1, mayor="Ada")),
        fact(2, "size", step="b"),
        hypothesis("h1", 0.6, "city:kyoto"),
        hypothesis("h2", 0.99),
    )

    shown = snapshot(known, score(known, "Kyoto", NOON), 1_000)

    sides = [{"value": 2, "step": "b", "says": "b"}, {"value": 1, "step": "a", "says": "a"}]
    assert shown["entities"][0] == {
        "id": "city:kyoto",
        "name": "Kyoto",
        "attributes": {"mayor": "Ada"},
        "disputed": {"size": sides},
    }
    assert shown["relationships"] == [["city:kyoto", "near", "city:osaka"]]
    assert [one["id"] for one in shown["hypotheses"]] == ["h1"]

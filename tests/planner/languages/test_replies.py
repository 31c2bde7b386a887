"""All of a reply is in the user's language: its artifacts, its suggestions, and fields that no template words."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.planner.languages.test_completeness import spoken
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.prompts import shipped
from turnloom.planner.reply.artifacts import artifacts_of
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.reply_prompts import fill_templates
from turnloom.planner.reply.suggestions import suggestions
from turnloom.planner.reply.template_choice import last_resort, template_parts
from turnloom.tools.registry import load_registry

PARTY = {"check_in": "2026-12-04", "check_out": "2026-12-05", "nights": 1, "adults": 2, "children": 0, "babies": 0}
OPTION = {
    "room_type_code": "TWIN",
    "room_name": "Twin",
    "board_code": "RO",
    "rate_code": "FLEX",
    "cancellable": True,
    "quota": 2,
    "price_total": "90",
    "currency": "ILS",
}
FREE = PARTY | {"options": [OPTION], "over_budget": 0, "sold_out": [], "longer_stays": []}


@pytest.fixture(scope="module")
def given() -> Callable[..., ReplyInput]:
    tools = load_registry(["hotel", "research"])

    def make(made: ReplyInput, tag: str) -> ReplyInput:
        return replace(made, tools=tools, prompts=shipped().spoken(spoken(tag)))

    return make


@pytest.mark.parametrize(
    ("tag", "title", "columns", "first"),
    [
        (
            "en",
            "Rooms from Fri, 4 Dec 2026 to Sat, 5 Dec 2026",
            ["Room", "Board"],
            "Send me the link for the first one",
        ),
        ("de", "Zimmer vom Fr., 4. Dez. 2026 bis Sa., 5. Dez. 2026", ["Zimmer", "Verpflegung"], "Schicken Sie mir"),
        ("ja", "2026年12月4日(金)から2026年12月5日(土)までの客室", ["客室", "食事"], "一つ目のリンク"),
    ],
)
def test_a_table_and_what_may_follow_it_are_in_the_users_language(
    reply_input: Callable[..., ReplyInput],
    given: Callable[..., ReplyInput],
    tag: str,
    title: str,
    columns: list[str],
    first: str,
) -> None:
    """Values, such as a room's name, stay as the tool found them."""
    step = StepResult(id="a", tool="pms.get_availability", args={}, status="succeeded", result=FREE)
    spoken_input = given(reply_input(step, agent="hotel"), tag)

    [table] = artifacts_of(spoken_input)
    assert (table.title, table.data.columns[:2], table.data.rows[0][0]) == (title, columns, "Twin")
    assert suggestions(spoken_input)[0].startswith(first)


@pytest.mark.parametrize(
    ("tag", "cells"),
    [
        ("en", ["room only", "no", "yes"]),
        ("de", ["ohne Verpflegung", "nein", "ja"]),
        ("he", ["ללא ארוחות", "לא", "כן"]),
        ("ja", ["素泊まり", "いいえ", "はい"]),
    ],
)
def test_the_words_in_a_tables_cells_are_in_the_users_language(
    reply_input: Callable[..., ReplyInput], given: Callable[..., ReplyInput], tag: str, cells: list[str]
) -> None:
    """Those that the tool itself has chosen, and yes and no."""
    options = [{**FREE["options"][0], "cancellable": is_free} for is_free in (False, True)]
    result = {**FREE, "options": options}
    step = StepResult(id="a", tool="pms.get_availability", args={}, status="succeeded", result=result)

    [table] = artifacts_of(given(reply_input(step, agent="hotel"), tag))

    assert [table.data.rows[0][1], *(row[4] for row in table.data.rows)] == cells


def test_fields_that_no_template_words_have_titles_in_the_users_language(
    reply_input: Callable[..., ReplyInput], given: Callable[..., ReplyInput]
) -> None:
    """The same for the name of the tool."""
    result = {"title": "Fjord ferry", "url": "https://ferry.example", "text": "It runs.", "truncated": False}
    step = StepResult(id="a", tool="research.fetch", args={}, status="succeeded", result=result)
    spoken_input = given(reply_input(step, agent="research"), "es")

    text = fill_templates(spoken_input, last_resort(spoken_input), []).text

    assert text.splitlines()[:2] == ["Página:", "- título: Fjord ferry"]


@pytest.mark.parametrize(("tag", "text"), [("fr", "Non."), ("he", "לא."), ("ja", "No.")])
def test_a_hotels_answer_is_in_the_language_of_the_reply(
    reply_input: Callable[..., ReplyInput], given: Callable[..., ReplyInput], tag: str, text: str
) -> None:
    """Without a locale the result has every translation. Where one is missing, the hotel's own words stand."""
    answer = {"topic": "pets", "question": "Pets?", "answer": "No.", "translations": {"fr": "Non.", "he": "לא."}}
    found = {"topics": ["pet"], "answers": [answer], "rooms": []}
    step = StepResult(id="a", tool="faq.get_rooms_and_pricing", args={}, status="succeeded", result=found)
    spoken_input = given(reply_input(step, agent="hotel", synthesis_hint="answer_amenity_question"), tag)

    parts = template_parts(spoken_input)

    assert parts is not None
    assert fill_templates(spoken_input, parts, []).text == text

"""A reply with a claim that no result supports is written again or replaced."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.planner.llm.scripted import Script, fails, says
from turnloom.models.contracts.memory import RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.responder import compose

HOTEL = {"name": "Inn", "area": "Gion", "stars": 3, "price_per_night": 90, "currency": "EUR", "source": "demo"}
HOTELS = StepResult(
    id="h", tool="travel.search_hotels", args={"city": "Rome"}, status="succeeded", result={"results": [HOTEL]}
)
RIGHT = "The Inn is in Gion. It costs €90 a night. Shall I go on?"
WRONG = "The Inn is in Gion. It costs €85 a night. Shall I go on?"


def test_a_sentence_with_an_invented_price_is_never_heard(
    script: Script, llm: OpenAIModel, reply_input: Callable[..., ReplyInput]
) -> None:
    """Only the sentences before it are streamed. The reply is written again once, with the reasons."""
    script.behaviours = [says(WRONG), says(RIGHT)]
    pieces: list[str] = []

    composed = compose(reply_input(HOTELS), llm, pieces.append)

    assert "".join(pieces) == "The Inn is in Gion. "
    assert composed.reply.text == RIGHT
    assert len(script.requests) == composed.usage.llm_calls == composed.drafts == 2
    assert '"€85": no result has it' in script.requests[1]["messages"][-1]["content"]
    assert composed.reply.grounded is True
    assert [source.model_dump(exclude_defaults=True) for source in composed.reply.sources] == [
        {"text": "€90", "step": "h", "path": "results[0].price_per_night"}
    ]
    assert composed.trace()["refused"] == [{"text": "€85", "kind": "money", "reason": "no_source"}]


def test_a_correct_reply_is_streamed_sentence_by_sentence(
    script: Script, llm: OpenAIModel, reply_input: Callable[..., ReplyInput]
) -> None:
    """A correct reply is streamed whole, in pieces that end where sentences end."""
    script.behaviours = [says(RIGHT)]
    pieces: list[str] = []

    composed = compose(reply_input(HOTELS), llm, pieces.append)

    assert pieces == ["The Inn is in Gion. ", "It costs €90 a night. ", "Shall I go on?"]
    assert (composed.reply.text, composed.drafts) == (RIGHT, 1)


@pytest.mark.parametrize(
    ("second", "drafts"), [(says(WRONG), 2), (fails(401), 1), (says(""), 1)], ids=["wrong_again", "out", "empty"]
)
def test_after_one_more_try_the_wrong_sentence_goes(
    script: Script, llm: OpenAIModel, reply_input: Callable[..., ReplyInput], second: Any, drafts: int
) -> None:
    """The larger part of the reply is right, so it stands without the sentence."""
    script.behaviours = [says(WRONG), second]

    composed = compose(reply_input(HOTELS), llm)

    assert (composed.reply.text, composed.reply.grounded) == ("The Inn is in Gion. Shall I go on?", False)
    assert (composed.written_by, composed.drafts) == ("llm:scripted", drafts)


@pytest.mark.parametrize(
    ("second", "drafts", "calls"),
    [(says("So: €85!"), 3, 2), (fails(401), 2, 1), (says(""), 2, 1)],
    ids=["wrong_again", "out", "empty"],
)
def test_if_most_of_it_is_wrong_the_template_stands_in(
    script: Script, llm: OpenAIModel, reply_input: Callable[..., ReplyInput], second: Any, drafts: int, calls: int
) -> None:
    """The template's figures have sources."""
    script.behaviours = [says("It costs €85 a night there."), second]

    composed = compose(reply_input(HOTELS), llm)

    assert len(script.requests) == 2
    assert composed.written_by.startswith("template:responding/places_to_stay@")
    assert (composed.drafts, composed.usage.llm_calls) == (drafts, calls)
    assert "85" not in composed.reply.text
    assert composed.reply.grounded is True


def test_a_planners_answer_is_checked_where_the_agent_is_strict(
    script: Script, llm: OpenAIModel, reply_input: Callable[..., ReplyInput]
) -> None:
    """An amount from memory is refused. If no source can be found for it, the user learns so."""
    script.behaviours = [says("It costs 95 EUR.")]

    composed = compose(reply_input(reply="A night costs about €85."), llm)

    assert composed.written_by.startswith("template:responding/unsure@")
    assert (composed.reply.grounded, len(script.requests)) == (True, 1)


def test_a_planners_answer_stands_where_the_agent_may_answer_by_itself(
    llm: OpenAIModel, reply_input: Callable[..., ReplyInput]
) -> None:
    """An agent whose own answers need no source is not checked until it has results."""
    direct = compose(reply_input(agent="generic", reply="Paris had 2,102,650 people in 2023."), llm)
    found = compose(reply_input(HOTELS, agent="generic", reply="The Inn costs €90."), llm)

    assert (direct.written_by, direct.reply.grounded) == ("planner", None)
    assert (found.written_by, found.reply.grounded) == ("planner", True)


def test_a_template_leaks_nothing_either(llm: OpenAIModel, reply_input: Callable[..., ReplyInput]) -> None:
    """Lines of a template without a source are left out, and the reply says that it is incomplete."""
    guest = {"value": {"guest_name": "Dana Levi", "phone": "054-1234567", "room": "Deluxe"}}
    echo = StepResult(id="e", tool="sim.echo", args={}, status="succeeded", result=guest)

    composed = compose(reply_input(echo, agent="generic", submitted=True), llm)

    assert "Deluxe" in composed.reply.text
    assert "Dana" not in composed.reply.text
    assert "1234567" not in composed.reply.text
    assert composed.reply.grounded is False


def test_an_old_price_is_marked(llm: OpenAIModel, reply_input: Callable[..., ReplyInput]) -> None:
    """A price that an earlier turn found more than ten minutes ago is given with its time."""
    old = RecalledResult(tool="travel.search_hotels", args={}, result=HOTELS.result, turn="t1", step="h", age_s=1_200)

    composed = compose(reply_input(reply="The Inn costs €90.", memory=[old]), llm)

    assert composed.reply.text == "The Inn costs €90.\n\n(Prices as of 09:10; they may have changed since.)"
    assert [(source.turn, source.stale) for source in composed.reply.sources] == [("t1", True)]


def test_figures_of_the_persona_may_be_said(llm: OpenAIModel, reply_input: Callable[..., ReplyInput]) -> None:
    """Figures of the persona are facts of the agent."""
    made = reply_input().agent.model_copy(update={"persona": "Reception answers at +44 20 7946 0018 until 22:30."})

    composed = compose(replace(reply_input(reply="Call +44 20 7946 0018 by 22:30."), agent=made), llm)

    assert composed.reply.grounded is True
    assert {source.step for source in composed.reply.sources} == {"agent"}


def test_the_same_material_has_the_same_digest(llm: OpenAIModel, reply_input: Callable[..., ReplyInput]) -> None:
    """The trace shows whether two replies were made from the same material."""
    digests = [
        compose(reply_input(HOTELS, submitted=True, slots=slots), llm).inputs for slots in ({}, {}, {"city": "Rome"})
    ]

    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("agent", "heard"), [("travel", "Rome is fine. "), ("generic", "Rome is fine. A night costs 85 EUR. Go!")]
)
def test_a_direct_answer_is_heard_as_far_as_it_passes(
    script: Script, llm: OpenAIModel, context: Callable[..., PlanningContext], agent: str, heard: str
) -> None:
    """In mode `direct` too, a sentence without a source is not streamed if the agent's own answers need one."""
    script.behaviours = [says("Rome is fine. A night costs 85 EUR. Go!")]
    pieces: list[str] = []

    draft(context("Rome?", agent=agent, mode="direct"), llm, on_delta=pieces.append)

    assert "".join(pieces) == heard

"""Test what counts as evidence for a reply."""

from collections.abc import Callable
from dataclasses import replace

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.reply.grounding import check
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.tools.registry import load_registry

NOTED = StepResult(id="n", tool="research.note", args={}, status="succeeded", result={"text": "It costs 900 EUR."})
FOUND = StepResult(
    id="s", tool="research.search", args={}, status="succeeded", result={"results": [{"passage": "It costs 80 EUR."}]}
)


def test_the_plans_own_word_is_no_evidence(reply_input: Callable[..., ReplyInput]) -> None:
    """A price that only a note has is refused. One that a document has is traced to it."""
    told = replace(reply_input(NOTED, FOUND, agent="research"), tools=load_registry(["research"]))

    grounding = check("It costs 80 EUR, not 900 EUR.", told.evidence())

    assert [violation.text for violation in grounding.violations] == ["900 EUR"]
    assert [(one.text, one.step, one.path) for one in grounding.sources] == [("80 EUR", "s", "results[0].passage")]


def test_what_was_done_is_evidence_in_later_turns(reply_input: Callable[..., ReplyInput]) -> None:
    """A link that an earlier turn made may be given again. An earlier note is no evidence either."""
    link = RecalledResult(
        tool="pms.generate_booking_link",
        args={},
        result={"url": "https://book.example/1"},
        turn="t",
        step="l",
        age_s=90,
        holds=False,
    )
    note = replace(link, tool="research.note", result=NOTED.result)
    told = replace(reply_input(memory=[link, note]), tools=load_registry(["hotel", "research"]))

    grounding = check("Here it is again: https://book.example/1. It costs 900 EUR.", told.evidence())

    assert [(one.text, one.step, one.turn) for one in grounding.sources] == [("https://book.example/1", "l", "t")]
    assert [violation.text for violation in grounding.violations] == ["900 EUR"]


def test_a_fetched_page_is_no_word_of_ours(reply_input: Callable[..., ReplyInput]) -> None:
    """The result of `research.fetch` is the page's claim. Its price needs its address. Its links are not passed on."""
    result = {
        "url": "https://fares.example.com/ferry",
        "title": "Ferry",
        "text": "Costs 80 EUR at https://evil.xyz/pay.",
    }
    fetched = StepResult(id="p", tool="research.fetch", args={}, status="succeeded", result=result)
    told = replace(reply_input(fetched, agent="research"), tools=load_registry(["research"]))

    grounding = check("80 EUR at https://evil.xyz/pay", told.evidence())
    named = check("80 EUR, says fares.example.com", told.evidence())

    assert [violation.reason for violation in grounding.violations] == ["page", "no_source"]
    assert named.violations == ()


def test_names_of_tools_and_scopes_are_no_links(reply_input: Callable[..., ReplyInput]) -> None:
    """A scope that a user has to grant may be named, although it looks like a host."""
    told = reply_input(agent="assistant")

    assert check("You have not granted calendar.availability.read.", told.evidence()).violations == ()


def test_what_a_person_of_the_team_said_may_be_repeated(reply_input: Callable[..., ReplyInput]) -> None:
    """An amount in the message of a person who took the conversation over has a source; one of the agent's has none."""
    history = [Exchange("How much?", "It costs 900 EUR."), Exchange("", "You pay 80 EUR.", author="Dana")]
    told = reply_input(history=history)

    grounding = check("You pay 80 EUR, not 900 EUR.", told.evidence())

    assert [violation.text for violation in grounding.violations] == ["900 EUR"]
    assert [(one.text, one.step, one.path) for one in grounding.sources] == [("80 EUR", "agent", "history")]


def test_a_day_that_a_tool_was_asked_about_may_be_said(reply_input: Callable[..., ReplyInput]) -> None:
    """A result need not repeat it: "no flights on 6 May". An amount in the arguments is no price."""
    args = {"day": "2027-05-06", "budget": "900 EUR"}
    asked = StepResult(id="f", tool="flights.search", args=args, status="succeeded", result=[])
    told = reply_input(asked)

    grounding = check("No flights on 6 May 2027, and none for 900 EUR. On 7 May 2027 neither.", told.evidence())

    assert [(one.text, one.step, one.path) for one in grounding.sources] == [("6 May 2027", "f", "args.day")]
    assert [violation.text for violation in grounding.violations] == ["900 EUR", "7 May 2027"]

"""The offline model reads an answer from passages, and notices where they disagree."""

from pathlib import Path
from typing import Any

import pytest

from turnloom.models.runtime.settings import ROOT
from turnloom.planner.llm.offline.answers import answered
from turnloom.planner.llm.offline.rules import Domain, load_rules

QUESTION, SUBJECT = "How long does the crossing to Sandholm take?", "crossing to Sandholm"


@pytest.fixture
def research() -> Domain:
    folder: Path = ROOT / "prompts" / "offline"
    return next(domain for domain in load_rules(folder).domains if domain.name == "research")


def results(*passages: str) -> dict[str, Any]:
    """Return the results of a search, with one document per passage."""
    entries = [{"document": f"d{n}", "title": f"D{n}", "passage": text} for n, text in enumerate(passages)]
    return {"results": entries}


def test_one_answer_is_given_with_its_title(research: Domain) -> None:
    """The sentence with most words of the question is taken, if it has an answer of the right kind."""
    found = results("The ferry is old. The crossing to Sandholm takes 25 minutes. A bus to Sandholm takes 3 hours.")

    facts = answered(QUESTION, SUBJECT, research, {"found": found})

    assert facts["agreed"]
    assert facts["answer"] == "The crossing to Sandholm takes 25 minutes. (D0)"
    assert "disputed" not in facts


def test_documents_that_disagree_are_claims_of_each(research: Domain) -> None:
    """Each claim names its document and carries the passage. A document found by two searches counts once."""
    found = results("The crossing to Sandholm takes 25 minutes.", "The crossing to Sandholm takes 40 minutes.")

    facts = answered(QUESTION, SUBJECT, research, {"found": found, "more": found})

    assert facts["disputed"]
    assert [(claim["value"], claim["source"]) for claim in facts["claims"]] == [
        ("25 minutes", "d0"),
        ("40 minutes", "d1"),
    ]
    assert facts["sources"] == [{"$from": "found.results[0]"}, {"$from": "found.results[1]"}]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Who built the crossing to Sandholm?", results("The crossing to Sandholm takes 25 minutes.")),
        (QUESTION, results("The crossing to Sandholm is long.")),
        (QUESTION, results("The bus takes 25 minutes.")),
        (QUESTION, {"results": ["… 3 more"]}),
        (QUESTION, {"results": []}),
        (QUESTION, "…"),
    ],
)
def test_passages_without_an_answer_give_none(research: Domain, question: str, found: Any) -> None:
    """The question is of an unknown kind, the passages are about something else, or the results were cut."""
    assert answered(question, SUBJECT, research, {"found": found}) == {}


def test_it_is_asked_after_all_others(research: Domain) -> None:
    """Nearly every question could be for documents, so more specific rules go first."""
    assert load_rules(ROOT / "prompts" / "offline").domains[-1] is research

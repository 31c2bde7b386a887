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
    """Return what a search found, as one document per passage."""
    entries = [{"document": f"d{n}", "title": f"D{n}", "passage": text} for n, text in enumerate(passages)]
    return {"results": entries}


def test_one_answer_is_given_with_its_title(research: Domain) -> None:
    """The sentence that has most words of the subject, and an answer of the kind that is asked for."""
    found = results("The ferry is old. The crossing to Sandholm takes 25 minutes. A bus to Sandholm takes 3 hours.")

    facts = answered(QUESTION, SUBJECT, research, {"found": found})

    assert facts["agreed"]
    assert facts["answer"] == "The crossing to Sandholm takes 25 minutes. (D0)"
    assert "disputed" not in facts


def test_documents_that_disagree_are_claims_of_each(research: Domain) -> None:
    """Each names its document, and the passage is handed on; a document speaks once, whichever search found it."""
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
def test_what_holds_no_answer_gives_none(research: Domain, question: str, found: Any) -> None:
    """A kind of question that it does not know, passages about something else, results that were cut short."""
    assert answered(question, SUBJECT, research, {"found": found}) == {}


def test_it_is_asked_after_all_others(research: Domain) -> None:
    """Nearly every question could be for documents, so rules that know better go first."""
    assert load_rules(ROOT / "prompts" / "offline").domains[-1] is research

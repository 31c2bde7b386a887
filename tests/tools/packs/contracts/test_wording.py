"""Every template that knows a shipped tool can word any result of the tool."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.tools.packs.contracts.cases import Case, Valid
from tests.tools.packs.contracts.test_contracts import CONTRACTS, MakeContext, called
from turnloom.models.runtime.settings import settings
from turnloom.planner.draft.samples import leaked, samples
from turnloom.planner.llm.offline.plans import _fitting
from turnloom.planner.llm.offline.prompt import Sent, read_request
from turnloom.planner.llm.offline.responses import write
from turnloom.planner.llm.offline.rules import Domain, load_rules
from turnloom.planner.prompts import Prompts, prompts_in
from turnloom.planner.reply.expiry import expiry

CASES = [
    pytest.param(pack, name, case, id=f"{pack}-{name}-{number}")
    for pack, contract in CONTRACTS.items()
    for name, cases in contract.items()
    for number, case in enumerate(cases, 1)
    if isinstance(case, Valid)
]
BESIDE = {
    ("responding/present_best_two_options", "dates.resolve_hint"),
    ("responding/show_updated_options", "dates.resolve_hint"),
    ("responding/show_updated_options", "pms.generate_booking_link"),
}
"""Templates that word a tool's result only beside another's."""
OWN_WORDS = {"sim.echo", "sim.text"}
"""Tools whose result is the caller's own text, which may be JSON."""
DOMAINS = load_rules(settings().prompts_dir / "offline").domains


@pytest.fixture
def prompts() -> Prompts:
    return prompts_in(settings().prompts_dir)


@pytest.mark.parametrize(("pack", "name", "case"), CASES)
def test_each_result_can_be_said(
    pack: str,
    name: str,
    case: Case,
    make_context: MakeContext,
    request: pytest.FixtureRequest,
    prompts: Prompts,
) -> None:
    """The offline report and each reply template that names the tool become text, without Python and without JSON."""
    result = called(pack, name, case, make_context, request).data

    texts = dict(_written(prompts, name, result))
    assert "offline/report" in texts
    for template, text in texts.items():
        source = prompts.in_effect(template).text
        assert text or (template, name) in BESIDE, template
        assert leaked(text, source) is None, (template, text)
        assert name in OWN_WORDS or '{"' not in text, (template, text)


def _written(prompts: Prompts, name: str, result: Any) -> Iterator[tuple[str, str]]:
    step = {"tool": name, "status": "succeeded", "result": result}
    yield "offline/report", write(_asked(step), prompts.folders[0])
    for path in sorted((prompts.folders[0] / "responding").rglob("*.j2")):
        template = str(path.relative_to(prompts.folders[0]).with_suffix(""))
        if f'"{name}"' in path.read_text():
            label = name.rsplit(".", 1)[-1].replace("_", " ")
            expires = expiry(result, datetime.now(UTC))
            labelled = {**step, "label": label, "fields": [], "named": [], "expires": expires}
            usual = next(samples(template, prompts.in_effect(template).inputs))
            given = {"steps": [labelled], "results": {name: result}, "problems": "", "question": None}
            yield template, prompts.render(template, **{**usual, **{k: v for k, v in given.items() if k in usual}}).text


def _asked(step: dict[str, Any]) -> Sent:
    content = f"<message>\n{json.dumps('And?')}\n</message>\n<results>\n{_escaped([step])}\n</results>"
    return read_request({"messages": [{"role": "user", "content": content}]})


def _escaped(value: Any) -> str:
    return json.dumps(value).replace("<", "\\u003c")


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_no_text_of_a_rule_names_what_may_be_unknown(domain: Domain) -> None:
    """A text is left out unless all its names are known."""
    for action in (*domain.actions, *domain.replies, *domain.hints):
        said = _fitting([action], dict.fromkeys(action.conditions, True))

        assert said is None or "{" not in said, action.text

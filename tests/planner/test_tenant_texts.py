"""A tenant's own texts replace the shipped ones if they can be used."""

import hashlib
import re
from typing import Any

import pytest

from turnloom.models.contracts.override import NO_OVERRIDES, Override, Overrides
from turnloom.models.errors import Invalid
from turnloom.planner.tenant_texts import Tailored, tailor

PROBLEMS = (
    "---\nname: fragments/problems\nversion: 9\ninputs: [steps]\n---\n"
    "{% for step in steps %}{{ step.label }}!{% endfor %}"
)
PIRATE = "---\nname: styles/pirate\nversion: 1\ninputs: []\n---\nTalk like a pirate."


def tailored(**texts: str) -> Tailored:
    """Return the texts in effect with these overrides; `__` stands for the slash in a name."""
    return tailor(Overrides({name.replace("__", "/"): Override(text, "ledger") for name, text in texts.items()}))


def inputs(**changed: Any) -> dict[str, Any]:
    return {
        "steps": [{"label": "wait", "tool": "sim.wait", "status": "failed", "code": "CONFLICT"}],
        "bound": None,
    } | changed


def test_own_prompt_is_rendered_in_place_of_the_shipped_one() -> None:
    """It need not declare every input of the shipped one. Its source distinguishes it from all other texts."""
    rendered = tailored(fragments__problems=PROBLEMS).prompts.render("fragments/problems", **inputs())

    assert rendered.text == "wait!"
    assert rendered.source == f"fragments/problems@9+{hashlib.sha256(PROBLEMS.encode()).hexdigest()[:8]}"


def test_others_keep_what_is_shipped() -> None:
    """A tenant's text has no effect on other tenants."""
    tailored(fragments__problems=PROBLEMS)

    rendered = tailor(NO_OVERRIDES).prompts.render("fragments/problems", **inputs())

    assert "wait!" not in rendered.text
    assert "+" not in rendered.source


def test_own_prompt_that_fails_gives_way_to_the_shipped_one() -> None:
    """A text that works with the samples may fail on a turn's data. The turn then uses the shipped one."""
    text = PROBLEMS.replace("step.label", "step.label if step.code != 'CONFLICT' else step.label.nothing")
    prompts = tailored(fragments__problems=text).prompts

    other = prompts.render("fragments/problems", **inputs(steps=[{"label": "wait", "status": "failed", "code": "X"}]))
    failed = prompts.render("fragments/problems", **inputs())

    assert other.text == "wait!"
    assert failed == tailor(NO_OVERRIDES).prompts.render("fragments/problems", **inputs())


def test_partial_profile_changes_its_fields_only() -> None:
    """Fields that a tenant leaves out of an agent keep their shipped values."""
    shipped = tailor(NO_OVERRIDES).agents.get("travel")

    own = tailored(agents__travel="persona: You are a butler.\nmax_parallel: 2").agents.get("travel")

    assert (own.persona, own.max_parallel) == ("You are a butler.", 2)
    same = {"persona": shipped.persona, "max_parallel": shipped.max_parallel}
    assert own.model_dump() | same == shipped.model_dump()
    assert own.source.startswith(f"{shipped.source}+")


def test_tenant_may_have_styles_and_agents_of_its_own() -> None:
    """The tenant adds a style, and an agent that uses it."""
    agent = "version: 1\ndescription: d\npersona: p\ntools: []\nmodes: [auto]\nmode: auto\nstyle: pirate"

    own = tailored(agents__captain=agent, styles__pirate=PIRATE, agents__zed="surprise: 1")

    assert own.refused.keys() == {"agents/zed"}
    assert own.agents.get("captain").style == "pirate"
    assert own.prompts.render("styles/pirate").text == "Talk like a pirate."


def test_tenant_may_have_reply_templates_of_its_own() -> None:
    """A tenant's agent may use one as its hint. If it fails, the results template is used."""
    front = "---\nname: responding/cheer\nversion: 1\ninputs: [action]\n---\n"
    text = front + "Hurray{{ action.nothing if action == 'sink' else '' }}!"
    own = tailored(responding__cheer=text, agents__travel="hints: [cheer]")
    results = dict.fromkeys(own.prompts.get("responding/results").inputs)
    results |= {"steps": [], "problems": "", "action": "sail"}

    said = own.prompts.render("responding/cheer", **results)
    failed = own.prompts.render("responding/cheer", **results | {"action": "sink"})

    assert own.refused == {}
    assert said.text == "Hurray!"
    assert failed.source.startswith("responding/results@")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("fragments/problems", "no front matter", "front matter"),
        ("fragments/problems", PROBLEMS.replace("name: fragments/problems", "name: other"), "must name it"),
        ("fragments/problems", PROBLEMS.replace("[steps]", "[steps, secrets]"), "may declare the inputs"),
        ("fragments/problems", PROBLEMS.replace("[steps]", "[]"), "declare its inputs"),
        ("fragments/problems", PROBLEMS.replace("step.label", "step.nothing"), "nothing"),
        ("fragments/problems", PROBLEMS.replace("step.label", "step.label.upper"), "<built-in"),
        ("fragments/problems", PROBLEMS.replace("step.label", "step.__class__"), "unsafe"),
        ("fragments/problems", PROBLEMS + "{% macro f() %}{% endmacro %}", "Macro"),
        ("fragments/problems", PROBLEMS + "a" * 70_000, "65536 bytes"),
        ("fragments/problems", PROBLEMS.replace("version: 9", "version: &a [*a]"), "alias"),
        ("fragments/nothing", PROBLEMS, "there is no prompt 'fragments/nothing'"),
        ("offline/report", PROBLEMS, "cannot have a text of this name"),
        ("../secrets", PROBLEMS, "cannot have a text of this name"),
        ("agents/travel", "persona: [", "agents/travel"),
        ("agents/travel", "- persona", "fields"),
        ("agents/travel", "name: other", "describes the agent 'other'"),
        ("agents/travel", "surprise: 1", "surprise"),
        ("agents/travel", "style: shouted", "styles/shouted"),
        ("agents/travel", "hints: [no_such_template]", "responding/no_such_template"),
        ("agents/travel", "max_parallel: 0", "max_parallel"),
        ("agents/new", "persona: p", "agents/new"),
        ("playbooks/new", "name: new", "playbooks/new"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused(name: str, text: str, why: str) -> None:
    """Writing it gives a sentence with the reason. On loading it is left out, and the shipped text counts."""
    with pytest.raises(Invalid, match=why):
        tailor(NO_OVERRIDES).with_text(name, text)

    loaded = tailor(Overrides({name: Override(text, "file")}))

    assert re.search(why, loaded.refused[name])
    assert loaded.prompts.own == {}
    assert loaded.agents == tailor(NO_OVERRIDES).agents


def test_the_same_texts_are_read_once() -> None:
    """While a tenant's texts do not change, they are not compiled again."""
    own = Overrides({"styles/pirate": Override(PIRATE, "ledger")})

    assert tailor(own) is tailor(own)

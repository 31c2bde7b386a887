"""The words of what is no reply: a request to approve a call, and why an answer changed nothing.

In: what the ledger says of them.  Out: text in the language of the prompts.  Pure.
"""

from collections.abc import Mapping
from typing import Any

from turnloom.planner.languages.language import Language
from turnloom.planner.languages.readable_values import readable
from turnloom.planner.prompts import Prompts
from turnloom.planner.reply.result_fields import result_fields
from turnloom.tools.registry import Tool

_LONGEST_VALUE = 1_000
"""Most characters of an argument that are shown."""


def request_text(name: str, args: Mapping[str, Any], tool: Tool | None, prompts: Prompts) -> str:
    """Return the question whether a call may be made. It shows each argument in one line, so that none can pose as two.

    `tool` has the titles of the arguments; None if it is no longer enabled.
    """
    language = prompts.language
    fields = result_fields(dict(args), tool.input_schema if tool else {}, language)
    shown = [{"title": field.title or "-", "value": _in_a_line(language, field.value)} for field in fields]
    what = _capital(language.text(name.rpartition(".")[2].replace("_", " ")))
    return prompts.render("responding/approval_request", what=what, shown=shown).text


def moot_text(why: str, prompts: Prompts) -> str:
    """Return why an answer changed nothing. `why`: approved, rejected, expired, revised or withdrawn."""
    return prompts.render("responding/moot_answer", moot=why).text


def yes_and_no(language: Language) -> tuple[str, str]:
    """Return what the buttons of a request say."""
    return _capital(language.text("yes")), _capital(language.text("no"))


def _in_a_line(language: Language, value: Any) -> str:
    text = " ".join(readable(language, value).split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

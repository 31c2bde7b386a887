"""The check compares a final turn with its expectations.

In: the turn as the API shows it.  Out: the first difference, in words.  Pure.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from turnloom.models.errors import ToolFailed
from turnloom.planner.plan.graph import transitive_closure
from turnloom.planner.plan.references import resolve_args
from turnloom.workers.evals.conversations import Expected
from turnloom.workers.evals.values import difference

_QUESTION_MARKS = "?\uff1f\u061f"
"""English, Japanese and Arabic ones."""

Turn = Mapping[str, Any]
"""A turn as `GET /v1/turns/{id}` shows it."""


def first_difference(expected: Expected, turn: Turn, slots: Mapping[str, Any], today: date) -> str | None:
    """Return the first difference between a turn and its expectations, in words; None if there is none.

    `slots`: the conversation's slots after it.
    """
    checks: Sequence[Callable[[], str | None]] = (
        lambda: _status(expected, turn) or _differs("error", expected.error, _error(turn)),
        lambda: _effects(expected, turn, today),
        lambda: _tools(expected, turn),
        lambda: _args(expected, turn, today),
        lambda: _edges(expected, turn),
        lambda: _side_by_side(expected, turn),
        lambda: _outcomes(expected, turn),
        lambda: difference(expected.slots, slots, today, "slots"),
        lambda: None if expected.output is None else difference(expected.output, turn["output"], today, "output"),
        lambda: _reply(expected, turn, today),
        lambda: _counts(expected, turn),
    )
    return next((found for check in checks if (found := check())), None)


def _status(expected: Expected, turn: Turn) -> str | None:
    fine = expected.status if isinstance(expected.status, list) else [expected.status]
    return None if turn["status"] in fine else f"status: {turn['status']!r}, expected {' or '.join(map(repr, fine))}"


def _effects(expected: Expected, turn: Turn, today: date) -> str | None:
    if expected.effects is None:
        return None
    done = [step for step in turn["steps"] if step["effect"] != "read" and step["status"] == "succeeded"]
    tools = sorted({step["tool"] for step in done})
    if differs := _differs("effects", sorted(expected.effects), tools):
        return differs
    results = {step["id"]: step["result"] for step in turn["steps"] if step["status"] == "succeeded"}
    for tool, wanted in expected.effects.items():
        calls = [step for step in done if step["tool"] == tool]
        found = [{**_resolved(call["args"], results), **(call["result"] or {})} for call in calls]
        differences = [difference(wanted, one, today, tool) for one in found]
        if None not in differences:
            return differences[0]
    return None


def _tools(expected: Expected, turn: Turn) -> str | None:
    if expected.tools is None:
        return None
    found = Counter(step["tool"] for step in turn["steps"])
    return _differs("tools", sorted(expected.tools), sorted(found.elements()))


def _args(expected: Expected, turn: Turn, today: date) -> str | None:
    results = {step["id"]: step["result"] for step in turn["steps"] if step["status"] == "succeeded"}
    for tool, wanted in expected.args.items():
        calls = [_resolved(step["args"], results) for step in turn["steps"] if step["tool"] == tool]
        differences = [difference(wanted, args, today, tool) for args in calls]
        if None not in differences:
            return differences[0] if differences else f"{tool} is not called"
    return None


def _resolved(args: Mapping[str, Any], results: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return resolve_args(args, results)
    except (LookupError, ToolFailed):
        return args


def _edges(expected: Expected, turn: Turn) -> str | None:
    for edge in expected.edges:
        before, _, after = edge.partition(" -> ")
        ids = {step["id"] for step in turn["steps"] if step["tool"] == before}
        if not any(ids.intersection(step["needs"]) for step in turn["steps"] if step["tool"] == after):
            return f"no call of {after} waits for one of {before}"
    return None


def _side_by_side(expected: Expected, turn: Turn) -> str | None:
    known = {step["id"] for step in turn["steps"]}
    ancestors = transitive_closure({step["id"]: [n for n in step["needs"] if n in known] for step in turn["steps"]})
    concerned = {step["id"]: step["tool"] for step in turn["steps"] if step["tool"] in expected.side_by_side}
    for step, tool in concerned.items():
        for before in concerned.keys() & set(ancestors[step]):
            return f"{tool} waits for {concerned[before]}"
    return None


def _outcomes(expected: Expected, turn: Turn) -> str | None:
    for tool, status in expected.outcomes.items():
        found = sorted({step["status"] for step in turn["steps"] if step["tool"] == tool})
        if found != [status]:
            return _differs(f"status of {tool}", [status], found)
    for tool in expected.remembered:
        found = sorted({step["cache"] or "a call" for step in turn["steps"] if step["tool"] == tool})
        if found != ["memory"]:
            return f"{tool} comes from {' and '.join(found) or 'nowhere'}, expected memory"
    return None


def _reply(expected: Expected, turn: Turn, today: date) -> str | None:
    reply = turn["reply"] or {"text": "", "artifacts": [], "question": None, "grounded": None}
    question = reply["question"] or {"fields": [], "choices": {}}
    kinds = [artifact["kind"] for artifact in reply["artifacts"]]
    asks = bool(reply["question"]) or any(mark in reply["text"] for mark in _QUESTION_MARKS)
    return (
        _differs("hint", expected.hint, turn["synthesis_hint"])
        or _missing(expected.artifacts, kinds)
        or _differs("asks", expected.asks, asks)
        or _differs("grounded", expected.grounded, reply["grounded"])
        or _differs("question", None if expected.question is None else sorted(expected.question), question["fields"])
        or difference(expected.choices, question["choices"], today, "choices")
        or _mentions(expected, reply)
    )


def _missing(wanted: Sequence[str], kinds: Sequence[str]) -> str | None:
    missing = list((Counter(wanted) - Counter(kinds)).elements())
    return f"artifacts: {kinds!r}, expected {missing!r} too" if missing else None


def _mentions(expected: Expected, reply: Mapping[str, Any]) -> str | None:
    text, shown = reply["text"], f"{reply['text']} {json.dumps(reply['artifacts'], ensure_ascii=False)}".casefold()
    wanted = ([words] if isinstance(words, str) else words for words in expected.mentions)
    missing = [" or ".join(map(repr, some)) for some in wanted if not any(one.casefold() in shown for one in some)]
    told = [repr(words) for words in expected.omits if words.casefold() in shown]
    if missing:
        return f"the reply does not mention {', '.join(missing)}: {text!r}"
    return f"the reply mentions {', '.join(told)}: {text!r}" if told else None


def _counts(expected: Expected, turn: Turn) -> str | None:
    calls = turn["usage"]["llm_calls"]
    if expected.llm_calls is not None and calls > expected.llm_calls:
        return f"{calls} calls of the language model, expected {expected.llm_calls} at most"
    return _differs("revisions", expected.revisions, len(turn["plans"]))


def _error(turn: Turn) -> str | None:
    return turn["error"]["code"] if turn["error"] else None


def _differs(what: str, expected: Any, found: Any) -> str | None:
    """Compare an optional expectation: None expects nothing."""
    return None if expected is None or expected == found else f"{what}: {found!r}, expected {expected!r}"

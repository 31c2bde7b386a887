"""The report on golden conversations that were held: which passed, how surely they pass, and what their turns cost.

In: results of the runner.  Out: plain data.  Pure.
"""

import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from turnloom.workers.evals.proportions import mean, pass_power, wilson
from turnloom.workers.evals.runner import GoldenResult

_PLANNING = frozenset({"plan", "revision", "repair", "direct"})
"""Purposes of calls that draft a plan."""


def report(held: Sequence[GoldenResult], repeat: int) -> dict[str, Any]:
    """Return what came of each time that a conversation was held, of each conversation, and of all of them."""
    results = _results(held, repeat)
    return {"conversations": [_line(one) for one in held], "results": results, "total": _total(held, results, repeat)}


def junit(held: Sequence[GoldenResult]) -> bytes:
    """Return the results as JUnit XML, which systems for continuous integration show: a test case for each time."""
    failures = sum(one.difference is not None for one in held)
    suite = ElementTree.Element("testsuite", name="turnloom eval", tests=str(len(held)), failures=str(failures))
    for one in held:
        seconds = sum(turn["timings"]["total_ms"] or 0 for turn in one.turns) / 1000
        case = ElementTree.SubElement(
            suite, "testcase", classname=one.golden.agent, name=one.golden.name, time=f"{seconds:.3f}"
        )
        if one.difference is not None:
            ElementTree.SubElement(case, "failure", message=_printable(one.difference))
    written: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return written


def _printable(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(each if each.isprintable() else " " for each in text)


def _results(held: Sequence[GoldenResult], repeat: int) -> list[dict[str, Any]]:
    """Return a line for each conversation."""
    passed: dict[str, list[bool]] = {}
    for one in held:
        passed.setdefault(one.name, []).append(one.difference is None)
    return [
        {
            "name": name,
            "passed": sum(each),
            "held": len(each),
            "pass_1": sum(each) / len(each),
            "pass_1_interval": list(wilson(sum(each) / len(each), len(each))),
            "pass_k": pass_power(sum(each), len(each), min(repeat, len(each))),
        }
        for name, each in passed.items()
    ]


def _total(held: Sequence[GoldenResult], results: Sequence[dict[str, Any]], repeat: int) -> dict[str, Any]:
    turns = [turn for one in held for turn in one.turns]
    used = [turn["usage"] for turn in turns]
    times_ms = sorted(turn["timings"]["total_ms"] for turn in turns)
    return {
        "conversations": len(held),
        "passed": sum(one.difference is None for one in held),
        "repeat": repeat,
        **_shares(results),
        "turns": len(turns),
        **{name: sum(usage[name] for usage in used) for name in ("llm_calls", "prompt_tokens", "completion_tokens")},
        **_troubles(turns, [call for one in held for call in one.calls]),
        "cost": None if any(usage["cost"] is None for usage in used) else sum(usage["cost"] for usage in used),
        "p50_ms": _percentile(times_ms, 50),
        "p95_ms": _percentile(times_ms, 95),
    }


def _shares(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return pass@1 and pass^k over all conversations.

    The intervals count conversations, not times: repetitions of one conversation are not independent of each other.
    """
    shares: dict[str, Any] = {}
    for name in ("pass_1", "pass_k"):
        shares[name] = mean([result[name] for result in results])
        shares[f"{name}_interval"] = list(wilson(shares[name], len(results)))
    return shares


def _troubles(turns: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Count the plans that were repaired, those that were refused after it too, and those that ended in the middle."""
    planning = [call for call in calls if call["purpose"] in _PLANNING]
    return {
        "repaired": sum(call["purpose"] == "repair" for call in planning),
        "refused": sum((turn["error"] or {}).get("code") == "invalid_plan" for turn in turns),
        "truncated": sum(call["finish_reason"] in ("length", "cut") for call in planning),
    }


def _line(held: GoldenResult) -> dict[str, Any]:
    turns = [turn["turn_id"] for turn in held.turns]
    return {"name": held.name, "passed": held.difference is None, "difference": held.difference, "turns": turns}


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return the value that this percentage of the values does not exceed."""
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] if ordered else None

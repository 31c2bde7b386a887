"""Compare a replayed turn with its record, by structure.

In: both turns.  Out: each way in which they differ, in words. Ids of steps, the order of independent steps, defaults
that one side spells out, and the wording of a reply are no difference. Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, get_args

from turnloom.models.contracts.replay import Aspect, Difference, DifferenceKind, StepRecord, Tolerances, TurnRecord
from turnloom.tools.call_identity import plain_numbers
from turnloom.tools.masking import masked
from turnloom.tools.registry import Tool
from turnloom.workers.replay.differences import (
    count_differences,
    figure_difference,
    hidden_difference,
    listed,
    value_difference,
)
from turnloom.workers.replay.edges import edge_differences
from turnloom.workers.replay.matching import ABSENT, Matching, Pair, canonical, different_parts, match

USUAL = Tolerances()
_FOREIGN: Mapping[str, Tool] = MappingProxyType({})
_MOST_PARTS = 20
"""Most differences of one call's arguments, or of the slots, that are listed."""
_PLACES = {aspect: place for place, aspect in enumerate(get_args(Aspect))}


def compare(
    recorded: TurnRecord,
    replayed: TurnRecord,
    tools: Mapping[str, Tool] = _FOREIGN,
    tolerances: Tolerances = USUAL,
) -> list[Difference]:
    """Return the differences, in an order that depends on nothing but them.

    `tools` are ours, by name; the arguments of others are compared as they were written.
    """
    matching = match(recorded.steps, replayed.steps, tools)
    found = [
        *_tools(matching, recorded, replayed),
        *(each for pair in matching.pairs for each in _arguments(pair, tools)),
        *(() if "edges" in recorded.unrecorded else edge_differences(matching, recorded.steps, replayed.steps)),
        *_slots(recorded, replayed),
        *_artifacts(recorded, replayed),
        *_question(recorded, replayed),
        *_grounding(recorded, replayed),
        *count_differences("policy", Counter(recorded.violations), Counter(replayed.violations), "is broken"),
        *_usage(recorded, replayed, tolerances),
        *_latency(recorded, replayed, tolerances),
        *_status(matching, recorded, replayed),
    ]
    known = [each for each in found if each.aspect not in recorded.unrecorded]
    return sorted(known, key=lambda each: (_PLACES[each.aspect], each.subject, each.text))


def _tools(matching: Matching, recorded: TurnRecord, replayed: TurnRecord) -> Iterator[Difference]:
    concerned = {call.step.tool for call in (*matching.gone, *matching.new)}
    was = Counter(step.tool for step in recorded.steps if step.tool in concerned)
    now = Counter(step.tool for step in replayed.steps if step.tool in concerned)
    return count_differences("tools", was, now, "is called")


def _arguments(pair: Pair, tools: Mapping[str, Tool]) -> Iterator[Difference]:
    parts = pair.parts()
    tool = pair.replayed.step.tool
    secret = tools[tool].redact if tool in tools else frozenset()
    for path, was, now in parts[:_MOST_PARTS]:
        if secret.intersection(path.replace("[", ".").split(".")):
            yield hidden_difference("arguments", f"{tool}.{path}", f"{tool}: {path}")
        else:
            yield _argument(pair, path, masked(was, secret), masked(now, secret))
    if len(parts) > _MOST_PARTS:
        text = f"{tool}: {len(parts) - _MOST_PARTS} further parts of its arguments differ"
        yield Difference(aspect="arguments", subject=tool, text=text)


def _argument(pair: Pair, path: str, was: Any, now: Any) -> Difference:
    """Return that an argument differs. If one side left it out, its value there is the tool's default."""
    is_given = (path in pair.recorded.step.args, path in pair.replayed.step.args)
    default = ABSENT
    if is_given == (True, False):
        now, default = ABSENT, now
    elif is_given == (False, True):
        was, default = ABSENT, was
    tool = pair.replayed.step.tool
    return value_difference("arguments", f"{tool}.{path}", f"{tool}: {path}", was, now, default)


def _slots(recorded: TurnRecord, replayed: TurnRecord) -> Iterator[Difference]:
    parts = different_parts(plain_numbers(recorded.slots), plain_numbers(replayed.slots))
    for path, was, now in islice(parts, _MOST_PARTS):
        yield value_difference("slots", path, f"slot {path}", was, now)


def _artifacts(recorded: TurnRecord, replayed: TurnRecord) -> Iterator[Difference]:
    """Yield kinds that are there more or less often, and, where a kind is there as often, other sizes."""
    was, now = _by_kind(recorded), _by_kind(replayed)
    before, after = (Counter({kind: len(sizes) for kind, sizes in side.items()}) for side in (was, now))
    yield from count_differences("artifacts", before, after, "is shown")
    for kind in sorted(was.keys() & now.keys()):
        if len(was[kind]) == len(now[kind]) and was[kind] != now[kind]:
            yield value_difference("artifacts", kind, f"size of {kind}", _alone(was[kind]), _alone(now[kind]))


def _by_kind(turn: TurnRecord) -> dict[str, list[Any]]:
    """Return the sizes of the artifacts of each kind."""
    sizes: dict[str, list[Any]] = defaultdict(list)
    for each in turn.artifacts:
        sizes[str(each.get("kind"))].append(each.get("size"))
    return {kind: sorted(found, key=canonical) for kind, found in sizes.items()}


def _alone(sizes: list[Any]) -> Any:
    return sizes[0] if len(sizes) == 1 else sizes


def _question(recorded: TurnRecord, replayed: TurnRecord) -> Iterator[Difference]:
    """Yield other fields that the user is asked for, and other choices of those that both ask for."""
    was, now = _asked(recorded), _asked(replayed)
    if was.keys() != now.keys():
        asked = [listed(side) if side else "nothing" for side in (was, now)]
        kind: DifferenceKind = "added" if not was else "removed" if not now else "changed"
        text = f"the reply asks for {asked[1]}, asked for {asked[0]}"
        yield Difference(
            aspect="question", kind=kind, text=text, recorded=sorted(was) or None, replayed=sorted(now) or None
        )
    for field in sorted(was.keys() & now.keys()):
        if was[field] != now[field]:
            yield value_difference("question", field, f"choices of {field}", was[field], now[field])


def _asked(turn: TurnRecord) -> dict[str, list[Any]]:
    """Return the fields that the user is asked for, each with its choices in an order of their own."""
    asked = turn.question or {}
    choices = asked.get("choices") or {}
    return {field: sorted(choices.get(field) or [], key=canonical) for field in asked.get("fields") or []}


def _grounding(recorded: TurnRecord, replayed: TurnRecord) -> Iterator[Difference]:
    was, now = recorded.grounded, replayed.grounded
    if was is not None and was != now:
        said = {True: "grounded", False: "not grounded", None: "not checked"}
        text = f"the reply is {said[now]}, was {said[was]}"
        yield Difference(aspect="grounding", text=text, recorded=was, replayed=now)


def _usage(recorded: TurnRecord, replayed: TurnRecord, tolerances: Tolerances) -> Iterator[Difference]:
    if recorded.usage is None or replayed.usage is None:
        return
    figures = (
        ("calls of the language model", recorded.usage.llm_calls, replayed.usage.llm_calls, "{:,}"),
        ("tokens", recorded.usage.tokens, replayed.usage.tokens, "{:,}"),
        ("cost", recorded.usage.cost, replayed.usage.cost, "{:.6f} USD"),
    )
    for subject, was, now, form in figures:
        if was is not None and now is not None and _are_apart(was, now, tolerances.usage * was):
            yield figure_difference("usage", subject, was, now, form)


def _latency(recorded: TurnRecord, replayed: TurnRecord, tolerances: Tolerances) -> Iterator[Difference]:
    was, now = recorded.latency_ms, replayed.latency_ms
    if was is None or now is None:
        return
    if _are_apart(was, now, max(tolerances.latency * was, tolerances.latency_ms)):
        yield figure_difference("latency", "", was, now, "{:,.0f} ms")


def _are_apart(was: float, now: float, by: float) -> bool:
    # 0.010 and 0.009 are a little more than 0.001 apart, in floats.
    return abs(now - was) > by * (1 + 1e-9)


def _status(matching: Matching, recorded: TurnRecord, replayed: TurnRecord) -> Iterator[Difference]:
    steps = (
        (pair.replayed.step.tool, _ending(pair.recorded.step), _ending(pair.replayed.step)) for pair in matching.pairs
    )
    for subject, was, now in (("", _ending(recorded), _ending(replayed)), *steps):
        if was != now:
            text = f"{subject or 'the turn'} ended {now}, was {was}"
            yield Difference(aspect="status", subject=subject, text=text, recorded=was, replayed=now)


def _ending(ended: TurnRecord | StepRecord) -> str:
    """Return a turn's or a step's status, with the code of its error."""
    code = (ended.error or {}).get("code")
    return f"{ended.status} ({code})" if code else ended.status

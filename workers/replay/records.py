"""Put turns into the form in which they are compared, whether they were recorded or replayed. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnloom.models.contracts.replay import StepRecord
from turnloom.models.contracts.turn import Usage
from turnloom.models.contracts.usage import LlmCall
from turnloom.planner.plan.graph import critical_path

_SIZED = {"table": "rows", "comparison": "options", "itinerary": "days", "card": "facts"}


def artifact_shapes(artifacts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return of each artifact its kind and size."""
    return [{"kind": each["kind"], "size": _size(each)} for each in artifacts]


def _size(artifact: Mapping[str, Any]) -> int:
    field = _SIZED.get(artifact["kind"])
    return len(artifact["data"].get(field) or ()) if field else 1


def violations(plans: Iterable[Mapping[str, Any]], reply: Mapping[str, Any]) -> list[str]:
    """Return the rules that were broken on the way to a reply, from the traces of its plans and of itself."""
    found = []
    for trace in plans:
        found += ["plan.repaired"] if trace.get("repaired") else []
        found += [f"plan.{fault['code']}" for fault in trace.get("faults") or ()]
    found += [f"reply.{refused['kind']}" for refused in reply.get("refused") or ()]
    return sorted(found)


def latency_ms(model_ms: float, steps: Sequence[StepRecord]) -> float | None:
    """Return the time of a turn: the model's, and that of its steps along the critical path of each revision.

    None if neither is known.
    """
    if not model_ms and not any(step.duration_ms for step in steps):
        return None
    total = model_ms
    for revision in {step.revision for step in steps}:
        own = {step.id: step for step in steps if step.revision == revision}
        needs = {name: [need for need in step.needs if need in own] for name, step in own.items()}
        total += critical_path(needs, {name: step.duration_ms for name, step in own.items()})
    return round(total, 3)


def model_ms(calls: Iterable[str], recorded: Mapping[str, Sequence[float]]) -> float:
    """Return how long calls of a language model take, as they were recorded.

    `calls` are their purposes, in order; `recorded` says how long the recorded ones took. A call that was not recorded
    takes as long as these on average.
    """
    times = [time for listed in recorded.values() for time in listed]
    average = sum(times) / len(times) if times else 0.0
    made: dict[str, int] = {}
    total = 0.0
    for purpose in calls:
        place = made[purpose] = made.get(purpose, -1) + 1
        listed = recorded.get(purpose, ())
        total += listed[place] if place < len(listed) else average
    return total


def usage_of(calls: Iterable[LlmCall]) -> Usage:
    """Return the sum of calls of a language model."""
    total = Usage(cost=0.0)
    for call in calls:
        total = total.plus(
            Usage(
                llm_calls=1,
                prompt_tokens=call.prompt_tokens,
                cached_tokens=call.cached_tokens,
                completion_tokens=call.completion_tokens,
                cost=call.cost,
            )
        )
    return total

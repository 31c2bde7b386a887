"""Compare a replayed turn with its record, by structure."""

from turnloom.models.contracts.replay import Difference, TurnRecord


def compare(recorded: TurnRecord, replayed: TurnRecord) -> list[Difference]:
    """Return the ways in which a replayed turn differs from the recorded one."""
    found = []
    calls = [[(step.tool, step.args) for step in each.steps] for each in (recorded, replayed)]
    tools = [sorted(tool for tool, _ in each) for each in calls]
    if tools[0] != tools[1]:
        found.append(Difference(aspect="tools", text=f"tools: {tools[1]}, was {tools[0]}"))
    elif calls[0] != calls[1]:
        text = "; ".join(f"{b[0]}: {b[1]}, was {a[1]}" for a, b in zip(*calls, strict=True) if a != b)
        found.append(Difference(aspect="arguments", text=text))
    for aspect, field in (
        ("status", "status"),
        ("slots", "slots"),
        ("artifacts", "artifacts"),
        ("question", "question"),
        ("grounding", "grounded"),
        ("policy", "violations"),
        ("usage", "usage"),
    ):
        before, after = getattr(recorded, field), getattr(replayed, field)
        if before != after and before is not None:
            text = f"{aspect}: {after}, was {before}"
            found.append(Difference(aspect=aspect, text=text, recorded=_plain(before), replayed=_plain(after)))
    return found


def _plain(value: object) -> object:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value

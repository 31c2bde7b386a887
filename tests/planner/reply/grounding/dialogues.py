"""Measure grounding on dialogues that people wrote over services of others, in the form of Schema-Guided Dialogue.

    python -m tests.planner.reply.grounding.dialogues FILE... [--every N] [-v]   # -v: also each reply judged wrongly

Of the replies that state figures it counts those that are refused. Each other one is altered: its last digits raised by
seven, figure by figure, or a value put in its place that another thing of the same result has. The files are those of
https://github.com/google-research-datasets/dstc8-schema-guided-dialogue, whose dialogues take place on 1 March 2019.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson

from tests.planner.reply.grounding.replies import raised
from turnloom.planner.reply.grounding import Evidence, Grounding, ResultOrigin, check

_NOW = datetime(2019, 3, 1, 9, tzinfo=UTC)
_NUMBER = re.compile(r"[\d$., ]+")


class Reply(NamedTuple):
    """A reply with the evidence that its dialogue had by then."""

    text: str
    evidence: Evidence
    actions: Sequence[Mapping[str, Any]]
    """What it tells: `slot`, `values` as they are said, and `canonical_values` as results have them."""
    listed: Sequence[Mapping[str, Any]]
    """The latest result."""


def replies(dialogue: Mapping[str, Any]) -> Iterator[Reply]:
    """Yield the replies of a dialogue."""
    evidence, listed, calls = Evidence(_NOW), (), 0
    for turn in dialogue["turns"]:
        if turn["speaker"] == "USER":
            evidence.add_said(turn["utterance"], "message")
            continue
        for frame in turn["frames"]:
            if call := frame.get("service_call"):
                calls, listed = calls + 1, frame.get("service_results", [])
                origin = ResultOrigin(f"{call['method']}_{calls}")
                evidence.add_asked(call["parameters"], origin)
                evidence.add_result(listed, origin)
        actions = [action for frame in turn["frames"] for action in frame["actions"]]
        yield Reply(turn["utterance"], evidence, actions, listed)


def altered(reply: Reply, found: Grounding) -> Iterator[tuple[str, str]]:
    """Yield the kinds and the texts of a reply's altered forms."""
    yield from (("raised", text) for text in raised(reply.text, found))
    for action in reply.actions:
        if (other := _of_another(reply, action)) is not None:
            yield "of another", reply.text.replace(action["values"][0], other, 1)


def _of_another(reply: Reply, action: Mapping[str, Any]) -> str | None:
    """Return the number that another thing of the result has in the place of one that a reply tells once."""
    if len(action["values"]) != 1 or reply.text.count(said := action["values"][0]) != 1:
        return None
    values = (str(one[action["slot"]]) for one in reply.listed if action["slot"] in one)
    others = (value for value in values if value != action["canonical_values"][0] and _NUMBER.fullmatch(value))
    found = next(others, None) if _NUMBER.fullmatch(said) and re.search(r"\d", said) else None
    return f"${found}" if found and said.startswith("$") and not found.startswith("$") else found


@click.command
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--every", default=1, help="Judge every Nth dialogue only.")
@click.option("-v", "is_wordy", is_flag=True, help="Print each reply that is judged wrongly.")
def main(files: Sequence[Path], every: int, *, is_wordy: bool) -> None:
    """Count the replies that are refused and the altered ones that are caught."""
    dialogues = (dialogue for file in files for dialogue in orjson.loads(file.read_bytes())[::every])
    judged: dict[str, Counter[bool]] = {}
    for reply in (reply for dialogue in dialogues for reply in replies(dialogue)):
        found = check(reply.text, reply.evidence)
        if not (found.sources or found.violations):
            continue
        judged.setdefault("right", Counter())[bool(found.violations)] += 1
        if found.violations and is_wordy:
            click.echo(f"refused: {reply.text} {[one.text for one in found.violations]}")
        for kind, text in () if found.violations else altered(reply, found):
            is_caught = bool(check(text, reply.evidence).violations)
            judged.setdefault(kind, Counter())[is_caught] += 1
            if not is_caught and is_wordy:
                click.echo(f"{kind}, passed: {text}")
    for kind, counts in judged.items():
        click.echo(f"{kind}: {counts[True]} of {counts.total()} refused, {counts[True] / counts.total():.1%}")


if __name__ == "__main__":
    main()

"""Hold golden conversations, and report which were not answered as expected: `turnloom eval`."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from turnloom.models.runtime.settings import settings
from turnloom.tools.command_output import json_option, print_json
from turnloom.workers.cli.chat import find_key
from turnloom.workers.cli.client import Api
from turnloom.workers.embedded.foreground import foreground
from turnloom.workers.embedded.stack import StackOptions
from turnloom.workers.evals.conversations import Golden, load_golden
from turnloom.workers.evals.runner import GoldenResult, hold

_PLANNING = frozenset({"plan", "revision", "repair", "direct"})
"""Purposes of calls that draft a plan."""


@click.command("eval")
@click.option("--agent", "agents", multiple=True, help="Only this agent's conversations.  [default: all agents']")
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File or folder of your own conversations.  [default: those under prompts/golden]",
)
@click.option("--base-url", default=None, help="Language model: an endpoint that speaks the OpenAI protocol.")
@click.option("--url", default=None, help="A running API, instead of a throw-away stack on this machine.")
@click.option("--key", default=None, help="Key to that API.  [default: TURNLOOM_API_KEY, or the embedded stack's]")
@click.option("--repeat", type=click.IntRange(1, 1000), default=1, show_default=True, help="Times to hold each one.")
@json_option
def evaluate(
    agents: tuple[str, ...], files: tuple[Path, ...], repeat: int, *, as_json: bool, **where: str | None
) -> None:
    """Hold golden conversations with the agents and check what the turns did, and what the replies mention.

    Exits with 1 if a conversation was not answered as expected.
    """
    if where["url"] and where["base_url"]:
        raise click.UsageError("a running API has its language model already: give --url or --base-url")
    conversations = load_golden(files or sorted((settings().prompts_dir / "golden").glob("*.yaml")), agents)
    with _api(**where) as api:
        held = list(_hold_all(api, conversations * repeat, quiet=as_json))
    report = _report(held)
    if as_json:
        print_json(report)
    else:
        _show(report["total"])
    raise SystemExit(0 if report["total"]["passed"] == len(held) else 1)


@contextmanager
def _api(url: str | None, key: str | None, base_url: str | None) -> Iterator[Api]:
    if url:
        with Api(url, find_key(key)) as api:
            yield api
        return
    options = StackOptions(data_dir=None, port=0, settings={"OPENAI_BASE_URL": base_url} if base_url else {})
    with foreground(options) as stack, Api(stack.url, stack.dev_key) as api:
        yield api


def _hold_all(api: Api, conversations: Sequence[Golden], *, quiet: bool) -> Iterator[GoldenResult]:
    console = Console(stderr=quiet, soft_wrap=True)
    for golden in track(conversations, "holding", console=console, transient=True, disable=not console.is_terminal):
        held = hold(api, golden)
        if not quiet:
            verdict = "[red]failed[/]" if held.difference else "[green]passed[/]"
            why = f" {escape(held.difference)}" if held.difference else ""
            console.print(f"{verdict} {held.name}{why}", highlight=False)
        yield held


def _report(held: Sequence[GoldenResult]) -> dict[str, Any]:
    turns = [turn for one in held for turn in one.turns]
    used = [turn["usage"] for turn in turns]
    times_ms = sorted(turn["timings"]["total_ms"] for turn in turns)
    total = {
        "conversations": len(held),
        "passed": sum(one.difference is None for one in held),
        "turns": len(turns),
        **{name: sum(usage[name] for usage in used) for name in ("llm_calls", "prompt_tokens", "completion_tokens")},
        **_troubles(turns, [call for one in held for call in one.calls]),
        "cost": None if any(usage["cost"] is None for usage in used) else sum(usage["cost"] for usage in used),
        "p50_ms": _percentile(times_ms, 50),
        "p95_ms": _percentile(times_ms, 95),
    }
    return {"conversations": [_line(one) for one in held], "total": total}


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


def _show(total: dict[str, Any]) -> None:
    cost = "cost not known" if total["cost"] is None else f"{total['cost']:.4f} USD"
    tokens = total["prompt_tokens"] + total["completion_tokens"]
    click.echo(f"{total['passed']} of {total['conversations']} conversations passed")
    if total["turns"]:
        click.echo(
            f"{total['turns']} turns, p50 {total['p50_ms']:.0f} ms, p95 {total['p95_ms']:.0f} ms;"
            f" {total['llm_calls']} calls of the language model, {tokens} tokens, {cost};"
            f" plans: {total['repaired']} repaired, {total['refused']} refused, {total['truncated']} truncated"
        )

"""Hold golden conversations, and report which were not answered as expected: `turnloom eval`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from turnloom.models.runtime.settings import settings
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.chat import find_key
from turnloom.workers.cli.client import Api
from turnloom.workers.cli.quality import metrics, nights, trend
from turnloom.workers.embedded.foreground import foreground
from turnloom.workers.embedded.stack import StackOptions
from turnloom.workers.evals.conversations import Golden, load_golden
from turnloom.workers.evals.report import junit, report
from turnloom.workers.evals.runner import GoldenResult, hold


@click.group("eval", invoke_without_command=True)
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
@click.option("--ci", is_flag=True, help="Print plain lines, without colours and a progress bar.")
@click.option(
    "--min-pass",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Share of conversations that must pass in all repetitions (pass^k); below it the exit code is 1.",
)
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    default=None,
    help="Also write the results to this file as JUnit XML.",
)
@json_option
@click.pass_context
def evaluate(context: click.Context, /, as_json: bool, **options: Any) -> None:
    """Hold golden conversations with the agents and check what the turns did, and what the replies mention.

    Exits with 1 if fewer conversations than --min-pass were answered as expected. The commands show
    how users' turns went.
    """
    if context.invoked_subcommand is None:
        _evaluate(**options, as_json=as_json)


evaluate.add_command(metrics)
evaluate.add_command(trend)
evaluate.add_command(nights)


def _evaluate(  # noqa: PLR0913 - the options of the command
    agents: tuple[str, ...],
    files: tuple[Path, ...],
    repeat: int,
    *,
    ci: bool,
    min_pass: float,
    junit_file: Path | None,
    as_json: bool,
    **where: str | None,
) -> None:
    if where["url"] and where["base_url"]:
        raise click.UsageError("a running API has its language model already: give --url or --base-url")
    conversations = load_golden(files or sorted((settings().prompts_dir / "golden").glob("*.yaml")), agents)
    console = Console(stderr=as_json, soft_wrap=True, force_terminal=False if ci else None)
    with _api(**where) as api:
        held = list(_hold_all(api, conversations * repeat, console, quiet=as_json))
    found = report(held, repeat)
    if junit_file is not None:
        junit_file.write_bytes(junit(held))
    if as_json:
        print_json(found)
    else:
        _show(found)
    raise SystemExit(0 if found["total"]["pass_k"] >= min_pass else 1)


@contextmanager
def _api(url: str | None, key: str | None, base_url: str | None) -> Iterator[Api]:
    if url:
        with Api(url, find_key(key)) as api:
            yield api
        return
    options = StackOptions(data_dir=None, port=0, settings={"OPENAI_BASE_URL": base_url} if base_url else {})
    with foreground(options) as stack, Api(stack.url, stack.dev_key) as api:
        yield api


def _hold_all(api: Api, conversations: Sequence[Golden], console: Console, *, quiet: bool) -> Iterator[GoldenResult]:
    for golden in track(conversations, "holding", console=console, transient=True, disable=not console.is_terminal):
        held = hold(api, golden)
        if not quiet:
            verdict = "[red]failed[/]" if held.difference else "[green]passed[/]"
            why = f" {escape(held.difference)}" if held.difference else ""
            console.print(f"{verdict} {held.name}{why}", highlight=False)
        yield held


def _show(found: dict[str, Any]) -> None:
    total = found["total"]
    if total["repeat"] > 1:
        _show_repeated(found["results"], total)
    cost = "cost not known" if total["cost"] is None else f"{total['cost']:.4f} USD"
    tokens = total["prompt_tokens"] + total["completion_tokens"]
    click.echo(f"{total['passed']} of {total['conversations']} conversations passed")
    if total["turns"]:
        click.echo(
            f"{total['turns']} turns, p50 {total['p50_ms']:.0f} ms, p95 {total['p95_ms']:.0f} ms;"
            f" {total['llm_calls']} calls of the language model, {tokens} tokens, {cost};"
            f" plans: {total['repaired']} repaired, {total['refused']} refused, {total['truncated']} truncated"
        )


def _show_repeated(results: Sequence[dict[str, Any]], total: dict[str, Any]) -> None:
    """Show how often each conversation passed, and the shares over all of them with their intervals."""
    rows = [
        {"conversation": one["name"], "passed": f"{one['passed']}/{one['held']}", "pass@1": _share(one, "pass_1")}
        for one in results
    ]
    print_rows(["conversation", "passed", "pass@1"], rows, as_json=False)
    click.echo(f"pass@1 {_share(total, 'pass_1')}, pass^{total['repeat']} {_share(total, 'pass_k')}")


def _share(found: dict[str, Any], name: str) -> str:
    low, high = found[f"{name}_interval"]
    return f"{found[name]:.1%} [{low:.1%}, {high:.1%}]"

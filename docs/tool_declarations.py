"""The declarations of a tool, as its page shows them."""

from collections.abc import Iterator

from turnloom.tools.registry import Tool


def declared(tool: Tool) -> str:
    """Return all that a tool declares in a line."""
    return " · ".join((*_nature(tool), *_guards(tool), *_ends(tool)))


def _nature(tool: Tool) -> Iterator[str]:
    yield from (f"effect: {tool.effect}", f"deadline: {tool.timeout_s:g} s", f"queue: `{tool.queue}`")
    if tool.inline:
        yield "inline"
    if tool.formatter:
        yield "formatter"


def _guards(tool: Tool) -> Iterator[str]:
    if tool.scopes:
        yield f"scopes: {', '.join(f'`{scope}`' for scope in sorted(tool.scopes))}"
    if tool.requires_approval:
        yield "needs approval"
    if tool.per_user:
        yield f"{tool.per_user} for a user"
    if tool.per_tenant:
        yield f"{tool.per_tenant} in a tenant"
    if isinstance(tool.integration, str):
        yield f"service: `{tool.integration}`"
    if tool.remember_s:
        yield f"a result is remembered for {tool.remember_s:g} s"
    if tool.cache_s:
        yield f"a result holds for {tool.cache_s:g} s in the whole tenant"


def _ends(tool: Tool) -> Iterator[str]:
    if tool.asks:
        yield f"may ask for {', '.join(f'`{field}`' for field in tool.asks)}"
    if tool.errors:
        yield f"errors: {', '.join(f'`{code}`' for code in tool.errors)}"

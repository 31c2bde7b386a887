"""Run the offline model as a separate server: `turnloom offline-llm`."""

import click

from turnloom.models.runtime.settings import settings
from turnloom.planner.llm.offline.server import serve


@click.command("offline-llm")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8900, show_default=True, type=click.IntRange(1, 65535), help="Port to listen on.")
def offline_llm(host: str, port: int) -> None:
    """Serve the offline model over the OpenAI protocol, for demonstrations, tests and benchmarks."""
    click.echo(f"The offline model listens on http://{host}:{port}/v1 (OPENAI_BASE_URL); Ctrl-C stops it.")
    try:
        serve(settings().prompts_dir, host, port)
    except KeyboardInterrupt:
        click.echo("Stopped.")

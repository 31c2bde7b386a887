"""Put the WSGI application together from its blueprints.

gunicorn calls `create_app()` in each worker process, after gevent has patched the standard library. Nothing here is
loaded before that.
"""

from apiflask import APIFlask

from turnloom.models.runtime.logging import configure_logging
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import load_agents
from turnloom.tools.enabled_tools import enabled_tools
from turnloom.web import (
    approvals,
    auth,
    backlog,
    catalogue,
    channels,
    conversations,
    dead_letters,
    errors,
    event_stream,
    feedback,
    forks,
    health,
    limits,
    metrics,
    openapi,
    operations,
    own_texts,
    pictures,
    quality,
    rates,
    repeated_posts,
    replays,
    request_ids,
    rollouts,
    security_headers,
    sign_in,
    takeover,
    traces,
    turn_search,
    turns,
    url_ids,
    usage,
    users,
)
from turnloom.web.catalogue import Catalogue
from turnloom.web.console import page
from turnloom.web.openai_front import assistant, completions

_TOLD = [
    "Location",
    "Retry-After",
    "X-Request-Id",
    "X-Turnloom-Turn-Id",
    "X-Turnloom-Conversation-Id",
    "X-Turnloom-Ignored",
]
"""Headers of an answer that pages of other websites may read."""
_A_DAY_S = 86_400


def create_app() -> APIFlask:
    """Make the WSGI application from this process's settings.

    Raises:
        NotFound: the settings name a default agent, a tool pack or a file that does not exist.
        Invalid: such a file breaks a rule.
    """
    configure_logging()
    load_agents(settings().prompts_dir / "agents").get(settings().default_agent)
    app = APIFlask(
        "web",
        title="Turnloom",
        version="1",
        docs_path=None,
        json_errors=False,
        static_folder=None,  # type: ignore[arg-type]  # Flask knows None, APIFlask's annotation does not
    )
    app.config["MAX_CONTENT_LENGTH"] = settings().api_max_body_bytes
    # A conversation's id may hold two slashes in a row.
    app.url_map.merge_slashes = False
    request_ids.install(app)
    security_headers.install(app)
    repeated_posts.install(app)
    _allow_origins(app)
    url_ids.install(app)
    install_caches(app.extensions)
    errors.handle_errors(app)
    openapi.document(app)
    of_turns = (turns, turn_search, forks, pictures, traces, approvals, dead_letters, feedback, event_stream)
    of_tenants = (conversations, takeover, usage, users, catalogue, own_texts, quality, rollouts, replays, sign_in)
    for part in (*of_turns, *of_tenants, completions, assistant, channels, health, metrics, operations, openapi, page):
        app.register_blueprint(part.blueprint)
    return app


def install_caches(extensions: dict[str, object]) -> None:
    """Give an application caches that are empty, and the catalogue of the enabled tools."""
    auth.install(extensions)
    limits.install(extensions)
    rates.install(extensions)
    backlog.install(extensions)
    catalogue.install(extensions, Catalogue(enabled_tools()))
    channels.install(extensions)


def _allow_origins(app: APIFlask) -> None:
    """Let pages of the websites that the settings name call the API from a browser."""
    if origins := settings().cors_origins:
        from flask_cors import CORS  # noqa: PLC0415 - few need it

        CORS(app, origins=origins, expose_headers=_TOLD, max_age=_A_DAY_S)

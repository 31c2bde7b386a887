"""The table of metrics, as its page shows it."""

from turnloom.models.runtime.metrics import COUNTED, OBSERVED

LEAD = (
    "What `GET /metrics` tells Prometheus, over all tenants and processes. Counters begin anew when Redis loses them; a"
    " gauge is left out while what it looks at is out. What a single tenant's calls were like, the ledger knows:"
    " `turnloom tools stats`."
)
COLUMNS = ("metric", "kind", "labels", "meaning")


def rows() -> list[tuple[str, str, str, str]]:
    """Return a row for each metric."""
    return [
        (f"`{name}`", metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.help)
        for name, metric in (COUNTED | OBSERVED).items()
    ]

"""The table of metrics, as its page shows it."""

from turnloom.models.runtime.metrics import COUNTED, OBSERVED

LEAD = (
    "What `GET /metrics` tells Prometheus, over all tenants and processes. Counters start from zero when Redis loses"
    " them. A gauge is left out while the service that it reads is down. `turnloom tools stats` shows the calls of a"
    " single tenant, from the ledger."
)
COLUMNS = ("metric", "kind", "labels", "meaning")


def rows() -> list[tuple[str, str, str, str]]:
    """Return a row for each metric."""
    return [
        (f"`{name}`", metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.help)
        for name, metric in (COUNTED | OBSERVED).items()
    ]

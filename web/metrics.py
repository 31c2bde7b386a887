"""Serve metrics for Prometheus: what all processes have counted, and what can be observed now.

Metrics that cannot be read because Postgres or Redis is down are left out: the others are needed most at that time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from apiflask import APIBlueprint
from flask import Response, request
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from turnloom.models.connections.database import transaction
from turnloom.models.connections.redis import beat_lives
from turnloom.models.contracts.operations import Operations
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import backlog, conversations
from turnloom.models.runtime.counters import BUCKETS_S, Series
from turnloom.models.runtime.metrics import COUNTED, OBSERVED, read_counts
from turnloom.web.operations import circuits, operations
from turnloom.workers.dispatch import waiting_messages
from turnloom.workers.upkeep.living_processes import worker_slots

blueprint = APIBlueprint("metrics", __name__, tag="Health")

_BOUNDS = [*map(str, BUCKETS_S), "+Inf"]


@blueprint.get("/metrics")
@blueprint.output({}, content_type="text/plain", description="Metrics in Prometheus' or OpenMetrics' text format")
@blueprint.doc(operation_id="get_metrics")
def metrics() -> Response:
    """Show metrics of all tenants and processes. Needs no key and names no tenant; do not expose it to the public."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Everything())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return Response(encode(registry), content_type=content_type)


class _Everything(Collector):
    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its current series."""
        try:
            counted = read_counts()
        except Unavailable:
            counted = {}
        for name, metric in COUNTED.items():
            make = _counter if metric.kind == "counter" else _histogram
            yield make(name, {series[1:]: amount for series, amount in counted.items() if series[0] == name})
        for name, look in _LOOKS.items():
            yield _gauge(name, _seen(look))
        stand = _operations()
        for name, read in _OF_OPERATIONS.items():
            yield _gauge(name, read(stand) if stand else {})


def _gauge(name: str, observed: Mapping[Series, float]) -> Metric:
    family = GaugeMetricFamily(name, OBSERVED[name].help, labels=OBSERVED[name].labels)
    for labels, amount in observed.items():
        family.add_metric(labels, amount)
    return family


def _counter(name: str, counted: Mapping[Series, float]) -> Metric:
    family = CounterMetricFamily(name, COUNTED[name].help, labels=COUNTED[name].labels)
    for labels, amount in sorted(counted.items()):
        family.add_metric(labels, amount)
    return family


def _histogram(name: str, counted: Mapping[Series, float]) -> Metric:
    family = HistogramMetricFamily(name, COUNTED[name].help, labels=COUNTED[name].labels)
    found: defaultdict[Series, dict[str, float]] = defaultdict(dict)
    for (*of, part), amount in sorted(counted.items()):
        found[tuple(of)][part] = amount
    for labels, parts in found.items():
        below = accumulate(parts.get(str(place), 0.0) for place in range(len(_BOUNDS)))
        family.add_metric(labels, list(zip(_BOUNDS, below, strict=True)), sum_value=parts.get("sum", 0.0))
    return family


def _seen(look: Callable[[], Mapping[Series, float]]) -> Mapping[Series, float]:
    try:
        return look()
    except Unavailable:
        return {}


def _circuits() -> Mapping[str, float]:
    return {circuit.service: float(circuit.open) for circuit in circuits()}


def _beat() -> Mapping[Series, float]:
    return {(): float(beat_lives())}


def _turns() -> Mapping[Series, float]:
    with transaction() as db:
        return backlog.count_by_class(db)


def _paused() -> Mapping[Series, float]:
    with transaction() as db:
        return {(): float(conversations.count_paused(db))}


def _operations() -> Operations | None:
    try:
        return operations()
    except Unavailable:
        return None


def _oldest(stand: Operations) -> Mapping[Series, float]:
    return {(queue.queue,): queue.oldest_s for queue in stand.queues if queue.oldest_s is not None}


def _segments(stand: Operations) -> Mapping[Series, float]:
    found: dict[Series, float] = {}
    for each in stand.recent.segments:
        found |= {(each.segment, "0.5"): each.p50_ms / 1_000, (each.segment, "0.95"): each.p95_ms / 1_000}
    return found


def _each(look: Callable[[], Mapping[str, float]]) -> Callable[[], Mapping[Series, float]]:
    return lambda: {(label,): amount for label, amount in look().items()}


_LOOKS: dict[str, Callable[[], Mapping[Series, float]]] = {
    "turnloom_circuits_open": _each(_circuits),
    "turnloom_queue_messages": _each(waiting_messages),
    "turnloom_worker_slots": _each(worker_slots),
    "turnloom_beat_alive": _beat,
    "turnloom_turns": _turns,
    "turnloom_paused_conversations": _paused,
}

_OF_OPERATIONS: dict[str, Callable[[Operations], Mapping[Series, float]]] = {
    "turnloom_queue_oldest_seconds": _oldest,
    "turnloom_dead_letters": lambda stand: {(kind,): count for kind, count in stand.dead_letters.items()},
    "turnloom_recent_turns": lambda stand: {("ended",): stand.recent.turns, ("failed",): stand.recent.failed},
    "turnloom_recent_turn_seconds": _segments,
}

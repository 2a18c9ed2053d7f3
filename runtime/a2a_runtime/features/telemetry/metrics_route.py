"""Metrics of a process over HTTP: text of Prometheus or OpenMetrics, or JSON for a registry of
modules.

The client chooses by ``Accept``; without it, or with anything else, it gets the text of Prometheus.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler

from a2a_runtime.base.importing import explain_missing

with explain_missing("A2A_METRICS_PATH", "metrics"):
    from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        Metric,
    )
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector

from a2a_runtime.features.telemetry.metrics import SECONDS, Histogram, Metrics

T = TypeVar("T")

FindMetrics: TypeAlias = Callable[[], Metrics | None]
"""Finds the metrics of the agents, while they run."""

_JSON = "application/json"


class MetricsCollector(Collector):
    """Metrics of a process, as a registry of Prometheus reads them."""

    def __init__(self, find_metrics: FindMetrics, *, names_skills: bool) -> None:
        self._find_metrics = find_metrics
        self._names_skills = names_skills

    def collect(self) -> Iterable[Metric]:
        """Read all numbers."""
        metrics = self._find_metrics()
        if metrics is not None:
            yield from self._collect_counts(metrics)
            yield from self._collect_delays(metrics)
            yield from self._collect_durations(metrics)
            yield from _collect_state(metrics)

    def _collect_counts(self, metrics: Metrics) -> Iterator[Metric]:
        """Counters of what has happened."""
        yield _build_counter(
            "a2a_requests",
            "Requests.",
            ("operation", "dialect", "binding", "outcome"),
            metrics.requests.items(),
        )
        runs = self._sum_skills(metrics.runs)
        yield _build_counter("a2a_runs", "Runs of handlers.", ("skill", "end"), runs)
        yield _build_counter(
            "a2a_store_failures",
            "Store calls that have raised an error.",
            ("call",),
            _with_one_label(metrics.store_failures),
        )
        tokens = self._sum_skills(metrics.tokens)
        costs = self._sum_skills(metrics.costs)
        yield _build_counter(
            "a2a_tokens", "Tokens that handlers have reported.", ("skill", "kind"), tokens
        )
        yield _build_counter(
            "a2a_cost", "Cost that handlers have reported.", ("skill", "currency"), costs
        )
        refusals = _with_one_label(metrics.refusals)
        yield _build_counter(
            "a2a_refusals",
            "Requests that were not admitted, or not processed now.",
            ("reason",),
            refusals,
        )
        yield _build_counter(
            "a2a_push_attempts",
            "Attempts of webhooks.",
            ("outcome",),
            _with_one_label(metrics.push_outcomes),
        )

    def _collect_delays(self, metrics: Metrics) -> Iterator[Metric]:
        """Delays: how far the process is behind."""
        queued = self._join_skills(metrics.queue_seconds)
        yield _build_histogram("a2a_queue_seconds", "Time until a run.", ("skill",), queued)
        yield _build_histogram(
            "a2a_event_lag_seconds",
            "Time from a status to its reader.",
            (),
            [((), metrics.event_lag)],
        )
        yield GaugeMetricFamily(
            "a2a_push_backlog", "Deliveries of webhooks in the store.", metrics.push_backlog
        )
        yield GaugeMetricFamily(
            "a2a_notifier_connected",
            "1 while notifications arrive.",
            metrics.is_notifier_connected(),
        )

    def _collect_durations(self, metrics: Metrics) -> Iterator[Metric]:
        """Durations of requests, runs and calls of the store."""
        yield _build_histogram(
            "a2a_request_seconds",
            "Duration of requests.",
            ("operation", "binding"),
            metrics.request_seconds.items(),
        )
        run_seconds = self._join_skills(metrics.run_seconds)
        yield _build_histogram("a2a_run_seconds", "Duration of runs.", ("skill",), run_seconds)
        yield _build_histogram(
            "a2a_store_seconds",
            "Duration of store calls.",
            ("call",),
            _with_one_label(metrics.store_seconds),
        )

    def _sum_skills(
        self, found: Mapping[tuple[str, str], float]
    ) -> Iterable[tuple[tuple[str, ...], float]]:
        """Return counts whose first label is a skill; unless skills are named, the label is
        empty.
        """
        if self._names_skills:
            return found.items()
        sums: dict[tuple[str, ...], float] = {}
        for (_, label), number in tuple(found.items()):
            sums["", label] = sums.get(("", label), 0) + number
        return sums.items()

    def _join_skills(
        self, found: Mapping[str, Histogram]
    ) -> Iterable[tuple[tuple[str, ...], Histogram]]:
        """Return the histograms of skills, or one of all of them."""
        if self._names_skills:
            return _with_one_label(found)
        joined = Histogram()
        for each in tuple(found.values()):
            joined.counts = [sum(pair) for pair in zip(joined.counts, each.counts, strict=True)]
            joined.total += each.total
        if found:
            return [(("",), joined)]
        return []


def _collect_state(metrics: Metrics) -> Iterator[Metric]:
    """Gauges of what the process does."""
    yield GaugeMetricFamily("a2a_open_streams", "Open streams.", metrics.open_streams)
    yield GaugeMetricFamily(
        "a2a_running_tasks", "Tasks that run in this process.", metrics.count_running()
    )
    yield GaugeMetricFamily(
        "a2a_loop_lag_seconds",
        "Lateness of the event loop at its last sample.",
        metrics.loop_lag_seconds,
    )
    yield GaugeMetricFamily(
        "a2a_uptime_seconds", "Time since the start.", time.monotonic() - metrics.started_at
    )


def _with_one_label(found: Mapping[str, T]) -> Iterator[tuple[tuple[str], T]]:
    for label, value in tuple(found.items()):
        yield (label,), value


def _build_counter(
    name: str, text: str, labels: tuple[str, ...], found: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for values, number in tuple(found):
        family.add_metric(values, number)
    return family


def _build_histogram(
    name: str,
    text: str,
    labels: tuple[str, ...],
    found: Iterable[tuple[tuple[str, ...], Histogram]],
) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, histogram in tuple(found):
        below = 0
        buckets: list[tuple[str, float]] = []
        for bound, number in zip((*map(str, SECONDS), "+Inf"), histogram.counts, strict=True):
            below += number
            buckets.append((bound, below))
        family.add_metric(values, buckets=buckets, sum_value=histogram.total)
    return family


def build_metrics_route(
    path: str, find_metrics: FindMetrics, *, names_skills: bool
) -> HTTPRouteHandler:
    """Build the route of the metrics; it needs no credentials, and holds nothing of callers and
    tasks.

    Skills may be hidden from most callers: they are named only where an operator says so.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    registry.register(MetricsCollector(find_metrics, names_skills=names_skills))

    @get(path, include_in_schema=False, exclude_from_auth=True, sync_to_thread=False)
    def read_metrics(request: Request[Any, Any, Any]) -> Response[object]:
        accept = request.headers.get("accept", "")
        headers = {"cache-control": "no-store"}
        metrics = find_metrics()
        if _JSON in accept and metrics is not None:
            return Response(metrics.summarize(), media_type=_JSON, headers=headers)
        encode, media_type = choose_encoder(accept)
        return Response(encode(registry), media_type=media_type, headers=headers)

    return read_metrics

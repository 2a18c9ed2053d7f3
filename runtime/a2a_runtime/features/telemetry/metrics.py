"""Counters and histograms of a process: plain dictionaries, which a scrape reads.

They need no library, and exist only where metrics are on.

metric                        labels              counts
``a2a_requests_total``        operation, dialect, requests; the outcome is ``ok``, ``disconnected``
                              binding, outcome    or the reason of an error
``a2a_request_seconds``       operation, binding  their duration; of a stream, until it ends
``a2a_open_streams``                              open streams
``a2a_runs_total``            skill, end          runs of handlers; the end is a state,
                                                  ``suspended``, ``released`` or ``replaced``
``a2a_run_seconds``           skill               their duration
``a2a_running_tasks``                             tasks that run in this process
``a2a_tokens_total``          skill, kind         tokens that handlers have reported,
                                                  ``input`` and ``output``
``a2a_cost_total``            skill, currency     the cost that handlers have reported
``a2a_queue_seconds``         skill               time from the last change of a task
                                                  to the run that it has led to
``a2a_event_lag_seconds``                         time from a status to its way to a reader
``a2a_refusals_total``        reason              requests that were not admitted,
                                                  or not processed now
``a2a_push_attempts_total``   outcome             attempts of webhooks: ``delivered``,
                                                  ``retry``, ``give_up``
``a2a_push_backlog``                              deliveries of webhooks in the store,
                                                  due or not, at the last count
``a2a_notifier_connected``                        1 while notifications of other processes
                                                  arrive, or there are none
``a2a_store_seconds``         call                duration of store calls; ``mark_delivered``,
                                                  ``retry`` and ``mark_failed`` are webhooks
``a2a_store_failures_total``  call                store calls that have raised an error
``a2a_loop_lag_seconds``                          how late the event loop was at its last sample
``a2a_uptime_seconds``                            time since the start

Every label has a bounded number of values: no ids, no callers, no paths. Skills that a source adds
beyond ``MAX_SKILLS`` count as ``other``.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import AsyncExitStack, aclosing, suppress
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar

from pydantic_core import from_json

from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import UnavailableError
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.ports.observer import Consumption, Events, Observer, StoreCall
from a2a_runtime.settings import Settings
from a2a_runtime.stores.optional import CountedOutbox

K = TypeVar("K", bound=Hashable)

MAX_SKILLS = 200
MAX_CURRENCIES = 10
OTHER = "other"
NO_OPERATION = "none"
"""Operation of a request that is refused before it is parsed."""

SECONDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)
"""Upper bounds of the buckets of histograms."""

_LAG_INTERVAL = 1.0
_BACKLOG_SECONDS = 5.0
_STATUS_UPDATE = b'{"statusUpdate":'


def spell_dialect(name: str) -> str:
    """Return the name of a dialect in labels, ``1.0`` as in settings; empty before it is known."""
    if name:
        return DIALECTS[name].spelling
    return ""


class Histogram:
    """Durations of one set of labels."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        """Observations per bucket, the last one without a bound."""
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Add a duration."""
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds


def observe(histograms: dict[K, Histogram], key: K, seconds: float) -> None:
    """Add a duration to the histogram of a key, in one call: each send adds six."""
    if (found := histograms.get(key)) is None:
        found = histograms[key] = Histogram()
    found.counts[bisect_left(SECONDS, seconds)] += 1
    found.total += seconds


class Metrics(Observer):
    """Metrics of one process."""

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self._clock: Clock = SystemClock()
        self.requests: Counter[tuple[str, str, str, str]] = Counter()
        self.request_seconds: dict[tuple[str, str], Histogram] = {}
        self.runs: Counter[tuple[str, str]] = Counter()
        self.run_seconds: dict[str, Histogram] = {}
        self.queue_seconds: dict[str, Histogram] = {}
        self.event_lag = Histogram()
        self.refusals: Counter[str] = Counter()
        self.push_outcomes: Counter[str] = Counter()
        self.push_backlog = 0
        self.is_notifier_connected: Callable[[], bool] = lambda: True
        self.consuming_skills = set[str]()
        self.tokens: Counter[tuple[str, str]] = Counter()
        self.costs: dict[tuple[str, str], float] = {}
        self.store_seconds: dict[str, Histogram] = {}
        self.store_failures: Counter[str] = Counter()
        self.loop_lag_seconds = 0.0
        self.open_streams = 0
        self.count_running: Callable[[], int] = lambda: 0

    def request_ended(
        self,
        request: Any,  # noqa: ANN401 - of a transport
        outcome: str,
        seconds: float,
        *,
        is_refusal: bool,
    ) -> None:
        """Count a request."""
        if is_refusal:
            self.refusals[outcome] += 1
        operation = request.operation or NO_OPERATION
        dialect = spell_dialect(request.dialect)
        self.requests[operation, dialect, request.binding, outcome] += 1
        observe(self.request_seconds, (operation, request.binding), seconds)

    async def wrap_stream(self, events: Events) -> Events:
        """Count an open stream, and measure how late its status updates are, by the clocks of both
        processes.
        """
        self.open_streams += 1
        try:
            async with aclosing(events):
                async for event in events:
                    body = event.data.json
                    if body.startswith(_STATUS_UPDATE):
                        self.event_lag.observe(self._find_lag(body))
                    yield event
        finally:
            self.open_streams -= 1

    def _find_lag(self, body: bytes) -> float:
        at = from_json(body)["statusUpdate"]["status"].get("timestamp")
        if not at:
            return 0.0
        return max(0.0, self._clock.millis() / 1000 - datetime.fromisoformat(at).timestamp())

    def wrap_store_call(self, name: str, call: StoreCall) -> StoreCall:
        """Measure a call of the store; only errors of the store itself count as failures, not those
        of a caller.
        """
        found = self.store_seconds

        @wraps(call)
        async def measured(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - passed on
            began = time.perf_counter()
            try:
                return await call(*args, **kwargs)
            except UnavailableError:
                self.store_failures[name] += 1
                raise
            finally:
                observe(found, name, time.perf_counter() - began)

        return measured

    def delivery_attempted(self, outcome: str) -> None:
        """Count an attempt of a webhook."""
        self.push_outcomes[outcome] += 1

    # The process is above this room.
    async def open(self, process: Any, stack: AsyncExitStack) -> None:  # noqa: ANN401 - as said
        """Read the gauges of a process from now on."""
        notifier = process.engine.hub.notifier
        if notifier is not None:
            self.is_notifier_connected = lambda: bool(getattr(notifier, "is_connected", True))
        self._clock = process.clock
        self.count_running = lambda: process.engine.runner.running_tasks
        stack.callback(asyncio.create_task(self.watch_loop()).cancel)
        if isinstance(process.store, CountedOutbox):
            stack.callback(asyncio.create_task(self._watch_backlog(process)).cancel)

    async def _watch_backlog(self, process: Any) -> None:  # noqa: ANN401 - as said
        """Count the deliveries in the outbox, for ever; a process without webhooks asks nothing of
        its store.
        """
        while True:
            if any(each.agent.capabilities.push_notifications for each in process.surfaces):
                with suppress(UnavailableError):  # the store logs its outages
                    self.push_backlog = await process.store.count_deliveries()
            await asyncio.sleep(_BACKLOG_SECONDS)

    def run_ended(self, skill: str, end: str, seconds: float) -> None:
        """Count a run of a handler."""
        if skill not in self.run_seconds and len(self.run_seconds) >= MAX_SKILLS:
            skill = OTHER
        self.runs[skill, end] += 1
        observe(self.run_seconds, skill, seconds)

    def run_started(self, skill: str, queued_seconds: float) -> None:
        """Count the time from the last change of a task to the run that it has led to."""
        if skill not in self.queue_seconds and len(self.queue_seconds) >= MAX_SKILLS:
            skill = OTHER
        observe(self.queue_seconds, skill, queued_seconds)

    def usage_reported(self, skill: str, report: Consumption) -> None:
        """Count tokens and cost, as a handler has reported them."""
        skill = (
            skill
            if skill in self.consuming_skills or len(self.consuming_skills) < MAX_SKILLS
            else OTHER
        )
        self.consuming_skills.add(skill)
        self.tokens[skill, "input"] += report.input_tokens
        self.tokens[skill, "output"] += report.output_tokens
        if report.cost:
            currencies = {currency for _, currency in self.costs}
            currency = (
                report.currency
                if report.currency in currencies or len(currencies) < MAX_CURRENCIES
                else OTHER
            )
            self.costs[skill, currency] = self.costs.get((skill, currency), 0.0) + report.cost

    async def watch_loop(self) -> None:
        """Measure how late the event loop is, for ever."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(_LAG_INTERVAL)
            self.loop_lag_seconds = max(0.0, time.monotonic() - began - _LAG_INTERVAL)

    def summarize(self) -> dict[str, int | float]:
        """Sum up the numbers that a registry of modules reads as JSON."""
        ends: Counter[str] = Counter()
        for (_, end), number in self.runs.items():
            ends[end] += number
        return {
            "active_tasks": self.count_running(),
            "completed_tasks": ends["completed"],
            "failed_tasks": ends["failed"],
            "uptime_seconds": round(time.monotonic() - self.started_at, 3),
            "total_requests": self.requests.total(),
        }


def build_metrics(_settings: Settings) -> Metrics:
    """Build the metrics of a process."""
    return Metrics()


def find_metrics(process: Any) -> Metrics | None:  # noqa: ANN401 - the process is above
    """Find the metrics of a process, if it has some."""
    observers = () if process is None else process.observation.observers
    return next((each for each in observers if isinstance(each, Metrics)), None)

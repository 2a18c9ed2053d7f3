"""Observers of a process: they see requests, runs, store calls and deliveries, and change none of
them.

    without observers      nothing is called: every place asks an empty tuple
    with observers         each gets the calls that it overrides; a wrapper gets the one before it

Metrics and traces (``features.telemetry``) are the two of this distribution. An observer overrides
what it wants to see; its methods must not raise.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from a2a_contract.base import WireModel
    from a2a_contract.service import Event
    from a2a_contract.v1_0 import Task
    from a2a_runtime.base.origin import Origin
    from a2a_runtime.engine.run import TaskRun
    from a2a_runtime.http.asgi import HttpRequest
    from a2a_runtime.process import AgentRuntime

StoreCall: TypeAlias = Callable[..., Awaitable[Any]]
"""A call of a store that waits."""

Events: TypeAlias = "AsyncGenerator[Event[WireModel], None]"


class Consumption(Protocol):
    """Tokens and cost of one report of a handler."""

    @property
    def input_tokens(self) -> int: ...  # noqa: D102
    @property
    def output_tokens(self) -> int: ...  # noqa: D102
    @property
    def cost(self) -> float: ...  # noqa: D102
    @property
    def currency(self) -> str: ...  # noqa: D102


class Observer:
    """Sees what a process does. Every method does nothing here."""

    def wrap_request(
        self,
        request: HttpRequest,  # noqa: ARG002 - for observers
        origin: Origin,  # noqa: ARG002 - as above
        handling: Awaitable[None],
    ) -> Awaitable[None]:
        """Wrap the handling of a request, before its error is sent: an exception passes through."""
        return handling

    def request_ended(
        self, request: HttpRequest, outcome: str, seconds: float, *, is_refusal: bool
    ) -> None:
        """A response has ended, or its client has gone: ``outcome`` is ``ok``, ``disconnected`` or
        the reason of the error.
        """

    def wrap_stream(self, events: Events) -> Events:
        """Wrap the events of a stream on their way to a reader."""
        return events

    def run_started(self, skill: str, queued_seconds: float) -> None:
        """A run begins, some time after the last change of its task."""

    def wrap_run(
        self,
        run: TaskRun,  # noqa: ARG002 - for observers
        running: Coroutine[Any, Any, None],
    ) -> Coroutine[Any, Any, None]:
        """Wrap a run of a handler."""
        return running

    def run_ended(self, skill: str, end: str, seconds: float) -> None:
        """A run has ended: in a state, or ``suspended``, ``released``, ``replaced``."""

    def usage_reported(self, skill: str, report: Consumption) -> None:
        """A handler has reported what it has consumed."""

    def wrap_store_call(self, name: str, call: StoreCall) -> StoreCall:  # noqa: ARG002 - for observers
        """Wrap a call of the store; asked once for each call when the process starts."""
        return call

    def deliver(self, task: Task) -> AbstractContextManager[dict[str, str]]:  # noqa: ARG002 - for observers
        """Enclose an attempt to deliver a webhook; yields headers for its receiver."""
        return nullcontext({})

    def delivery_attempted(self, outcome: str) -> None:
        """An attempt has ended: ``delivered``, ``retry`` or ``give_up``."""

    async def open(self, process: AgentRuntime, stack: AsyncExitStack) -> None:
        """The process serves from now on; what the observer starts ends with the stack."""


class Observation:
    """Overrides of the observers of a process: for each method of ``Observer`` a tuple of bound
    methods, empty where none of them has it.

    A place that no observer overrides costs the truth of an empty tuple, and one that only traces
    override calls no metrics.
    """

    __slots__ = (
        "deliver",
        "delivery_attempted",
        "observers",
        "request_ended",
        "run_ended",
        "run_started",
        "usage_reported",
        "wrap_request",
        "wrap_run",
        "wrap_store_call",
        "wrap_stream",
    )

    def __init__(self, *observers: Observer) -> None:
        self.observers = observers
        self.wrap_request = tuple(
            each.wrap_request for each in observers if _overrides(each, "wrap_request")
        )
        self.request_ended = tuple(
            each.request_ended for each in observers if _overrides(each, "request_ended")
        )
        self.wrap_stream = tuple(
            each.wrap_stream for each in observers if _overrides(each, "wrap_stream")
        )
        self.run_started = tuple(
            each.run_started for each in observers if _overrides(each, "run_started")
        )
        self.wrap_run = tuple(each.wrap_run for each in observers if _overrides(each, "wrap_run"))
        self.run_ended = tuple(
            each.run_ended for each in observers if _overrides(each, "run_ended")
        )
        self.usage_reported = tuple(
            each.usage_reported for each in observers if _overrides(each, "usage_reported")
        )
        self.wrap_store_call = tuple(
            each.wrap_store_call for each in observers if _overrides(each, "wrap_store_call")
        )
        self.deliver = tuple(each.deliver for each in observers if _overrides(each, "deliver"))
        self.delivery_attempted = tuple(
            each.delivery_attempted for each in observers if _overrides(each, "delivery_attempted")
        )


def _overrides(observer: Observer, name: str) -> bool:
    return getattr(type(observer), name) is not getattr(Observer, name)


UNOBSERVED = Observation()
"""Of a process without observers."""

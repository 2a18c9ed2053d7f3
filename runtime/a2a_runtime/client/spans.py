"""Spans of the requests of a client, in a process that has chosen a provider of OpenTelemetry.

Elsewhere nothing is imported for them.

    run of a handler            invoke_agent office
      single request            SendMessage, with its retries          ─┐
      connection of a stream    SendStreamingMessage, until it ends    ─┴► traceparent
                                                                              │
                                                                        span of the server

The reader of a stream has the events in between, so the span of a stream is the current one only
while its request is built.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from a2a_contract.binding import Operation
from a2a_runtime.client.interface import Interface

if TYPE_CHECKING:
    from a2a_runtime.features.telemetry.tracing import ClientSpan


@contextmanager
def trace_request(operation: Operation, interface: Interface) -> Generator[None]:
    """Make a span of a request, the current one until its result."""
    with trace_connection(operation, interface) as span, activate(span):
        yield


@contextmanager
def trace_connection(operation: Operation, interface: Interface) -> Generator[ClientSpan | None]:
    """Make a span of what is done inside, below the current one; ``None`` in a process without a
    provider.
    """
    if "opentelemetry.trace" not in sys.modules:
        yield None
        return
    # an extra, imported only where the process uses it
    from a2a_runtime.features.telemetry.tracing import ClientSpan, has_provider  # noqa: PLC0415

    if not has_provider():
        yield None
        return
    span = ClientSpan(operation.name, interface.transport, interface.dialect.name, interface.url)
    with span.ended():
        yield span


def activate(span: ClientSpan | None) -> AbstractContextManager[object]:
    """Make a span the current one, so that headers are below it."""
    if span is None:
        return nullcontext()
    return span.activate()

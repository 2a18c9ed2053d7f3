"""Our own server in a process that samples one trace of a hundred; its exporter drops them."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio


class DroppingExporter(SpanExporter):
    """An exporter without a destination."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Drop the spans."""
        del spans
        return SpanExportResult.SUCCESS


provider = TracerProvider(sampler=ParentBasedTraceIdRatio(0.01))
provider.add_span_processor(BatchSpanProcessor(DroppingExporter()))
trace.set_tracer_provider(provider)

from ours import app  # noqa: E402 - the provider is chosen before the app starts

__all__ = ["app"]

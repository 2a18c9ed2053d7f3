"""Traces over the API of OpenTelemetry: what is exported, and where to, is up to the process.

    GetTask, SendMessage, …     request: span of the server, below its client's ``traceparent``
      store create_task         store call
      invoke_agent greeter      run: in this process, on a worker, after a question;
                                its parent is stored
        SendMessage, …          request of a client in the run: span of the client
          SendMessage, …        request of the other agent: its span of the server
    push delivery               webhook: below the request that has begun its task

The names of attributes are those of the semantic conventions for RPC and for generative AI, where
they have one. They are written down here, since no package of stable names exists. Nothing of
messages, callers and credentials is in a span.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from a2a_contract.errors import A2AError, InternalError, InvalidAgentResponseError, UnavailableError
from a2a_contract.v1_0 import Task
from a2a_runtime.base.importing import explain_missing
from a2a_runtime.base.origin import TRACE_MEMBER, Origin, current_origin
from a2a_runtime.features.telemetry.metrics import spell_dialect
from a2a_runtime.ports.observer import Observer, StoreCall
from a2a_runtime.settings import Settings

with explain_missing("A2A_TRACES", "otel"):
    from opentelemetry import propagate, trace
    from opentelemetry.context import attach, detach
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode

if TYPE_CHECKING:
    from opentelemetry.context import Context

_NAME = "a2a_runtime"
_OPERATION = "gen_ai.operation.name"
_AGENT = "gen_ai.agent.name"
_CONVERSATION = "gen_ai.conversation.id"
_INPUT_TOKENS = "gen_ai.usage.input_tokens"
_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
_INVOKE = "invoke_agent"
_RPC_SYSTEM = "rpc.system.name"
_RPC_METHOD = "rpc.method"
_ERROR = "error.type"
_HOST = "server.address"
_PORT = "server.port"
_SYSTEMS = {"JSONRPC": "jsonrpc", "GRPC": "grpc"}
_TASK = "a2a.task.id"
_SKILL = "a2a.skill.id"
_DIALECT = "a2a.dialect"
_ATTEMPT = "a2a.run.attempt"
_END = "a2a.run.end"
_FAILURES = (InternalError, UnavailableError, InvalidAgentResponseError)


def has_provider() -> bool:
    """Return whether this process has chosen a provider of traces."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


class Tracing(Observer):
    """Spans of one process."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer(_NAME)
        self._fields = frozenset(
            each.lower().encode() for each in propagate.get_global_textmap().fields
        )
        """Headers that a trace may come with."""

    async def wrap_request(
        self,
        request: Any,  # noqa: ANN401 - of the HTTP side
        origin: Origin,
        handling: Awaitable[None],
    ) -> None:
        """Handle a request in a span of the server; from here on its origin has the trace.

        One that is not sampled has no other spans below it, and stores nothing with its task.
        """
        attributes = {_RPC_SYSTEM: _SYSTEMS.get(str(request.binding), "http"), _AGENT: origin.agent}
        span = self._tracer.start_span(
            "request", self._find_parent(request.headers), SpanKind.SERVER, attributes
        )
        token = attach(trace.set_span_in_context(span))
        try:
            _write_trace(origin, span)
            if span.is_recording():
                await _record_request(span, request, origin, handling)
            else:
                await handling
        finally:
            detach(token)
            span.end()

    def _find_parent(self, headers: Mapping[bytes, bytes]) -> Context | None:
        """Find the parent of a request: the span of a host that has begun one, or the trace of its
        client.
        """
        if self._fields.isdisjoint(headers) or trace.get_current_span().get_span_context().is_valid:
            return None
        return propagate.extract(
            {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
        )

    async def wrap_run(
        self,
        run: Any,  # noqa: ANN401 - of the execution
        running: Awaitable[None],
    ) -> None:
        """Run a handler in a span: below the request that has begun it, also if that was in another
        process.
        """
        stored = run.writer.stored
        origin = current_origin.get()
        current = trace.get_current_span()
        has_current = current.get_span_context().is_valid
        parent = None if has_current else _read_trace(origin)
        is_left_out = not has_current and parent is None and origin is not None and origin.is_stored
        if is_left_out or (has_current and not _is_sampled(current)):
            await running
            return
        attributes: dict[str, Any] = {
            _OPERATION: _INVOKE,
            _SKILL: run.skill.id,
            _TASK: stored.wire_id,
            _CONVERSATION: stored.context_id,
        }
        attributes |= {_AGENT: origin.agent if origin else "", _ATTEMPT: run.context.attempt}
        name = f"{_INVOKE} {origin.agent}" if origin and origin.agent else _INVOKE
        with self._start(name, SpanKind.INTERNAL, parent, attributes) as span:
            await running
            end = str(getattr(run.end, "name", run.end)).lower()
            span.set_attribute(_END, end)
            if end == "failed":
                span.set_status(Status(StatusCode.ERROR))
            if (usage := run.context.consumed) is not None:
                span.set_attributes(
                    {_INPUT_TOKENS: usage.input_tokens, _OUTPUT_TOKENS: usage.output_tokens}
                )

    @contextmanager
    def deliver(self, task: Task) -> Generator[dict[str, str]]:
        """Deliver a webhook in a span below the request that has begun its task; the headers of the
        trace are for its receiver.
        """
        member = (task.metadata or {}).get(TRACE_MEMBER)
        if not isinstance(member, str):  # begun by a request that was not sampled
            yield {}
            return
        parent = propagate.extract({"traceparent": member})
        with self._start("push delivery", SpanKind.CLIENT, parent, {_TASK: task.id or ""}) as span:
            headers: dict[str, str] = {}
            propagate.inject(headers)
            try:
                yield headers
            except Exception as error:
                _record_error(span, error)
                raise

    def wrap_store_call(self, name: str, call: StoreCall) -> StoreCall:
        """Make a span of each call of a store that belongs to a request, a run or a delivery."""

        @wraps(call)
        def traced(*args: Any, **kwargs: Any) -> Awaitable[Any]:  # noqa: ANN401 - passed on
            if trace.get_current_span().is_recording():
                return record(*args, **kwargs)
            return call(*args, **kwargs)

        async def record(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - passed on
            with self._start(f"store {name}", SpanKind.CLIENT, None, {}) as span:
                try:
                    return await call(*args, **kwargs)
                except Exception as error:
                    _record_error(span, error)
                    raise

        return traced

    @contextmanager
    def _start(
        self, name: str, kind: SpanKind, parent: Context | None, attributes: Mapping[str, Any]
    ) -> Generator[Span]:
        with self._tracer.start_as_current_span(
            name,
            context=parent,
            kind=kind,
            attributes=dict(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield span


class ClientSpan:
    """Span of a request of a client; of a stream, of one of its connections."""

    def __init__(self, operation: str, binding: str, dialect: str, url: str) -> None:
        parts = urlsplit(url)  # host and port only, since the rest may name a tenant
        attributes: dict[str, Any] = {
            _RPC_SYSTEM: _SYSTEMS.get(binding, "http"),
            _RPC_METHOD: operation,
            _DIALECT: spell_dialect(dialect),
        }
        attributes |= {
            name: each
            for name, each in ((_HOST, parts.hostname), (_PORT, parts.port))
            if each is not None
        }
        self._span = trace.get_tracer(_NAME).start_span(
            operation, kind=SpanKind.CLIENT, attributes=attributes
        )

    def activate(self) -> AbstractContextManager[Span]:
        """Make it the current span, so that headers and further spans are below it."""
        return trace.use_span(
            self._span, end_on_exit=False, record_exception=False, set_status_on_exception=False
        )

    @contextmanager
    def ended(self) -> Generator[None]:
        """End the span after what is done inside.

        Every error is one of this span: the client has not got what it asked for.
        """
        try:
            yield
        except Exception as error:
            self._span.set_attribute(_ERROR, type(error).__name__)
            self._span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            self._span.end()


async def _record_request(
    span: Span,
    request: Any,  # noqa: ANN401 - of the HTTP side
    origin: Origin,
    handling: Awaitable[None],
) -> None:
    """Handle a request whose span is recorded."""
    request.origin = origin
    origin.is_traced = True
    try:
        await handling
    except Exception as error:
        _record_error(span, error)
        raise
    finally:
        if request.operation:
            span.update_name(request.operation)
            span.set_attributes(
                {_RPC_METHOD: request.operation, _DIALECT: spell_dialect(request.dialect)}
            )


def _write_trace(origin: Origin, span: Span) -> None:
    """Write a span to an origin: log lines, later runs and called agents are below it."""
    context = span.get_span_context()
    if context.is_valid:
        origin.traceparent = (
            f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
        )
        origin.tracestate = context.trace_state.to_header()


def _is_sampled(span: Span) -> bool:
    return span.is_recording() or span.get_span_context().trace_flags.sampled


def _read_trace(origin: Origin | None) -> Context | None:
    if origin is None or not origin.traceparent:
        return None
    return propagate.extract({"traceparent": origin.traceparent, "tracestate": origin.tracestate})


def _record_error(span: Span, error: Exception) -> None:
    """Record the class of an error; only failures of the agent are errors of the span, not what a
    client does wrong.
    """
    span.set_attribute(_ERROR, type(error).__name__)
    if not isinstance(error, A2AError) or isinstance(error, _FAILURES):
        span.set_status(Status(StatusCode.ERROR))


def build_tracing(settings: Settings) -> Tracing | None:
    """Build the traces of a process, as the setting has it."""
    if settings.traces == "on" or has_provider():
        return Tracing()
    return None

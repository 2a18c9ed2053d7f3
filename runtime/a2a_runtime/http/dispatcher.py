"""Dispatcher: the request path of one surface, shared by its endpoints.

endpoint                    dispatcher
Endpoint.__call__ ────────► run             any exception becomes a response
  handle(request) ────────► admit           origin policy, gate, admission control ──► Caller
                  ────────► read_body       size limit, timeout
    parse ──► Invocation ─► serve           service ──► one response, or a stream of events

A transport that is not HTTP (``a2a_runtime.features.grpc``) makes an ``HttpRequest`` of each call
and uses the same steps without those that write HTTP:

    run(request, …, send_error)    admit, build_context    invoke ──► the result
                                                           open_stream ──► the events
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Token
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, TypeAlias

from litestar.config.cors import CORSConfig
from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send
from msgspec import Struct

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding, Operation, serialize_as_is
from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import AccessError, RequestTimeoutError, UnavailableError
from a2a_contract.operations import CANCEL_TASK, GET_EXTENDED_AGENT_CARD, OPERATIONS
from a2a_contract.service import AgentService, Event
from a2a_contract.v1_0 import CancelTaskRequest
from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.auth.gate import ANONYMOUS, ChallengeError
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.base.counters import CounterStore
from a2a_runtime.base.logs import request_log
from a2a_runtime.base.origin import Origin, current_origin
from a2a_runtime.http.admission import AdmissionControl, CallerStreams, rate_limit_key
from a2a_runtime.http.asgi import (
    JSON,
    Awaits,
    ClientDisconnectError,
    Header,
    HttpRequest,
    base_url,
    read_body,
    refuse_hosts,
    reject_websocket,
    send_pieces,
    send_response,
)
from a2a_runtime.http.audit import audit_cancel, audit_rejection
from a2a_runtime.http.errors import ErrorResponse, name_outcome, render_error, to_protocol_error
from a2a_runtime.http.event_stream import (
    EVENT_STREAM,
    EventStreamResponse,
    encode_error_event,
    encode_event,
)
from a2a_runtime.http.exposure import check_protection
from a2a_runtime.http.middleware import OriginPolicy
from a2a_runtime.http.negotiation import SupportedDialects
from a2a_runtime.http.resource_metadata import add_metadata_url
from a2a_runtime.http.watchers import (
    RequestWatcher,
    is_end_of_grace,
    wait_for_disconnect,
    wait_for_expiry,
)
from a2a_runtime.ports import registry
from a2a_runtime.ports.feature import Feature
from a2a_runtime.ports.observer import UNOBSERVED, Observation
from a2a_runtime.service.context import CallContext, ProtocolBinding
from a2a_runtime.surface import Surface, find_lowest_limit

TaskDialectLookup: TypeAlias = Callable[[str, CallContext], Awaitable[str | None]]
"""Finds the dialect in which a task was created."""

ErrorSender: TypeAlias = Callable[[HttpRequest, Exception], Awaitable[None]]
"""Sends the error of a request as its response."""

log = logging.getLogger(__name__)

_NOT_STARTED = (
    "The agent is not running: the lifespan of its app has not run; mount it with "
    "a2a_runtime.starlette.mount_agents, or run its lifespan"
)
_DISCONNECTED = "disconnected"
_REFUSALS = (AccessError, UnavailableError)
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_EMPTY_RESULTS = {ProtocolBinding.JSONRPC: b"null", ProtocolBinding.HTTP: b"{}"}
"""The result of an operation that has none; clients parse a document in every case."""
_MAX_WARNED = 1000
"""Callers and members of which a warning is remembered."""
_CONNECTION_CLOSE: Header = (b"connection", b"close")
_NO_STORE: Header = (b"cache-control", b"no-store")
"""A response is for one caller, whom a cache cannot tell from others."""


class Invocation(Struct, frozen=True):
    """A parsed operation, ready to run; ``prefix`` and ``suffix`` are the envelope of each
    result.
    """

    binding: AnyBinding
    request: WireModel
    context: CallContext
    prefix: bytes = b""
    suffix: bytes = b""


@dataclass(frozen=True, slots=True)
class Backend:
    """Everything behind a surface that exists only while the app runs."""

    service: AgentService[CallContext]
    dialect_services: Mapping[str, AgentService[CallContext]]
    """The services of dialects with rules of their own."""
    find_task_dialect: TaskDialectLookup
    counters: CounterStore
    clock: Clock
    cors: CORSConfig | None = None
    allowed_hosts: Sequence[str] = ()
    max_caller_streams: int = 0


class Dispatcher:
    """The steps that all endpoints of a surface share."""

    def __init__(self, surface: Surface, features: Sequence[Feature] = ()) -> None:
        check_protection(surface)
        self.surface = surface
        self.features = features
        """Features of the app; one that is added later is among them."""
        self.supported_dialects = SupportedDialects(surface.dialects)
        self._admission = AdmissionControl.build(surface)
        self._origin_policy = OriginPolicy(surface)
        self._agent = surface.chain_name
        self.streams = CallerStreams(surface.limits.streams)
        self._warned: set[str] = set()
        self._watcher = RequestWatcher(surface.limits.body_seconds)
        self._backend: Backend | None = None
        self._unavailability = _NOT_STARTED
        self._has_logged = False
        self._operations: dict[tuple[str, str], Callable[[Any, CallContext], Any]] = {}
        """The methods of the services, by dialect and name."""
        self._clock: Clock = SystemClock()
        self.observation = UNOBSERVED
        """Set where something observes the process: otherwise a request enters no function for it.
        """

    def start(self, backend: Backend) -> None:
        """Serve requests from now on."""
        surface = self.surface
        self._admission = AdmissionControl.build(surface, backend.counters)
        self._origin_policy = OriginPolicy(surface, backend.cors, backend.allowed_hosts)
        for dialect in self.supported_dialects.dialects:
            service = backend.dialect_services.get(dialect.name, backend.service)
            for operation in OPERATIONS.values():
                name = operation.service_method
                self._operations[dialect.name, name] = getattr(service, name)
        self._backend = backend
        self._clock = backend.clock
        self.streams.limit = (
            find_lowest_limit(surface.limits.streams, backend.max_caller_streams) or 0
        )

    def stop(self) -> None:
        """Refuse operations as unavailable from now on."""
        self._backend = None
        self._operations = {}
        self._unavailability = ""

    def interrupt(self) -> None:
        """End all requests that are being processed, streams too."""
        for request in tuple(self._watcher.checks):
            request.interrupt.throw(UnavailableError())

    async def find_task_dialect(self, task_id: str, context: CallContext) -> str | None:
        """Find the dialect in which a task was created."""
        if self._backend is None:
            return None
        return await self._backend.find_task_dialect(task_id, context)

    async def run(
        self, request: HttpRequest, handling: Awaitable[None], send_error: ErrorSender | None = None
    ) -> None:
        """Await the handling of a request; whatever it raises becomes the response, over HTTP
        unless a transport sends errors itself.
        """
        self._watcher.checks[request] = 0
        if not self._watcher.is_running:
            self._watcher.start()
        is_disconnected = False
        observation = self.observation
        began = time.perf_counter() if observation.request_ended else 0.0
        origin = request.origin or Origin()
        origin.agent = self._agent
        outer = current_origin.set(origin).old_value
        try:
            with request.interrupt:
                for wrap in observation.wrap_request:
                    handling = wrap(request, origin, handling)
                await handling
        except ClientDisconnectError:
            is_disconnected = True
        except asyncio.CancelledError as error:
            # The server stops, and its grace period is over; or a client has canceled its call over
            # gRPC.
            is_disconnected = request.binding is ProtocolBinding.GRPC
            if not request.has_started_response:
                await (send_error or self._send_error)(request, UnavailableError())
            if not is_end_of_grace(error):
                raise
        except Exception as error:  # noqa: BLE001 - the edge of a request: every failure is reported to the client
            audit_rejection(request, error)
            await (send_error or self._send_error)(request, error)
        finally:
            origin.operation = request.operation
            current_origin.set(None if outer is Token.MISSING else outer)
            del self._watcher.checks[request]
            if self._admission is not None:
                self._admission.leave(request)
            if observation.request_ended:
                _announce_end(
                    observation,
                    request,
                    time.perf_counter() - began,
                    is_disconnected=is_disconnected,
                )

    async def _send_error(self, request: HttpRequest, error: Exception) -> None:
        if isinstance(error, ChallengeError):
            error.challenge = add_metadata_url(error.challenge, self.surface, request.scope)
        status, body, headers = self.render_error(request, error)
        if isinstance(error, RequestTimeoutError) and request.is_http_1:
            headers = (*headers, _CONNECTION_CLOSE)  # the rest of the body is not read
        media_type = request.response_media_type()
        if (
            request.is_stream
            and status == HTTPStatus.OK
            and DIALECTS[request.dialect].stream_errors_as_events
        ):
            body = encode_event("", body)
            media_type = EVENT_STREAM
            headers = (*headers, _NO_STORE)
        await send_response(request, body, media_type, status=status, headers=headers)

    def render_error(self, request: HttpRequest, error: Exception) -> ErrorResponse:
        """Render an error in the binding and dialect of a request; in the likeliest one if it is
        not parsed.
        """
        request.dialect = request.dialect or self.supported_dialects.fallback(request.version)
        protocol_error = to_protocol_error(error)
        request.error = type(protocol_error)
        return render_error(
            protocol_error, request.dialect, request.binding, request.call_id, request.variants
        )

    async def admit(self, request: HttpRequest) -> Caller:
        """Identify the caller and check the limits, before the body is read; raise the reason why a
        request is not admitted.
        """
        self._origin_policy.check(
            request.headers, is_write=request.scope["method"] not in _SAFE_METHODS
        )
        caller = ANONYMOUS
        gate = self.surface.effective_gate
        if gate is not None:
            admitted = gate.admit(Credentials(request.scope))
            caller = admitted if isinstance(admitted, Caller) else await admitted
            request.caller = caller.owner
        if self._admission is not None:
            self._admission.enter(request, caller)
        return caller

    def read_body(self, request: HttpRequest) -> Awaitable[bytes]:
        """Read the body of an admitted request, within the limits for its size and for its time."""
        self._watcher.checks[request] = 0
        return read_body(request, self.surface.limits.body_bytes)

    def warn_of_ignored(
        self, request: HttpRequest, caller: Caller, binding: AnyBinding, members: Iterable[str]
    ) -> None:
        """Log the members of a request that have no meaning, once for each caller: without them a
        list is longer than its client expects.
        """
        known = {*binding.request.model_fields}
        known |= {binding.request.wire_name(each) for each in binding.request.model_fields}
        for name in sorted(set(members) - known):
            mark = f"{rate_limit_key(request, caller)}\0{name}"
            if mark not in self._warned and len(self._warned) < _MAX_WARNED:
                self._warned.add(mark)
                fix = _explain_member(
                    binding, name, is_call=request.binding is ProtocolBinding.JSONRPC
                )
                log.warning(
                    "%s: %s: member %.50r of a request is ignored; %s",
                    self.surface,
                    binding.operation.name,
                    name,
                    fix,
                )

    def build_context(
        self, request: HttpRequest, caller: Caller, binding: AnyBinding, body: bytes = b""
    ) -> CallContext:
        """Build the context of a call; from here on errors are rendered in the dialect of its
        binding.
        """
        request.dialect = binding.dialect
        request.is_stream = binding.operation.streams
        request.operation = binding.operation.name
        if request_log.isEnabledFor(logging.DEBUG):
            path = self.surface.path or "/"
            owner = caller.owner or "anonymous"
            request_log.debug(
                "%s at %s, in %s, from %s", binding.operation.name, path, binding.dialect, owner
            )
        url = ""
        if binding.operation is GET_EXTENDED_AGENT_CARD and request.has_url:
            url = base_url(request.scope, self.surface.path)
        return CallContext(
            self.surface,
            caller,
            binding.dialect,
            request.binding,
            request.extensions,
            request.last_event_id,
            request.idempotency_key,
            url,
            body,
            origin=request.origin,
            client_address=request.client_address,
        )

    async def invoke(self, request: HttpRequest, invocation: Invocation) -> Any:  # noqa: ANN401 - as _call_service
        """Run an operation within the rate limits and return its result."""
        await self.check_rate(request, invocation.binding.operation, invocation.context.caller)
        return await self._call_service(request, invocation)

    async def check_rate(self, request: HttpRequest, operation: Operation, caller: Caller) -> None:
        """Check the rate limit of one operation."""
        if self._admission is not None:
            await self._admission.check_operation(request, operation, caller)

    async def serve(self, request: HttpRequest, invocation: Invocation) -> None:
        """Run an operation within the rate limits and send its result, as one response or as a
        stream of events.
        """
        binding = invocation.binding
        context = invocation.context
        headers = list_extension_headers(request, context) if request.extensions else []
        if binding.operation.streams:
            return await self._serve_stream(request, invocation, headers)
        if self._admission is not None:
            await self._admission.check_operation(request, binding.operation, context.caller)
        if self.surface.cancel_on_disconnect or (
            request.origin is not None and request.origin.is_canceled_on_disconnect
        ):
            request.interrupt.watch(wait_for_disconnect(request.receive))
        else:
            request.awaits = Awaits.RESULT
            self._watcher.checks[request] = 0
        result = await self._call_service(request, invocation)
        request.awaits = None
        if request.scope["method"] == "GET":
            headers.append(_NO_STORE)
        pieces: tuple[bytes, ...]
        if binding.serialize is None:
            pieces = (_EMPTY_RESULTS[request.binding],)
        elif binding.serialize is serialize_as_is:
            pieces = result.pieces
        else:
            pieces = (binding.serialize(result),)
        media_type = JSON
        if request.binding is not ProtocolBinding.JSONRPC:
            media_type = request.response_media_type()
        return await send_pieces(
            request, (invocation.prefix, *pieces, invocation.suffix), media_type, headers
        )

    async def _serve_stream(
        self, request: HttpRequest, invocation: Invocation, headers: list[Header]
    ) -> None:
        serialize = invocation.binding.serialize
        prefix = invocation.prefix
        suffix = invocation.suffix
        assert serialize is not None, "events have a result"  # noqa: S101 - a fact of the contract

        def encode(event: Event[WireModel]) -> bytes:
            return encode_event(event.cursor, prefix + serialize(event.data) + suffix)

        def encode_error(error: Exception) -> bytes:
            body = self.render_error(request, error).body
            if request.binding is ProtocolBinding.JSONRPC:
                return encode_event("", body)
            return encode_error_event(body)

        if request.is_http_1:
            headers.extend(registry.find_support(invocation.binding.dialect).stream_headers)
        async with self.open_stream(request, invocation) as events:
            await EventStreamResponse(
                request, self.surface.limits.keep_alive_interval, headers
            ).run(events, encode, encode_error)

    @asynccontextmanager
    async def open_stream(
        self, request: HttpRequest, invocation: Invocation
    ) -> AsyncGenerator[AsyncGenerator[Event[WireModel], None], None]:
        """Call a streaming operation within the limits of rates and of open streams, until the
        credentials of its reader expire.
        """
        caller = invocation.context.caller
        if self._admission is not None:
            await self._admission.check_operation(request, invocation.binding.operation, caller)
        with self.streams.hold(rate_limit_key(request, caller)):
            events = self._call_service(request, invocation)
            for wrap in self.observation.wrap_stream:
                events = wrap(events)
            if caller.expires_at is not None:
                request.interrupt.watch(wait_for_expiry(self._clock, caller.expires_at))
            yield events

    def _call_service(self, request: HttpRequest, invocation: Invocation) -> Any:  # noqa: ANN401 - only a binding knows the type of its result
        if not self._operations:
            if self._unavailability and not self._has_logged:
                self._has_logged = True
                log.error("%s: %s", self.surface, self._unavailability)
            raise UnavailableError(self._unavailability)
        binding = invocation.binding
        if binding.operation is CANCEL_TASK and isinstance(invocation.request, CancelTaskRequest):
            audit_cancel(request, invocation.context.caller, invocation.request.id)
        return self._operations[binding.dialect, binding.operation.service_method](
            invocation.request, invocation.context
        )


def _announce_end(
    observation: Observation, request: HttpRequest, seconds: float, *, is_disconnected: bool
) -> None:
    outcome = _DISCONNECTED if is_disconnected else name_outcome(request.error)
    is_refusal = request.error is not None and issubclass(request.error, _REFUSALS)
    for announce in observation.request_ended:
        announce(request, outcome, seconds, is_refusal=is_refusal)


def _explain_member(binding: AnyBinding, name: str, *, is_call: bool) -> str:
    """Explain a member that is ignored: the members that there are, and the variant of the wire
    that reads it.
    """
    hints = (
        variant.explain_member(binding, name, is_call=is_call)
        for variant in registry.load_readers(name)
    )
    offered = ", ".join(map(binding.request.wire_name, binding.request.model_fields))
    return "; ".join((*filter(None, hints), f"there are {offered}"))


def list_extension_headers(request: HttpRequest, context: CallContext) -> list[Header]:
    """List the active extensions, in the header in which the client listed its own."""
    active = context.active_extensions
    if active:
        return [(request.extensions_header, ",".join(active).encode("latin-1", "replace"))]
    return []


class Endpoint(ABC):
    """The ASGI app of one path of a surface."""

    binding: ClassVar[ProtocolBinding] = ProtocolBinding.HTTP

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Respond to an HTTP request; reject a WebSocket."""
        if scope["type"] != ScopeType.HTTP:
            return reject_websocket(send)
        request = HttpRequest(scope, receive, send, self.binding)
        request.variants = self.dispatcher.surface.wire
        if request.repeats_headers and request.has_several_hosts():
            return self.dispatcher.run(request, refuse_hosts())
        return self.dispatcher.run(request, self.handle(request))

    @abstractmethod
    async def handle(self, request: HttpRequest) -> None:
        """Respond to a request, or raise the error that becomes its response."""

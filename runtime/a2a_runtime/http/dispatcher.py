"""What both bindings do alike: let somebody in, ask the service, send its answer as one document or as a stream, and refuse.

Question ──► admit ──► Caller          read by each binding in its own way ──► Inquiry ──► answer
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, NoReturn, TypeAlias

from litestar.types import Receive, Send

from a2a_contract.base import Encoded, WireModel
from a2a_contract.binding import AnyBinding, Operation
from a2a_contract.dialects import MESH
from a2a_contract.errors import PermissionDeniedError, RateLimitedError, RequestTimeoutError, UnauthenticatedError, UnavailableError
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD, OPERATIONS
from a2a_contract.service import AgentService, Event
from a2a_contract.v1_0 import CancelTaskRequest
from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.auth.gate import ANONYMOUS
from a2a_runtime.caller import Caller
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.http.asgi import JSON, ClientDisconnectError, Header, HttpRequest, base_url, read_body, send_response
from a2a_runtime.http.errors import ErrorResponse, render_error, to_protocol_error
from a2a_runtime.http.event_stream import EventStreamResponse, encode_error_event, encode_event
from a2a_runtime.http.middleware import OriginPolicy
from a2a_runtime.http.negotiation import SupportedDialects
from a2a_runtime.http.watchers import BodyTimeout, CredentialExpiry, DisconnectWatcher, SharedDisconnectWatcher
from a2a_runtime.logs import audit, request_log
from a2a_runtime.service.context import CallContext, ProtocolBinding
from a2a_runtime.stores.base import CounterStore
from a2a_runtime.surface import Surface

# What a request passes before it costs anything, and again once it is known what it asks: rates, room, and a line in the audit log.

_AUDIT_EVENTS = {UnauthenticatedError: "refused", PermissionDeniedError: "denied", RateLimitedError: "limited"}


class AdmissionControl:
    """The turnstile of a surface."""

    def __init__(self, surface: Surface) -> None:
        self._storage_key, self._rate_limiter, self._max_concurrent = surface.storage_key, surface.rate_limiter, surface.limits.concurrency
        self._active = 0
        self.is_unlimited = self._rate_limiter is None and self._max_concurrent is None
        """Whether there is nothing to be counted here."""

    def bind_store(self, store: CounterStore) -> None:
        """Count in a store from now on what is counted together with other processes."""
        if self._rate_limiter is not None:
            self._rate_limiter = self._rate_limiter.with_store(store)

    def enter(self, request: HttpRequest, caller: Caller) -> None:
        """Let a request in whose body nobody has read yet, if there is room for it, and its sender may ask anything at all."""
        if self._rate_limiter is not None:
            self._rate_limiter.check_request(self._storage_key, _rate_limit_key(request, caller))
        if self._max_concurrent is not None:
            if self._active >= self._max_concurrent:
                raise UnavailableError
            self._active += 1
            request.has_slot = True

    def leave(self, request: HttpRequest) -> None:
        """Let go of the room that a request took up."""
        if request.has_slot:
            request.has_slot = False
            self._active -= 1

    async def check_operation(self, request: HttpRequest, operation: Operation, caller: Caller) -> None:
        """Count a request that was read, and refuse one that is too many of its kind."""
        if self._rate_limiter is not None:
            await self._rate_limiter.check_operation(self._storage_key, _rate_limit_key(request, caller), operation.name)


def _rate_limit_key(request: HttpRequest, caller: Caller) -> str:
    return f"{caller.tenant}\0{caller.owner}" if caller.owner else client_address(request)


def audit_cancel(http_request: HttpRequest, caller: Caller, request: CancelTaskRequest) -> None:
    """Remember who has asked for an end of what."""
    audit("cancel", **_audit_fields(http_request), caller=caller.owner, tenant=caller.tenant, task=request.id)


def audit_rejection(request: HttpRequest, error: Exception) -> None:
    """Remember who was not let in, and why."""
    event = next((name for kind, name in _AUDIT_EVENTS.items() if isinstance(error, kind)), None)
    if event is not None:
        audit(event, **_audit_fields(request), caller=request.caller, reason=str(error))


def client_address(request: HttpRequest) -> str:
    """Say where a request comes from, as the server tells it."""
    client = request.scope["client"]
    return client[0] if client else ""


def _audit_fields(request: HttpRequest) -> dict[str, str]:
    return {"client": client_address(request), "method": request.scope["method"], "path": request.scope["path"]}


# The type of each pair of request and answer stands in its binding; a table of all of them can only say that there are some.
OperationTable: TypeAlias = Mapping[str, Callable[[Any, CallContext], Any]]


TaskDialectLookup: TypeAlias = Callable[[str, CallContext], Awaitable[str | None]]

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_CONNECTION_KEEP_ALIVE: Header = (b"connection", b"keep-alive")
_CONNECTION_CLOSE: Header = (b"connection", b"close")
_NO_STORE = (b"cache-control", b"no-store")  # an answer is for one caller, and no cache knows which


def _raise_unavailable(_request: object, _call: CallContext) -> NoReturn:
    raise UnavailableError


async def _find_no_dialect(_task_id: str, _call: CallContext) -> str | None:
    return None


def _build_operations(service: AgentService[CallContext]) -> OperationTable:
    return {each.service_method: getattr(service, each.service_method) for each in OPERATIONS.values()}


_STOPPED_OPERATIONS: OperationTable = {each.service_method: _raise_unavailable for each in OPERATIONS.values()}


class Invocation(NamedTuple):
    """A request that was understood: who asks what in which dialect, and what stands around each answer."""

    binding: AnyBinding
    request: WireModel
    context: CallContext
    prefix: bytes = b""
    suffix: bytes = b""
    empty_body: bytes = b"null"
    media_type: bytes = JSON


class Dispatcher:
    """Where the requests to a surface are served."""

    def __init__(self, surface: Surface) -> None:
        surface.check_protection()
        self.surface = surface
        self.supported_dialects = SupportedDialects(surface.dialects)
        self._gate, self._admission = surface.gate, AdmissionControl(surface)
        self.origin_policy = OriginPolicy(surface)
        """Whose pages may call; the app says which others may, once it is known."""
        self._clock: Clock = SystemClock()
        self._disconnect_watcher = SharedDisconnectWatcher()
        seconds = surface.limits.body_seconds
        self._body_timeout = None if seconds is None else BodyTimeout(seconds)
        self._operations: Mapping[str, OperationTable] = {}
        self._find_task_dialect: TaskDialectLookup = _find_no_dialect
        self.stop()

    def bind_store(self, store: CounterStore, clock: Clock) -> None:
        """Count in a store what all processes of the agent count together, and tell the time by a clock."""
        self._admission.bind_store(store)
        self._clock = clock

    def start(
        self,
        service: AgentService[CallContext],
        overrides: Mapping[str, AgentService[CallContext]] | None = None,
        task_dialect: TaskDialectLookup | None = None,
    ) -> None:
        """Serve with a service from now on; with another one in some dialects. ``home`` says in which dialect a task was created."""
        self._operations = {each.name: _build_operations((overrides or {}).get(each.name, service)) for each in self.supported_dialects.dialects}
        self._find_task_dialect = task_dialect or _find_no_dialect

    def stop(self) -> None:
        """Serve no more."""
        self._operations, self._find_task_dialect = {each.name: _STOPPED_OPERATIONS for each in self.supported_dialects.dialects}, _find_no_dialect

    async def task_dialect(self, task_id: str, context: CallContext) -> str | None:
        """Say in which dialect a task was created."""
        return await self._find_task_dialect(task_id, context)

    async def run(self, request: HttpRequest, handling: Awaitable[None], send: Send) -> None:
        """See to it that a question gets one answer, whatever happens."""
        try:
            await handling
        except ClientDisconnectError:
            return
        except asyncio.CancelledError:  # the server stops, and has waited long enough
            if not request.has_started_response:
                await self._send_error(request, UnavailableError(), send)
            raise
        except Exception as error:  # noqa: BLE001 - the edge of a request: whatever fails, the client is told
            await self._send_error(request, error, send)
        finally:
            if request.has_slot:
                self._admission.leave(request)

    async def _send_error(self, request: HttpRequest, error: Exception, send: Send) -> None:
        audit_rejection(request, error)
        status, body, headers = self.render_error(request, error)
        if isinstance(error, RequestTimeoutError) and _is_http_1(request):
            headers = (*headers, _CONNECTION_CLOSE)  # what is still to come is waited for by nobody
        await send_response(send, body, request.response_media_type(), status, headers)

    async def admit(self, request: HttpRequest) -> Caller:
        """Let the sender of a request in, or raise why they may not come in, or not now: before anything of the body is read."""
        if request.scope["method"] not in _SAFE_METHODS:
            self.origin_policy.check(request.headers)
        caller = ANONYMOUS
        if self._gate is not None:
            admitted = self._gate.admit(Credentials(request.scope))
            caller = admitted if isinstance(admitted, Caller) else await admitted
            request.caller = caller.owner
        if not self._admission.is_unlimited:
            self._admission.enter(request, caller)
        return caller

    def read_body(self, request: HttpRequest, receive: Receive) -> Awaitable[bytes]:
        """Read the body of a request that was let in, as far as it is not too large and comes in time."""
        reading = read_body(receive, request.headers, self.surface.limits.body_bytes)
        return reading if self._body_timeout is None else self._body_timeout.wait(receive, reading)

    def build_context(self, request: HttpRequest, caller: Caller, binding: AnyBinding) -> CallContext:
        """Put together what the service knows of a request besides the request."""
        request.dialect = binding.dialect
        if request_log.isEnabledFor(logging.DEBUG):
            request_log.debug(
                "%s at %s, in %s, from %s", binding.operation.name, self.surface.path or "/", binding.dialect, caller.owner or "anybody"
            )
        address = base_url(request.scope, self.surface.path) if binding.operation is GET_EXTENDED_AGENT_CARD else ""
        return CallContext(
            self.surface,
            caller,
            binding.dialect,
            request.binding,
            request.extensions,
            request.last_event_id,
            request.idempotency_key,
            address,
        )

    async def invoke(self, http_request: HttpRequest, binding: AnyBinding, request: WireModel, context: CallContext) -> Any:  # noqa: ANN401 - as the table of operations
        """Ask the service what a binding stands for."""
        await self._admission.check_operation(http_request, binding.operation, context.caller)
        return await self._operations[binding.dialect][binding.operation.service_method](request, context)

    def serve(self, request: HttpRequest, invocation: Invocation, receive: Receive, send: Send) -> Coroutine[object, object, None]:
        """Ask the service, and send what it says."""
        return (self._serve if self._admission.is_unlimited else self._serve_counted)(request, invocation, receive, send)

    async def _serve_counted(self, request: HttpRequest, invocation: Invocation, receive: Receive, send: Send) -> None:
        await self._admission.check_operation(request, invocation.binding.operation, invocation.context.caller)
        return await self._serve(request, invocation, receive, send)

    async def _serve(self, http_request: HttpRequest, invocation: Invocation, receive: Receive, send: Send) -> None:
        binding, request, call, head, tail, nothing, media_type = invocation
        operation = binding.operation
        if operation.streams:
            return await self._stream(http_request, invocation, receive, send)
        if isinstance(request, CancelTaskRequest):
            audit_cancel(http_request, call.caller, request)
        asked = self._operations[binding.dialect][operation.service_method](request, call)
        answer = await (_cancel_on_disconnect(receive, asked) if self.surface.cancel_on_disconnect else self._disconnect_watcher.wait(receive, asked))
        body = nothing if binding.serialize is None else binding.serialize(answer)
        headers = _extension_headers(http_request, call) if http_request.extensions else []
        if http_request.scope["method"] == "GET":
            headers.append(_NO_STORE)
        return await send_response(send, head + body + tail if head else body, media_type, headers=headers)

    async def _stream(self, request: HttpRequest, invocation: Invocation, receive: Receive, send: Send) -> None:
        binding = invocation.binding
        events = self._operations[binding.dialect][binding.operation.service_method](invocation.request, invocation.context)
        headers = _extension_headers(request, invocation.context) if request.extensions else []
        if binding.dialect == MESH.name and _is_http_1(request):
            headers.append(_CONNECTION_KEEP_ALIVE)
        expiry = CredentialExpiry(self._clock, invocation.context.caller.expires_at)
        stream = EventStreamResponse(receive, send, self.surface.limits.keep_alive_interval, headers, expiry)
        try:
            await stream.run(_encode_events(events, invocation), lambda error: _encode_final_error(request, self.render_error(request, error)))
        finally:
            request.has_started_response = stream.has_started

    @staticmethod
    def render_error(request: HttpRequest, error: Exception) -> ErrorResponse:
        """Write an error as the sender of a question reads errors."""
        return render_error(to_protocol_error(error), request.dialect, request.binding, request.call_id)


async def _encode_events(events: AsyncGenerator[Event[WireModel], None], invocation: Invocation) -> AsyncGenerator[bytes, None]:
    write, head, tail = invocation.binding.serialize, invocation.prefix, invocation.suffix
    assert write is not None, "a stream has something to say"  # noqa: S101 - a fact of the contract
    async with aclosing(events):
        async for event in events:
            yield encode_event(event.seq, head + write(event.data) + tail)


def _is_http_1(request: HttpRequest) -> bool:
    """Whether answers may say something about the connection: later versions of HTTP forbid it."""
    return request.scope["http_version"].startswith("1")


def _encode_final_error(request: HttpRequest, shown: ErrorResponse) -> bytes:
    """Write the end of a stream that has failed: an answer to the call, or an event of its own kind where there are no calls."""
    return encode_event(0, shown.body) if request.binding is ProtocolBinding.JSONRPC else encode_error_event(shown.body)


async def _cancel_on_disconnect(receive: Receive, operation: Awaitable[Encoded[WireModel]]) -> Encoded[WireModel]:
    async with DisconnectWatcher(receive):
        return await operation
    raise ClientDisconnectError


def _extension_headers(request: HttpRequest, context: CallContext) -> list[Header]:
    """Name the extensions that are in effect, in the header in which the client named those that it knows."""
    activated = context.active_extensions
    return [(request.extensions_header, ",".join(activated).encode("latin-1", "replace"))] if activated else []

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
from a2a_runtime.auth.gate import ANYONE
from a2a_runtime.caller import Caller
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.http.asgi import JSON, GoneError, Header, Question, base_url, read_body, reply
from a2a_runtime.http.errors import Shown, failure_of, show
from a2a_runtime.http.event_stream import EventStream, error_frame, frame
from a2a_runtime.http.middleware import Pages
from a2a_runtime.http.negotiation import Spoken
from a2a_runtime.http.watchers import Deadline, Expiry, Listener, Patrol
from a2a_runtime.logs import calls, record
from a2a_runtime.service.context import BindingKind, Call
from a2a_runtime.stores.base import Tally
from a2a_runtime.surface import Surface

# What a request passes before it costs anything, and again once it is known what it asks: rates, room, and a line in the audit log.

_EVENTS = {UnauthenticatedError: "refused", PermissionDeniedError: "denied", RateLimitedError: "limited"}


class Turnstile:
    """The turnstile of a surface."""

    def __init__(self, surface: Surface) -> None:
        self._surface, self._rates, self._room = surface.room, surface.rates, surface.limits.concurrency
        self._inside = 0
        self.is_open = self._rates is None and self._room is None
        """Whether there is nothing to be counted here."""

    def count_in(self, store: Tally) -> None:
        """Count in a store from now on what is counted together with other processes."""
        if self._rates is not None:
            self._rates = self._rates.counted_in(store)

    def enter(self, question: Question, caller: Caller) -> None:
        """Let a request in whose body nobody has read yet, if there is room for it, and its sender may ask anything at all."""
        if self._rates is not None:
            self._rates.knock(self._surface, _who(question, caller))
        if self._room is not None:
            if self._inside >= self._room:
                raise UnavailableError
            self._inside += 1
            question.has_room = True

    def leave(self, question: Question) -> None:
        """Let go of the room that a request took up."""
        if question.has_room:
            question.has_room = False
            self._inside -= 1

    async def count(self, question: Question, operation: Operation, caller: Caller) -> None:
        """Count a request that was read, and refuse one that is too many of its kind."""
        if self._rates is not None:
            await self._rates.spend(self._surface, _who(question, caller), operation.name)


def _who(question: Question, caller: Caller) -> str:
    return f"{caller.tenant}\0{caller.owner}" if caller.owner else address_of(question)


def note_cancel(question: Question, caller: Caller, request: CancelTaskRequest) -> None:
    """Remember who has asked for an end of what."""
    record("cancel", **_where(question), caller=caller.owner, tenant=caller.tenant, task=request.id)


def note_refusal(question: Question, error: Exception) -> None:
    """Remember who was not let in, and why."""
    event = next((name for kind, name in _EVENTS.items() if isinstance(error, kind)), None)
    if event is not None:
        record(event, **_where(question), caller=question.caller, reason=str(error))


def address_of(question: Question) -> str:
    """Say where a request comes from, as the server tells it."""
    client = question.scope["client"]
    return client[0] if client else ""


def _where(question: Question) -> dict[str, str]:
    return {"client": address_of(question), "method": question.scope["method"], "path": question.scope["path"]}


# The type of each pair of request and answer stands in its binding; a table of all of them can only say that there are some.
Operations: TypeAlias = Mapping[str, Callable[[Any, Call], Any]]


Home: TypeAlias = Callable[[str, Call], Awaitable[str | None]]

_READING = frozenset(("GET", "HEAD", "OPTIONS"))
_KEEP_ALIVE: Header = (b"connection", b"keep-alive")
_CLOSE: Header = (b"connection", b"close")
_NOT_KEPT = (b"cache-control", b"no-store")  # an answer is for one caller, and no cache knows which


def _closed(_request: object, _call: Call) -> NoReturn:
    raise UnavailableError


async def _nowhere(_task_id: str, _call: Call) -> str | None:
    return None


def _operations_of(service: AgentService[Call]) -> Operations:
    return {each.service_method: getattr(service, each.service_method) for each in OPERATIONS.values()}


_CLOSED: Operations = {each.service_method: _closed for each in OPERATIONS.values()}


class Inquiry(NamedTuple):
    """A request that was understood: who asks what in which dialect, and what stands around each answer."""

    binding: AnyBinding
    request: WireModel
    call: Call
    head: bytes = b""
    tail: bytes = b""
    nothing: bytes = b"null"
    media_type: bytes = JSON


class Counter:
    """Where the requests to a surface are served."""

    def __init__(self, surface: Surface) -> None:
        surface.check_protection()
        self.surface = surface
        self.spoken = Spoken(surface.dialects)
        self._gate, self._turnstile = surface.gate, Turnstile(surface)
        self.pages = Pages(surface)
        """Whose pages may call; the app says which others may, once it is known."""
        self._clock: Clock = SystemClock()
        self._patrol = Patrol()
        seconds = surface.limits.body_seconds
        self._deadline = None if seconds is None else Deadline(seconds)
        self._operations: Mapping[str, Operations] = {}
        self._home: Home = _nowhere
        self.close()

    def live_by(self, store: Tally, clock: Clock) -> None:
        """Count in a store what all processes of the agent count together, and tell the time by a clock."""
        self._turnstile.count_in(store)
        self._clock = clock

    def open(self, service: AgentService[Call], others: Mapping[str, AgentService[Call]] | None = None, home: Home | None = None) -> None:
        """Serve with a service from now on; with another one in some dialects. ``home`` says in which dialect a task was created."""
        self._operations = {each.name: _operations_of((others or {}).get(each.name, service)) for each in self.spoken.dialects}
        self._home = home or _nowhere

    def close(self) -> None:
        """Serve no more."""
        self._operations, self._home = {each.name: _CLOSED for each in self.spoken.dialects}, _nowhere

    async def home(self, task_id: str, call: Call) -> str | None:
        """Say in which dialect a task was created."""
        return await self._home(task_id, call)

    async def attend(self, question: Question, answering: Awaitable[None], send: Send) -> None:
        """See to it that a question gets one answer, whatever happens."""
        try:
            await answering
        except GoneError:
            return
        except asyncio.CancelledError:  # the server stops, and has waited long enough
            if not question.is_answered:
                await self._refuse(question, UnavailableError(), send)
            raise
        except Exception as error:  # noqa: BLE001 - the edge of a request: whatever fails, the client is told
            await self._refuse(question, error, send)
        finally:
            if question.has_room:
                self._turnstile.leave(question)

    async def _refuse(self, question: Question, error: Exception, send: Send) -> None:
        note_refusal(question, error)
        status, body, headers = self.shown(question, error)
        if isinstance(error, RequestTimeoutError) and _is_http_1(question):
            headers = (*headers, _CLOSE)  # what is still to come is waited for by nobody
        await reply(send, body, question.media_type(), status, headers)

    async def admit(self, question: Question) -> Caller:
        """Let the sender of a request in, or raise why they may not come in, or not now: before anything of the body is read."""
        if question.scope["method"] not in _READING:
            self.pages.check(question.headers)
        caller = ANYONE
        if self._gate is not None:
            admitted = self._gate.admit(Credentials(question.scope))
            caller = admitted if isinstance(admitted, Caller) else await admitted
            question.caller = caller.owner
        if not self._turnstile.is_open:
            self._turnstile.enter(question, caller)
        return caller

    def body(self, question: Question, receive: Receive) -> Awaitable[bytes]:
        """Read the body of a request that was let in, as far as it is not too large and comes in time."""
        reading = read_body(receive, question.headers, self.surface.limits.body)
        return reading if self._deadline is None else self._deadline.wait(receive, reading)

    def call(self, question: Question, caller: Caller, binding: AnyBinding) -> Call:
        """Put together what the service knows of a request besides the request."""
        question.dialect = binding.dialect
        if calls.isEnabledFor(logging.DEBUG):
            calls.debug("%s at %s, in %s, from %s", binding.operation.name, self.surface.path or "/", binding.dialect, caller.owner or "anybody")
        address = base_url(question.scope, self.surface.path) if binding.operation is GET_EXTENDED_AGENT_CARD else ""
        return Call(
            self.surface,
            caller,
            binding.dialect,
            question.binding,
            question.extensions,
            question.last_event_id,
            question.idempotency_key,
            address,
        )

    async def asked(self, question: Question, binding: AnyBinding, request: WireModel, call: Call) -> Any:  # noqa: ANN401 - as the table of operations
        """Ask the service what a binding stands for."""
        await self._turnstile.count(question, binding.operation, call.caller)
        return await self._operations[binding.dialect][binding.operation.service_method](request, call)

    def serve(self, question: Question, inquiry: Inquiry, receive: Receive, send: Send) -> Coroutine[object, object, None]:
        """Ask the service, and send what it says."""
        return (self._serve if self._turnstile.is_open else self._serve_counted)(question, inquiry, receive, send)

    async def _serve_counted(self, question: Question, inquiry: Inquiry, receive: Receive, send: Send) -> None:
        await self._turnstile.count(question, inquiry.binding.operation, inquiry.call.caller)
        return await self._serve(question, inquiry, receive, send)

    async def _serve(self, question: Question, inquiry: Inquiry, receive: Receive, send: Send) -> None:
        binding, request, call, head, tail, nothing, media_type = inquiry
        operation = binding.operation
        if operation.streams:
            return await self._stream(question, inquiry, receive, send)
        if isinstance(request, CancelTaskRequest):
            note_cancel(question, call.caller, request)
        asked = self._operations[binding.dialect][operation.service_method](request, call)
        answer = await (_while_there(receive, asked) if self.surface.cancel_on_disconnect else self._patrol.wait(receive, asked))
        body = nothing if binding.write is None else binding.write(answer)
        headers = _echo(question, call) if question.extensions else []
        if question.scope["method"] == "GET":
            headers.append(_NOT_KEPT)
        return await reply(send, head + body + tail if head else body, media_type, headers=headers)

    async def _stream(self, question: Question, inquiry: Inquiry, receive: Receive, send: Send) -> None:
        binding = inquiry.binding
        events = self._operations[binding.dialect][binding.operation.service_method](inquiry.request, inquiry.call)
        headers = _echo(question, inquiry.call) if question.extensions else []
        if binding.dialect == MESH.name and _is_http_1(question):
            headers.append(_KEEP_ALIVE)
        expiry = Expiry(self._clock, inquiry.call.caller.expires)
        stream = EventStream(receive, send, self.surface.limits.keep_alive, headers, expiry)
        try:
            await stream.run(_frames(events, inquiry), lambda error: _last_words(question, self.shown(question, error)))
        finally:
            question.is_answered = stream.has_begun

    @staticmethod
    def shown(question: Question, error: Exception) -> Shown:
        """Write an error as the sender of a question reads errors."""
        return show(failure_of(error), question.dialect, question.binding, question.call_id)


async def _frames(events: AsyncGenerator[Event[WireModel], None], inquiry: Inquiry) -> AsyncGenerator[bytes, None]:
    write, head, tail = inquiry.binding.write, inquiry.head, inquiry.tail
    assert write is not None, "a stream has something to say"  # noqa: S101 - a fact of the contract
    async with aclosing(events):
        async for event in events:
            yield frame(event.seq, head + write(event.data) + tail)


def _is_http_1(question: Question) -> bool:
    """Whether answers may say something about the connection: later versions of HTTP forbid it."""
    return question.scope["http_version"].startswith("1")


def _last_words(question: Question, shown: Shown) -> bytes:
    """Write the end of a stream that has failed: an answer to the call, or an event of its own kind where there are no calls."""
    return frame(0, shown.body) if question.binding is BindingKind.JSONRPC else error_frame(shown.body)


async def _while_there(receive: Receive, asked: Awaitable[Encoded[WireModel]]) -> Encoded[WireModel]:
    async with Listener(receive):
        return await asked
    raise GoneError


def _echo(question: Question, call: Call) -> list[Header]:
    """Name the extensions that are in effect, in the header in which the client named those that it knows."""
    activated = call.activated
    return [(question.echo, ",".join(activated).encode("latin-1", "replace"))] if activated else []

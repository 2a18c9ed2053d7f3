"""The API of the page: JSON over a few paths, the same for both places.

    GET  agents                            the agents of this place
    GET  agents/{id}                       the card of one, described
    POST agents/{id}/operations/{name}     one operation
    POST agents/{id}/streams/{name}        one stream, as server-sent events
    POST agents/{id}/snippets              the same request for terminals and programs
    POST agents/{id}/sign-in               where to sign in; token: a token for its code

Every request passes ``AgentDirectory.check`` first. Bodies, open requests and responses of agents
are
bounded. A request ends when the page goes away.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from pydantic_core import from_json, to_json

from a2a_contract.errors import (
    A2AError,
    InternalError,
    MethodNotAllowedError,
    MethodNotFoundError,
    ParseError,
    RequestTimeoutError,
)
from a2a_runtime.client.errors import A2AClientError
from a2a_runtime.features.explorer.card import describe_agent
from a2a_runtime.features.explorer.directory import AgentDirectory, ExploredAgent
from a2a_runtime.features.explorer.errors import explain_error
from a2a_runtime.features.explorer.operations import (
    ERROR,
    PageCall,
    PageEvent,
    run_operation,
    stream_operation,
)
from a2a_runtime.features.explorer.places import Places
from a2a_runtime.features.explorer.session import AgentSession, CardReading, build_masker
from a2a_runtime.features.explorer.sign_in import build_sign_in, exchange_code
from a2a_runtime.features.explorer.snippets import build_snippets
from a2a_runtime.features.explorer.visitor import CREDENTIALS_HEADER, VisitorCredentials
from a2a_runtime.features.explorer.wire import Masker, WireRecorder
from a2a_runtime.http.asgi import ClientDisconnectError, HttpRequest, read_body, send_response
from a2a_runtime.http.event_stream import EventStreamResponse, to_ascii_json
from a2a_runtime.http.watchers import wait_for_disconnect

MAX_BODY_BYTES = 32_000_000
_MAX_CARDS = 32
_BODY_SECONDS = 30.0
_KEEP_ALIVE_SECONDS = 15.0
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

log = logging.getLogger(__name__)


class ExplorerApi:
    """The API over the agents of one place."""

    def __init__(self, directory: AgentDirectory, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._directory = directory
        self._max_body_bytes = max_body_bytes
        self._places = Places()
        self._cards: OrderedDict[tuple[str, VisitorCredentials], CardReading] = OrderedDict()
        """Cards of agents elsewhere, so that an operation is one request there; the page reads a
        card again to renew it.
        """

    async def handle(self, request: HttpRequest, path: str) -> None:
        """Respond to a request below ``api/``."""
        recorder = WireRecorder(Masker())
        try:
            with self._places.take(request):
                await self._respond(request, path, recorder)
        except ClientDisconnectError:
            return
        except (A2AError, A2AClientError) as error:
            await self._send_error(request, error, recorder)
        except Exception:
            # this is the edge of a request
            log.exception("explorer: %s %s failed", request.scope["method"], path)
            await self._send_error(request, InternalError(), recorder)

    async def _respond(self, request: HttpRequest, path: str, recorder: WireRecorder) -> None:
        self._directory.check(request)
        visitor = VisitorCredentials.parse(
            request.headers.get(CREDENTIALS_HEADER.encode(), b"").decode("latin-1")
        )
        root, *rest = path.strip("/").split("/")
        if root != "agents":
            raise MethodNotFoundError(f"{path}: not a path of the explorer")
        if not rest:
            _require_method(request, "GET")
            agents = await self._directory.list_agents(request)
            await _send_json(
                request,
                {"mode": self._directory.mode, "agents": [each.to_dict() for each in agents]},
            )
            return
        agent = await self._directory.find_agent(request, rest[0])
        if agent is None:
            raise MethodNotFoundError(
                f"agent {rest[0]!r}: not here; GET agents lists those that are"
            )
        visitor = agent.restrict(visitor)
        recorder.masker = build_masker(agent, visitor)
        await self._respond_for(request, _Visit(agent, visitor, recorder), rest[1:])

    async def _respond_for(self, request: HttpRequest, visit: _Visit, steps: Sequence[str]) -> None:
        if not steps:
            _require_method(request, "GET")
            await self._run(request, visit, self._describe(visit))
            return
        _require_method(request, "POST")
        document = await self._read_json(request)
        match steps:
            case ["operations", name]:
                await self._run(
                    request,
                    visit,
                    self._operate(visit, PageCall.parse(name, document, streams=False)),
                )
            case ["streams", name]:
                await self._stream(request, visit, PageCall.parse(name, document, streams=True))
            case ["snippets"]:
                await self._run(
                    request,
                    visit,
                    self._with_card(
                        visit, lambda session, card: build_snippets(session, card, document)
                    ),
                )
            case ["sign-in"]:
                await self._run(
                    request,
                    visit,
                    self._with_card(
                        visit, lambda session, card: build_sign_in(session, card, document)
                    ),
                )
            case ["token"]:
                await self._run(
                    request,
                    visit,
                    self._with_card(
                        visit, lambda session, card: exchange_code(session, card, document)
                    ),
                )
            case _:
                raise MethodNotFoundError(f"{'/'.join(steps)}: not a path of the explorer")

    async def _run(
        self, request: HttpRequest, visit: _Visit, work: Awaitable[Mapping[str, object]]
    ) -> None:
        """Send the result of work, which ends when the page goes away."""
        with request.interrupt as interrupt:
            interrupt.watch(wait_for_disconnect(request.receive))
            result = await work
        await _send_json(request, {"exchanges": visit.recorder.to_list(), **result})

    async def _describe(self, visit: _Visit) -> Mapping[str, object]:
        async with visit.open() as session:
            described = await describe_agent(session)
        self._cards.pop(visit.key, None)
        return described

    async def _operate(self, visit: _Visit, call: PageCall) -> Mapping[str, object]:
        started = asyncio.get_running_loop().time()
        async with visit.open(await self._find_card(visit)) as session:
            result = await run_operation(session, call)
        seconds = asyncio.get_running_loop().time() - started
        return {"result": result, "milliseconds": round(seconds * 1000, 1)}

    async def _with_card(
        self,
        visit: _Visit,
        work: Callable[[AgentSession, CardReading], Awaitable[Mapping[str, object]]],
    ) -> Mapping[str, object]:
        known = await self._find_card(visit)
        async with visit.open(known) as session:
            return await work(session, known)

    async def _stream(self, request: HttpRequest, visit: _Visit, call: PageCall) -> None:
        reading = await self._find_card(visit)
        response = EventStreamResponse(request, _KEEP_ALIVE_SECONDS, _HEADERS)

        async def read() -> AsyncGenerator[PageEvent, None]:
            async with (
                visit.open(reading) as session,
                aclosing(stream_operation(session, call)) as events,
            ):
                async for event in events:
                    yield event

        def encode_error(error: Exception) -> bytes:
            known = error if isinstance(error, A2AError | A2AClientError) else InternalError()
            if known is not error:
                log.error("explorer: stream of %s failed", call.operation.name, exc_info=error)
            return _encode(PageEvent(ERROR, _build_error(known, visit.recorder)[1]))

        await response.run(read(), _encode, encode_error)

    async def _find_card(self, visit: _Visit) -> CardReading:
        """Find the card that was read before, or read it; in this process it is always read."""
        if (known := self._cards.get(visit.key)) is not None:
            self._cards.move_to_end(visit.key)
            return known
        async with visit.open() as session:
            reading = await session.read_card()
        visit.recorder.clear()
        if visit.agent.transport is None and reading.resolved is not None:
            self._cards[visit.key] = reading
            while len(self._cards) > _MAX_CARDS:
                self._cards.popitem(last=False)
        return reading

    async def _read_json(self, request: HttpRequest) -> object:
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                body = await read_body(request, self._max_body_bytes)
        except TimeoutError:
            raise RequestTimeoutError(
                f"Request body: not received within {_BODY_SECONDS:g} s"
            ) from None
        try:
            document: object = from_json(body, allow_inf_nan=False) if body else {}
        except ValueError as error:
            raise ParseError(fields=(("", f"Invalid JSON: {error}"),)) from error
        return document

    async def _send_error(
        self, request: HttpRequest, error: A2AError | A2AClientError, recorder: WireRecorder
    ) -> None:
        status, document = _build_error(error, recorder)
        await _send_json(request, document, status)


class _Visit:
    """An agent, the credentials for it, and the record of one request of the page."""

    def __init__(
        self, agent: ExploredAgent, visitor: VisitorCredentials, recorder: WireRecorder
    ) -> None:
        self.agent = agent
        self.visitor = visitor
        self.recorder = recorder

    @property
    def key(self) -> tuple[str, VisitorCredentials]:
        """Key of what this visitor may see of the agent."""
        return self.agent.id, self.visitor

    def open(self, reading: CardReading | None = None) -> AgentSession:
        """Open the connections, with a card that is known."""
        return AgentSession(self.agent, self.visitor, self.recorder, reading)


def _require_method(request: HttpRequest, method: str) -> None:
    if request.scope["method"] != method:
        raise MethodNotAllowedError(
            f"{request.scope['method']}: not allowed here; use {method}", details={"allow": method}
        )


def _build_error(
    error: A2AError | A2AClientError, recorder: WireRecorder
) -> tuple[int, dict[str, object]]:
    status, explained = explain_error(error, recorder.masker)
    origin = "agent" if recorder.exchanges else "explorer"
    return status, {"error": {**explained, "origin": origin}, "exchanges": recorder.to_list()}


def _encode(event: PageEvent) -> bytes:
    head = f"event: {event.kind}\n"
    if event.cursor and event.cursor.isprintable():
        head += f"id: {event.cursor}\n"
    return b"%bdata: %b\n\n" % (head.encode(), to_ascii_json(to_json(event.data)))


async def _send_json(request: HttpRequest, document: object, status: int = 200) -> None:
    await send_response(request, to_json(document), status=status, headers=_HEADERS)

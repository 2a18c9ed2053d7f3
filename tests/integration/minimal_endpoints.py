"""Minimal endpoints behind the generated controllers: they parse, call, serialize and encode
events, without any protection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send
from pydantic import ValidationError
from pydantic_core import to_json

from a2a_contract.base import Encoded, WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.errors import (
    ERRORS,
    A2AError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    NotACallError,
    ParseError,
)
from a2a_contract.field_paths import field_paths
from a2a_contract.http import CardRoute, Route, RouteMatch
from a2a_contract.jsonrpc import CallProblem, InvalidCallError, JsonRpcParser, ParsedCall
from a2a_contract.methods import METHODS
from a2a_contract.service import Event

ServiceResult: TypeAlias = "Awaitable[Encoded[WireModel] | None] | AsyncIterator[Event[WireModel]]"
_ERROR_BY_PROBLEM = {
    CallProblem.NOT_JSON: ParseError,
    CallProblem.NOT_AN_OBJECT: NotACallError,
    CallProblem.NOT_A_CALL: InvalidRequestError,
    CallProblem.UNKNOWN_METHOD: MethodNotFoundError,
    CallProblem.WRONG_PARAMS: InvalidParamsError,
}


@dataclass
class RecordingService:
    """A service that records its calls; an operation without a result yields the events."""

    results: Mapping[str, Encoded[WireModel] | None]
    events: tuple[Encoded[WireModel], ...] = ()
    calls: list[tuple[str, WireModel]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[[WireModel, None], ServiceResult]:
        def operation(request: WireModel, _call: None) -> ServiceResult:
            self.calls.append((name, request))
            if name in self.results:
                return self._return_result(name)
            return self._yield_events()

        return operation

    async def _return_result(self, name: str) -> Encoded[WireModel] | None:
        return self.results[name]

    async def _yield_events(self) -> AsyncIterator[Event[WireModel]]:
        for seq, each in enumerate(self.events, 1):
            yield Event(seq, each)


class MinimalEndpoints:
    """Endpoints for some dialects of one service; the first dialect that can parse a request
    responds to it.
    """

    def __init__(self, service: object, *dialects: str) -> None:
        self.service = service
        self.dialects = dialects
        self._parser = JsonRpcParser(
            [METHODS[dialect] for dialect in dialects if dialect in METHODS] or METHODS.values()
        )

    async def jsonrpc(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a call."""
        if scope["type"] != ScopeType.HTTP:
            return await send({"type": "websocket.close", "code": 1000, "reason": None})
        if scope["method"] != "POST":
            return await _send(send, ERRORS[MethodNotAllowedError].http, b"")
        try:
            call = self._parser.parse(await _read_body(receive))
        except InvalidCallError as error:
            refusal = _ERROR_BY_PROBLEM[error.problem](
                fields=error.fields, details={"method": error.method or ""}
            )
            return await self._send_error(send, refusal, self.dialects[0], error.call_id)
        return await self._handle_call(send, call)

    def http(self, route: Route) -> ASGIApp:
        """Return the endpoint of a route."""

        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            assert scope["type"] == ScopeType.HTTP
            found = route.match(scope["method"], tuple(scope["path_params"].values()))
            if found is None:
                return await _send(
                    send,
                    405,
                    b"",
                    allow=", ".join(route.methods(tuple(scope["path_params"].values()))),
                )
            return await self._handle_match(
                send, found, scope["query_string"], await _read_body(receive)
            )

        return respond

    def card(self, route: CardRoute) -> ASGIApp:
        """Return the endpoint of a card."""

        async def respond(_scope: Scope, _receive: Receive, send: Send) -> None:
            await _send(send, 200, to_json({"path": route.path, "dialects": route.dialects}))

        return respond

    async def _handle_call(self, send: Send, call: ParsedCall) -> None:
        binding = call.bindings[0]
        head = b'{"jsonrpc":"2.0","id":' + call.call_id + b',"result":'
        try:
            await self._write(send, binding, call.requests[binding.dialect], head, b"}")
        except ValidationError as error:
            await self._send_error(
                send, InvalidParamsError(fields=field_paths(error)), binding.dialect, call.call_id
            )
        except A2AError as error:
            await self._send_error(send, error, binding.dialect, call.call_id)

    async def _handle_match(self, send: Send, match: RouteMatch, query: bytes, body: bytes) -> None:
        choice = next(each for each in match.bindings if each.binding.dialect in self.dialects)
        try:
            await self._write(send, choice.binding, match.parse(choice, query, body))
        except ValidationError as error:
            await _send(send, 400, to_json({"fields": field_paths(error)}))
        except A2AError as error:
            row = ERRORS[type(error)].in_dialect(choice.binding.dialect)
            await _send(send, row.http, to_json({"code": row.code, "message": row.text(error)}))

    async def _write(
        self,
        send: Send,
        binding: AnyBinding,
        request: WireModel,
        prefix: bytes = b"",
        suffix: bytes = b"",
    ) -> None:
        answer = getattr(self.service, binding.operation.service_method)(
            binding.parse(request), None
        )
        if not binding.operation.streams:
            result = await answer
            return await _send(
                send,
                200,
                prefix
                + (b"null" if binding.serialize is None else binding.serialize(result))
                + suffix,
            )
        assert binding.serialize is not None
        frames = [
            b"id: %d\ndata: %b\n\n" % (event.seq, prefix + binding.serialize(event.data) + suffix)
            async for event in answer
        ]
        return await _send(send, 200, b"".join(frames), "text/event-stream")

    @staticmethod
    async def _send_error(send: Send, error: A2AError, dialect: str, call_id: bytes) -> None:
        row = ERRORS[type(error)].in_dialect(dialect)
        error_object = {"code": row.code, "message": row.text(error), "data": error.fields}
        await _send(
            send,
            row.jsonrpc_status,
            b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (call_id, to_json(error_object)),
        )


async def _read_body(receive: Receive) -> bytes:
    body = b""
    more = True
    while more:
        message = await receive()
        assert message["type"] == "http.request"
        body = body + message["body"]
        more = message.get("more_body", False)
    return body


async def _send(
    send: Send, status: int, body: bytes, media_type: str = "application/json", **headers: str
) -> None:
    sent = {"content-type": media_type, "content-length": str(len(body)), **headers}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})

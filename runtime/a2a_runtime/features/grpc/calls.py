"""Calls of the methods of the contract, in both versions: each passes the steps of the
``Dispatcher`` of its surface.

What ends a call early:

    the caller cancels it, or its deadline passes    gRPC cancels the asyncio task of the call;
                                                     the task of the agent goes on
    the credentials of a stream's reader expire      UNAUTHENTICATED; with new ones the reader
                                                     continues after its last event
    the server stops                                 streams end with UNAVAILABLE at once,
                                                     other calls after the grace
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

import grpc
from grpc.aio import ServicerContext
from pydantic import ValidationError
from pydantic_core import from_json

from a2a_contract.base import Encoded, WireModel
from a2a_contract.errors import (
    InvalidAgentResponseError,
    InvalidParamsError,
    MethodNotFoundError,
    ParseError,
    UnavailableError,
)
from a2a_contract.protobuf import METHODS, find_method
from a2a_contract.protobuf_values import Method, UnreadableError, UnwritableError, write_message
from a2a_runtime.features.grpc.messages import (
    EVENT_NUMBERS,
    MalformedMessageError,
    number_event,
    parse_message,
)
from a2a_runtime.features.grpc.request import CallRequest
from a2a_runtime.http.asgi import HttpRequest
from a2a_runtime.http.dispatcher import Dispatcher, Invocation, list_extension_headers
from a2a_runtime.http.errors import (
    collect_field_errors,
    render_status,
    to_protocol_error,
    to_validation_error,
)
from a2a_runtime.ports.wire_variant import WireVariant
from a2a_runtime.service.context import ProtocolBinding

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# The stubs of grpcio leave the types of messages open.

log = logging.getLogger(__name__)

_DIALECTS = {path.rpartition("/")[0]: each.binding.dialect for path, each in METHODS.items()}
"""Dialects by the paths of their services."""


class CallEndpoint(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in its stubs only
    """The methods of the dialects of a surface."""

    def __init__(self, dispatcher: Dispatcher, *, has_certificates: bool) -> None:
        self._dispatcher = dispatcher
        self._variants = dispatcher.surface.wire
        self._streams: set[CallRequest] = set()
        self._has_certificates = has_certificates
        self._dialects = frozenset(each.name for each in dispatcher.supported_dialects.dialects)
        methods = {
            path: self._adapt(each)
            for path, each in METHODS.items()
            if each.binding.dialect in self._dialects
        }
        self.services = tuple(dict.fromkeys(path.split("/")[1] for path in methods))
        """The full names of the services."""
        self._handlers = {path: self._build_handler(each) for path, each in methods.items()}

    # A handler of any types.
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:  # noqa: ANN401 - so
        """Find the handler of a method; ``None`` for an unknown one."""
        return self._handlers.get(handler_call_details.method)

    def end_streams(self) -> None:
        """End all streams: they would use up the grace of a server that stops."""
        for call in self._streams:
            call.interrupt.throw(UnavailableError())

    def _adapt(self, method: Method) -> Method:
        """Let the variants of the surface write the results of a method."""
        binding = method.binding
        for variant in self._variants:
            binding = variant.bind(binding, ProtocolBinding.GRPC)
        return replace(method, binding=binding)

    def _build_handler(self, method: Method) -> Any:  # noqa: ANN401 - as above
        """Build the handler of a method: a plain function, because gRPC finds out in each call what
        kind of callable it is.
        """

        async def serve(data: bytes, context: ServicerContext[Any, Any]) -> bytes:
            return await self._serve(method, data, context)

        async def serve_stream(data: bytes, context: ServicerContext[Any, Any]) -> None:
            await self._serve_stream(method, data, context)

        if method.binding.operation.streams:
            return grpc.unary_stream_rpc_method_handler(serve_stream)
        return grpc.unary_unary_rpc_method_handler(serve)

    def _build_call(self, method: Method, context: ServicerContext[Any, Any]) -> CallRequest:
        call = CallRequest(method.path, context, has_certificates=self._has_certificates)
        call.variants = self._variants
        return call

    def _select_method(self, method: Method, call: CallRequest) -> Method:
        """Select the method of the version that a client names, which may extend that of the path;
        an unknown version is refused later.
        """
        found = find_method(method.path, call.version)
        if found is None or found.binding.dialect not in self._dialects:
            return method
        if found.binding.dialect == method.binding.dialect:
            return method
        return self._adapt(found)

    async def _serve(
        self, method: Method, data: bytes, context: ServicerContext[Any, Any]
    ) -> bytes:
        call = self._build_call(method, context)
        results = list[bytes]()
        method = self._select_method(method, call)
        await self._dispatcher.run(call, self._handle(call, method, data, results), _record_failure)
        if call.failure is not None:
            await call.abort(call.failure)
        return results[0]

    async def _serve_stream(
        self, method: Method, data: bytes, context: ServicerContext[Any, Any]
    ) -> None:
        call = self._build_call(method, context)
        method = self._select_method(method, call)
        self._streams.add(call)
        try:
            await self._dispatcher.run(
                call, self._handle_stream(call, method, data), _record_failure
            )
        finally:
            self._streams.discard(call)
        if call.failure is not None:
            await call.abort(call.failure)

    async def _handle(
        self, call: CallRequest, method: Method, data: bytes, results: list[bytes]
    ) -> None:
        invocation = await self._admit(call, method, data)
        result = await self._dispatcher.invoke(call, invocation)
        results.append(_write(method, result))
        if call.extensions:
            await call.send_headers(list_extension_headers(call, invocation.context))

    async def _handle_stream(self, call: CallRequest, method: Method, data: bytes) -> None:
        invocation = await self._admit(call, method, data)
        has_numbers = EVENT_NUMBERS in call.headers
        async with self._dispatcher.open_stream(call, invocation) as events, aclosing(events):
            marks = [(EVENT_NUMBERS, b"1")] if has_numbers else []
            await call.send_headers([*marks, *list_extension_headers(call, invocation.context)])
            async for event in events:
                message = _write(method, event.data)
                await call.send_message(
                    number_event(event.seq, event.mark) + message
                    if has_numbers and event.seq
                    else message
                )

    async def _admit(self, call: CallRequest, method: Method, data: bytes) -> Invocation:
        """Admit a call, and parse its message."""
        binding = method.binding
        dispatcher = self._dispatcher
        call.dialect = binding.dialect
        caller = await dispatcher.admit(call)
        dispatcher.supported_dialects.check_version(call.version, binding.dialect)
        request = _parse(method, data, self._variants)
        return Invocation(binding, request, dispatcher.build_context(call, caller, binding))


class UnknownMethods(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # as above
    """Refuses every method with the error of the contract: gRPC itself sends a status without
    details, and counts nothing.
    """

    def __init__(self, dispatcher: Dispatcher, services: Sequence[str]) -> None:
        self._dispatcher = dispatcher
        self._services = ", ".join(services)

    # A handler of any types.
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:  # noqa: ANN401 - so
        """Return the handler of a method that no other one serves; it takes calls of any kind."""
        return grpc.stream_stream_rpc_method_handler(
            partial(self._refuse, handler_call_details.method)
        )

    async def _refuse(
        self, path: str, _messages: object, context: ServicerContext[Any, Any]
    ) -> None:
        call = CallRequest(path, context)
        call.dialect = _DIALECTS.get(
            path.rpartition("/")[0]
        ) or self._dispatcher.supported_dialects.fallback(call.version)
        await self._dispatcher.run(call, self._raise_unknown(), _record_failure)
        if call.failure is not None:
            await call.abort(call.failure)

    async def _raise_unknown(self) -> None:
        raise MethodNotFoundError(
            fields=(("method", f"does not exist; the services here are {self._services}"),)
        )


async def _record_failure(request: HttpRequest, error: Exception) -> None:
    if isinstance(request, CallRequest):
        protocol_error = to_protocol_error(error)
        request.error = type(protocol_error)
        request.failure = render_status(protocol_error, request.dialect, request.variants)


def _parse(method: Method, data: bytes, variants: Sequence[WireVariant]) -> WireModel:
    """Parse a message as the canonical request; every error has its place."""
    binding = method.binding
    try:
        body = parse_message(method.request, data)
    except MalformedMessageError as error:
        raise ParseError("The message cannot be decoded") from error
    except UnreadableError as error:
        raise InvalidParamsError(fields=error.fields) from error
    for variant in variants:
        body = variant.read_body(body, ProtocolBinding.GRPC)
    try:
        request = binding.request.model_validate_json(body)
        return binding.parse(request)  # type: ignore[no-any-return]  # of the types of the binding
    except ValidationError as error:
        refusal = to_validation_error(error, binding.request)
        refusal.fields = collect_field_errors(binding, from_json(body), tuple(refusal.fields))
        raise refusal from error


def _write(method: Method, result: Encoded[Any]) -> bytes:
    """Write a result as a message; refuse what protocol buffers cannot carry."""
    serialize = method.binding.serialize
    if serialize is None:
        return b""
    try:
        return write_message(method.response, serialize(result))
    except UnwritableError as error:
        log.warning(
            "%s: %s of the result %s; use another binding for it, or change the handler",
            method.path,
            error.path,
            error.reason,
        )
        raise InvalidAgentResponseError(
            "gRPC cannot carry the result; use another binding",
            fields=((error.path, error.reason),),
        ) from error

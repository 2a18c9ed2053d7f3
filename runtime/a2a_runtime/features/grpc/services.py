"""Health and reflection, for orchestrators and tools: two services that every gRPC server may have,
without a package of their own.

grpc.health.v1.Health               Check, Watch: of a service by its full name,
                                    or of the server by the empty one
grpc.reflection.v1 (and v1alpha)    ServerReflectionInfo: the services,
                                    and the files that describe them
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Any, TypeAlias

import grpc
from grpc.aio import ServicerContext

from a2a_contract.protobuf_values import base64_text
from a2a_runtime.features.grpc.messages import (
    MalformedMessageError,
    decode_message,
    encode_message,
    message_pool,
)
from a2a_runtime.features.grpc.request import find_address

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# The stubs of grpcio leave the types of messages open.

_HEALTH = "grpc.health.v1"
_REFLECTION = ("grpc.reflection.v1", "grpc.reflection.v1alpha")
_MAX_STREAMS = 1000
_MAX_PEER_STREAMS = 100
"""Open streams of one of these services, and those of one address: they have no gate."""
_Context: TypeAlias = "ServicerContext[Any, Any]"


class ServingStatus(IntEnum):
    """Health of a service."""

    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3


class MethodTable(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in its stubs only
    """Methods by path."""

    def __init__(self, handlers: Mapping[str, Any]) -> None:
        self._handlers = handlers

    # A handler of any types.
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:  # noqa: ANN401 - so
        """Find the handler of a method; ``None`` for an unknown one."""
        return self._handlers.get(handler_call_details.method)


class OpenStreams:
    """Streams of a service that are open, by the address of their client."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    async def enter(self, context: _Context) -> str:
        """Count a stream, or refuse it; return the address, for ``leave``."""
        address = find_address(context)
        if self._counts.total() >= _MAX_STREAMS or self._counts[address] >= _MAX_PEER_STREAMS:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many open streams")
        self._counts[address] += 1
        return address

    def leave(self, address: str) -> None:
        """Forget a stream."""
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]


class HealthService(MethodTable):
    """Reports the services as serving until the server stops."""

    def __init__(self, services: Sequence[str]) -> None:
        self._services = frozenset(("", *services))
        self._stopping = asyncio.Event()
        self._watches = OpenStreams()
        path = f"/{_HEALTH}.Health/"
        check = grpc.unary_unary_rpc_method_handler(self._check)
        watch = grpc.unary_stream_rpc_method_handler(self._watch)
        super().__init__({f"{path}Check": check, f"{path}Watch": watch})

    def stop(self) -> None:
        """Report the services as not serving from now on, and end the watches."""
        self._stopping.set()

    async def _check(self, data: bytes, context: _Context) -> bytes:
        status = await self._find_status(data, context)
        if status is ServingStatus.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "No such service")
        return _encode_health(status)

    async def _watch(self, data: bytes, context: _Context) -> None:
        address = await self._watches.enter(context)
        try:
            await context.write(_encode_health(await self._find_status(data, context)))
            await self._stopping.wait()
            await context.write(_encode_health(ServingStatus.NOT_SERVING))
        finally:
            self._watches.leave(address)

    async def _find_status(self, data: bytes, context: _Context) -> ServingStatus:
        request = await _decode(f"{_HEALTH}.HealthCheckRequest", data, context)
        if request.service not in self._services:
            return ServingStatus.SERVICE_UNKNOWN
        if self._stopping.is_set():
            return ServingStatus.NOT_SERVING
        return ServingStatus.SERVING


def _encode_health(status: ServingStatus) -> bytes:
    return encode_message(f"{_HEALTH}.HealthCheckResponse", {"status": int(status)})


class ReflectionService(MethodTable):
    """Describes the services of the contract."""

    def __init__(self, services: Sequence[str]) -> None:
        self._services = services
        self._streams = OpenStreams()
        handlers = {
            package: grpc.stream_stream_rpc_method_handler(partial(self._describe, package))
            for package in _REFLECTION
        }
        super().__init__(
            {
                f"/{package}.ServerReflection/ServerReflectionInfo": each
                for package, each in handlers.items()
            }
        )

    async def _describe(
        self, package: str, requests: AsyncIterator[bytes], context: _Context
    ) -> None:
        address = await self._streams.enter(context)
        try:
            async for data in requests:
                request = await _decode(f"{package}.ServerReflectionRequest", data, context)
                document = {
                    "validHost": request.host,
                    "originalRequest": {"host": request.host},
                    **self._answer(request),
                }
                await context.write(encode_message(f"{package}.ServerReflectionResponse", document))
        finally:
            self._streams.leave(address)

    # Classes of messages are made at run time, so they have no type.
    def _answer(self, request: Any) -> Mapping[str, object]:  # noqa: ANN401 - as above
        pool = message_pool()
        try:
            if request.HasField("list_services"):
                return {
                    "listServicesResponse": {"service": [{"name": each} for each in self._services]}
                }
            if request.HasField("file_containing_symbol"):
                return _encode_files(pool.FindFileContainingSymbol(request.file_containing_symbol))
            if request.HasField("file_by_filename"):
                return _encode_files(pool.FindFileByName(request.file_by_filename))
        except KeyError:
            return _encode_error(grpc.StatusCode.NOT_FOUND, "No such file or symbol")
        return _encode_error(grpc.StatusCode.UNIMPLEMENTED, "Not a request that this server knows")


def _encode_files(file: Any) -> Mapping[str, object]:  # noqa: ANN401 - as above
    """Encode a file with those that it imports."""
    files = dict[str, bytes]()
    waiting = [file]
    while waiting:
        each = waiting.pop()
        files[each.name] = each.serialized_pb
        waiting += [other for other in each.dependencies if other.name not in files]
    return {
        "fileDescriptorResponse": {"fileDescriptorProto": list(map(base64_text, files.values()))}
    }


def _encode_error(code: grpc.StatusCode, text: str) -> Mapping[str, object]:
    return {"errorResponse": {"errorCode": code.value[0], "errorMessage": text}}


async def _decode(name: str, data: bytes, context: _Context) -> Any:  # noqa: ANN401 - as above
    try:
        return decode_message(name, data)
    except MalformedMessageError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

"""An HTTP transport for tests that makes calls over gRPC of requests to the paths of its methods,
and passes on all others.

Messages are read and written by the ProtoJSON of protobuf itself, not by the generated functions,
and calls are made by the synchronous client of grpcio. What comes back looks like HTTP+JSON: a
result, an error object, or server-sent events.
"""

from __future__ import annotations

import json
import random
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import grpc
import httpx
from google.protobuf import json_format

from a2a_contract import protobuf
from a2a_contract.errors import ERRORS
from a2a_contract.protobuf_values import Method
from a2a_runtime.features.grpc.messages import (
    STATUS_TRAILER,
    decode_details,
    message_class,
    message_pool,
    read_event_cursor,
)

# Status codes of HTTP by those of gRPC, as google/rpc/code.proto maps them.
STATUSES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNKNOWN": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
    "ABORTED": 409,
}
_PORTS = (12_000, 32_000)
_HTTP_HEADERS = frozenset(
    (
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "user-agent",
    )
)
_SERVICE = re.compile(r"(?P<path>.*)(?P<method>/(lf\.)?a2a\.v1\.A2AService/\w+)")
_NAMES = {error.__name__: row for error, row in ERRORS.items()}


def find_free_address() -> str:
    """Find an address that is free now, below the ports that the kernel gives to connections
    meanwhile.
    """
    while True:
        port = random.randint(*_PORTS)  # noqa: S311 - workers in parallel rarely choose the same
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return f"127.0.0.1:{port}"


def call_unary(
    address: str, path: str, document: Mapping[str, object], headers: Mapping[str, str]
) -> Mapping[str, Any]:
    """Call a method once; both documents are ProtoJSON."""
    method = protobuf.find_method(path, headers.get("A2A-Version"))
    assert method is not None
    pool = method.request.pool
    message = json_format.ParseDict(
        dict(document),
        message_class(method.request.name, pool)(),
        descriptor_pool=message_pool(pool),
    )
    with grpc.insecure_channel(address) as channel:
        metadata = [(name.lower(), value) for name, value in headers.items()]
        result = channel.unary_unary(path)(
            message.SerializeToString(), metadata=metadata, timeout=30
        )
    return json_format.MessageToDict(
        message_class(method.response.name, pool).FromString(result),
        descriptor_pool=message_pool(pool),
    )


class GrpcOverlay(httpx.BaseTransport):
    """The calls of surfaces with a port, by their paths, before another transport."""

    def __init__(self, below: httpx.BaseTransport, addresses: Mapping[str, str]) -> None:
        self._below = below
        self._addresses = addresses
        self._channels: dict[str, grpc.Channel] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Make a call of a request to a method."""
        match = _SERVICE.fullmatch(request.url.path)
        if match is None:
            return self._below.handle_request(request)
        address = self._addresses[match["path"].rstrip("/")]
        if address not in self._channels:
            self._channels[address] = grpc.insecure_channel(address)
        channel = self._channels[address]
        method = protobuf.find_method(match["method"], request.headers.get("A2A-Version"))
        assert method is not None
        pool = method.request.pool
        document = json.loads(request.read() or b"{}")
        message = json_format.ParseDict(
            document, message_class(method.request.name, pool)(), descriptor_pool=message_pool(pool)
        )
        metadata = [
            (name.decode().lower(), value.decode())
            for name, value in request.headers.raw
            if name.decode().lower() not in _HTTP_HEADERS
        ]
        if method.binding.operation.streams:
            return self._stream(
                channel, method, message.SerializeToString(), [*metadata, ("event-numbers", "1")]
            )
        try:
            result, call = channel.unary_unary(method.path).with_call(
                message.SerializeToString(), metadata=metadata, timeout=30
            )
        except grpc.RpcError as error:
            return build_error_response(error)
        answer = message_class(method.response.name, method.response.pool).FromString(result)
        body = json_format.MessageToDict(answer, descriptor_pool=message_pool(method.response.pool))
        return httpx.Response(200, json=body, headers=list(call.initial_metadata()))

    def close(self) -> None:
        """Close the connections."""
        self._below.close()
        for each in self._channels.values():
            each.close()

    def _stream(
        self, channel: grpc.Channel, method: Method, data: bytes, metadata: list[tuple[str, str]]
    ) -> httpx.Response:
        events = channel.unary_stream(method.path)(data, metadata=metadata, timeout=30)
        try:
            first = next(events, None)
        except grpc.RpcError as error:
            return build_error_response(error)

        def encode() -> Iterator[bytes]:
            try:
                for each in chain(() if first is None else (first,), events):
                    yield to_event(method, each)
            except grpc.RpcError as error:
                yield b"event: error\ndata: " + build_error_response(error).content + b"\n\n"
            finally:
                events.cancel()

        return httpx.Response(
            200,
            content=encode(),
            headers=[*events.initial_metadata(), ("content-type", "text/event-stream")],
        )


def to_event(method: Method, message: bytes) -> bytes:
    """Encode a message of a stream as a server-sent event."""
    pool = method.response.pool
    body = json_format.MessageToJson(
        message_class(method.response.name, pool).FromString(message),
        indent=None,
        descriptor_pool=message_pool(pool),
    )
    cursor = read_event_cursor(message)
    return (f"id: {cursor}\n" if cursor else "").encode() + f"data: {body}\n\n".encode()


def build_error_response(
    error: Any,  # noqa: ANN401 - both a call and an error, whose stubs say less
) -> httpx.Response:
    """Build the HTTP+JSON of an error: with typed details, or in 0.3 by the name at the beginning
    of its text.
    """
    name = error.code().name
    text = error.details()
    status = STATUSES[name]
    trailers = dict(error.trailing_metadata() or ())
    headers = {key: value for key, value in trailers.items() if isinstance(value, str)}
    known, _, rest = text.partition(": ")
    details = decode_details(trailers[STATUS_TRAILER]) if STATUS_TRAILER in trailers else []
    if known in _NAMES:
        fields = [
            {"fields": each["fieldViolations"]} for each in details if "fieldViolations" in each
        ]
        body = {
            "code": _NAMES[known].in_dialect("v0_3_proto").code,
            "message": rest,
            "grpc": name,
            **({"data": fields[0]} if fields else {}),
        }
        return httpx.Response(status, json=body, headers=headers)
    typed = []
    for each in details:
        kind = "BadRequest" if "fieldViolations" in each else "ErrorInfo"
        typed.append({"@type": f"type.googleapis.com/google.rpc.{kind}", **each})
    return httpx.Response(
        status,
        json={"error": {"code": status, "status": name, "message": text, "details": typed}},
        headers=headers,
    )

"""Calls over gRPC for tests: an agent with a port in this process, and a client that reads and
writes JSON.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Self

import grpc
from integration.grpc_overlay import find_free_address
from litestar import Litestar
from litestar.testing import AsyncTestClient

from a2a_contract import protobuf
from a2a_contract.protobuf_values import write_message
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.features.grpc.messages import (
    STATUS_TRAILER,
    decode_details,
    parse_message,
    read_event_cursor,
)
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

Json = Any  # what a test reads from the wire has no type until the test has looked at it
Metadata = Mapping[str, str]


class Failure(NamedTuple):
    """An error as a client sees it."""

    code: str
    text: str
    details: list[Json]
    trailers: Mapping[str, str]

    @property
    def reason(self) -> str:
        """The reason in the ErrorInfo."""
        return next((each["reason"] for each in self.details if "reason" in each), "")

    @property
    def fields(self) -> list[str]:
        """The places of the field errors."""
        return [
            each["field"] for detail in self.details for each in detail.get("fieldViolations", ())
        ]


class CallError(Exception):
    """A call has ended with an error."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        super().__init__(f"{error.code()} {error.details()}")
        trailers = dict(error.trailing_metadata() or ())
        details = decode_details(trailers.pop(STATUS_TRAILER)) if STATUS_TRAILER in trailers else []
        self.failure = Failure(error.code().name, error.details() or "", details, trailers)


class CallClient:
    """A client of one address."""

    def __init__(
        self,
        address: str,
        metadata: Metadata | None = None,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        **options: int,
    ) -> None:
        arguments = [(f"grpc.{name}", value) for name, value in options.items()]
        secure = credentials is not None
        self.channel = (
            grpc.aio.secure_channel(address, credentials, arguments)
            if secure
            else grpc.aio.insecure_channel(address, arguments)
        )
        self.address = address
        self._metadata = dict(metadata or {})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.channel.close()

    async def call(
        self,
        name: str,
        document: Json,
        metadata: Metadata | None = None,
        *,
        package: str = "lf.a2a.v1",
        timeout: float = 10,  # noqa: ASYNC109 - the deadline of the call
    ) -> Json:
        """Call a method, and return the JSON of its result."""
        method = protobuf.METHODS[f"/{package}.A2AService/{name}"]
        data = (
            document
            if isinstance(document, bytes)
            else write_message(method.request, json.dumps(document).encode())
        )
        try:
            result = await self.channel.unary_unary(method.path)(
                data, metadata=self._join(metadata), timeout=timeout
            )
        except grpc.aio.AioRpcError as error:
            raise CallError(error) from error
        return json.loads(parse_message(method.response, result))

    async def fail(
        self,
        name: str,
        document: Json,
        metadata: Metadata | None = None,
        **options: Any,  # noqa: ANN401 - as ``call``
    ) -> Failure:
        """Call a method that fails."""
        try:
            result = await self.call(name, document, metadata, **options)
        except CallError as error:
            return error.failure
        raise AssertionError(f"no error: {result}")

    async def stream(
        self,
        name: str,
        document: Json,
        metadata: Metadata | None = None,
        **options: Any,  # noqa: ANN401 - as ``open``
    ) -> AsyncIterator[tuple[int | None, Json]]:
        """Call a streaming method, and yield its messages with their numbers."""
        call, method = self.open(name, document, metadata, **options)
        try:
            async for message in call:
                cursor = read_event_cursor(message)
                number = None if cursor is None else int(cursor.partition("-")[0])
                yield number, json.loads(parse_message(method.response, message))
        except grpc.aio.AioRpcError as error:
            raise CallError(error) from error
        finally:
            call.cancel()

    def open(
        self,
        name: str,
        document: Json,
        metadata: Metadata | None = None,
        *,
        package: str = "lf.a2a.v1",
        **options: float,
    ) -> tuple[Any, Any]:
        """Open a stream, and return it with its method."""
        method = protobuf.METHODS[f"/{package}.A2AService/{name}"]
        data = write_message(method.request, json.dumps(document).encode())
        return self.channel.unary_stream(method.path)(
            data, metadata=self._join(metadata), **options
        ), method

    async def send(
        self, text: str, skill: str = "echo", metadata: Metadata | None = None, **more: Json
    ) -> Json:
        """Send a text, and return its task."""
        return (await self.call("SendMessage", build_send(text, skill, **more), metadata))["task"]

    def _join(self, metadata: Metadata | None) -> list[tuple[str, str]]:
        return [*{**self._metadata, **(metadata or {})}.items()]


def build_send(text: str, skill: str = "echo", **configuration: Json) -> Json:
    """Build the JSON of a request with a message."""
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}
    return {
        "message": message,
        "metadata": {"skillId": skill},
        **({"configuration": configuration} if configuration else {}),
    }


@asynccontextmanager
async def serve_agent(
    agent: Agent,
    options: GrpcOptions | None = None,
    settings: Settings = FAST_SETTINGS,
    **surface: Any,  # noqa: ANN401 - options of a surface
) -> AsyncGenerator[CallClient, None]:
    """Serve an agent in this process, and yield a client of its port."""
    options = options or GrpcOptions(find_free_address())
    async with (
        run_app(create_app(Surface(agent, grpc=options, **surface), settings=settings)),
        CallClient(options.address) as client,
    ):
        yield client


def run_app(app: Litestar) -> AsyncTestClient[Litestar]:
    """Run the lifespan of an app."""
    return AsyncTestClient(app)

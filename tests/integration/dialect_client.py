"""HTTP clients for tests: every dialect and binding, with the models of the contract."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from a2a_contract import protobuf
from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding, Operation
from a2a_contract.dialects import DIALECTS, V0_3, V0_3_PROTO, V1_0, V1_1_DRAFT
from a2a_contract.http import PathBuilder
from a2a_contract.jsonrpc import serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import (
    CANCEL_TASK,
    GET_TASK,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.paths import PATHS
from a2a_contract.protobuf_values import Method
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from a2a_runtime.testing.agent import build_user_message


class CallError(Exception):
    """The response is an error."""

    def __init__(self, status: int, code: object, body: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {code} {body}")
        self.status = status
        self.code = code
        self.body = body


@dataclass(frozen=True)
class DialectBinding:
    """A dialect over a protocol binding."""

    dialect: str
    is_jsonrpc: bool
    is_grpc: bool = False
    """Over gRPC, through the transport of ``grpc_overlay``, which answers as HTTP+JSON does."""

    def __str__(self) -> str:
        if self.is_jsonrpc:
            return f"{self.dialect}-jsonrpc"
        return f"{self.dialect}-grpc" if self.is_grpc else f"{self.dialect}-http"

    @property
    def is_1_x(self) -> bool:
        """True for 1.0 and what extends it."""
        return DIALECTS[self.dialect].home == V1_0.name

    def binding(self, operation: Operation) -> AnyBinding:
        """Find the binding of an operation."""
        if self.is_grpc:
            return self.grpc_method(operation).binding
        if not self.is_jsonrpc:
            binding = self.path_builder.find_binding(operation)
            assert binding is not None, f"{self} has no {operation.name}"
            return binding
        return next(each for each in METHODS[self.dialect].values() if each.operation is operation)

    def grpc_method(self, operation: Operation) -> Method:
        """Find the gRPC method of an operation."""
        methods = (
            *protobuf.METHODS.values(),
            *(each for methods in protobuf.EXTENDED_METHODS.values() for each in methods.values()),
        )
        return next(
            each
            for each in methods
            if each.binding.dialect == self.dialect and each.binding.operation is operation
        )

    @property
    def path_builder(self) -> PathBuilder:
        """Builder of the paths of the dialect."""
        return PathBuilder(self.dialect, PATHS[DIALECTS[self.dialect].home])

    def has(self, operation: Operation) -> bool:
        """Return whether the dialect has an operation over the binding."""
        if self.is_grpc:
            if self.dialect in operation.calls:
                return operation.calls[self.dialect].grpc is not None
            return False
        if self.is_jsonrpc:
            return any(each.operation is operation for each in METHODS[self.dialect].values())
        return self.path_builder.find_binding(operation) is not None


DIALECT_BINDINGS = (
    DialectBinding(V1_0.name, is_jsonrpc=True),
    DialectBinding(V1_0.name, is_jsonrpc=False),
    DialectBinding(V0_3.name, is_jsonrpc=True),
    DialectBinding(V0_3.name, is_jsonrpc=False),
    DialectBinding(V0_3_PROTO.name, is_jsonrpc=False),
)
DRAFT_BINDINGS = (
    DialectBinding(V1_1_DRAFT.name, is_jsonrpc=True),
    DialectBinding(V1_1_DRAFT.name, is_jsonrpc=False),
    DialectBinding(V1_1_DRAFT.name, is_jsonrpc=False, is_grpc=True),
)
GRPC_BINDINGS = (
    DialectBinding(V1_0.name, is_jsonrpc=False, is_grpc=True),
    DialectBinding(V0_3_PROTO.name, is_jsonrpc=False, is_grpc=True),
)


@dataclass(frozen=True)
class DialectClient:
    """A client of the agent at a path, in one dialect and binding."""

    http: httpx.Client
    dialect_binding: DialectBinding
    path: str = ""

    def send(self, *values: object, **more: object) -> Task | Message:
        """Send a message and return its task or message."""
        answer = self.call(SEND_MESSAGE, build_send_request(*values, **more))
        assert isinstance(answer, SendMessageResponse)
        result = answer.task or answer.message
        assert result is not None
        return result

    def task(self, *values: object, **more: object) -> Task:
        """Send a message and return its task."""
        task = self.send(*values, **more)
        assert isinstance(task, Task)
        return task

    def get(self, task_id: str, **more: object) -> Task:
        """Read a task."""
        return self.call(GET_TASK, GetTaskRequest.model_validate({"id": task_id, **more}))  # type: ignore[return-value]  # that is what it answers

    def cancel(self, task_id: str) -> Task:
        """Cancel a task."""
        # As above.
        return self.call(CANCEL_TASK, CancelTaskRequest(id=task_id))  # type: ignore[return-value]

    def list(self, **more: object) -> ListTasksResponse:
        """List tasks."""
        return self.call(LIST_TASKS, ListTasksRequest.model_validate(more))  # type: ignore[return-value]  # as above

    def stream(self, *values: object, **more: object) -> list[StreamResponse]:
        """Send a message and return all events of its stream."""
        return [
            event
            for _, event in self.events(SEND_STREAMING_MESSAGE, build_send_request(*values, **more))
        ]

    def subscribe(
        self, task_id: str, **headers: str
    ) -> Iterator[tuple[str | None, StreamResponse]]:
        """Subscribe to a task."""
        return self.events(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task_id), **headers)

    def call(self, operation: Operation, request: WireModel) -> WireModel | None:
        """Call an operation and parse its result; raise ``CallError`` for an error."""
        return self._parse_response(operation, self.call_raw(operation, request))

    def call_raw(self, operation: Operation, request: WireModel, **headers: str) -> httpx.Response:
        """Call an operation and return the HTTP response."""
        method, url, options = self.build_request(operation, request, **headers)
        return self.http.request(method, url, **options)

    def build_request(
        self, operation: Operation, request: WireModel, **headers: str
    ) -> tuple[str, str, dict[str, Any]]:
        """Build the method, URL and options of a request."""
        said = self.dialect_binding.binding(operation).encode_request(request)
        sent = {
            "content-type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        if self.dialect_binding.is_jsonrpc:
            method = next(
                name
                for name, each in METHODS[self.dialect_binding.dialect].items()
                if each.operation is operation
            )
            return (
                "POST",
                self.path or "/",
                {"content": serialize_call(method, "r-1", said), "headers": sent},
            )
        if self.dialect_binding.is_grpc:
            return (
                "POST",
                self.path + self.dialect_binding.grpc_method(operation).path,
                {"content": json.dumps(said), "headers": sent},
            )
        address = self.dialect_binding.path_builder.build(operation, said)
        return (
            address.method,
            self.path + address.path,
            {"params": list(address.query), "content": address.body, "headers": sent},
        )

    def events(
        self, operation: Operation, request: WireModel, **headers: str
    ) -> Iterator[tuple[str | None, StreamResponse]]:
        """Call a streaming operation and yield its events with their ids."""
        method, url, options = self.build_request(operation, request, **headers)
        hearing = self.dialect_binding.binding(operation).response
        assert hearing is not None
        adapter = hearing.adapter()
        with self.http.stream(method, url, **options) as response:
            if not response.headers["content-type"].startswith("text/event-stream"):
                response.read()
                self._parse_response(operation, response)
            for event_id, kind, data in parse_sse(response.iter_lines()):
                said = json.loads(data)
                if kind == "error" or (self.dialect_binding.is_jsonrpc and "error" in said):
                    raise CallError(response.status_code, _error_code(said), said)
                yield (
                    event_id,
                    hearing.read(
                        adapter.validate_python(
                            said["result"] if self.dialect_binding.is_jsonrpc else said
                        )
                    ),
                )

    def _parse_response(self, operation: Operation, response: httpx.Response) -> WireModel | None:
        body = response.json()
        if (self.dialect_binding.is_jsonrpc and "error" in body) or not response.is_success:
            raise CallError(response.status_code, _error_code(body), body)
        if self.dialect_binding.is_jsonrpc:
            assert body["id"] == "r-1"
        hearing = self.dialect_binding.binding(operation).response
        if hearing is None:
            return None
        return hearing.read(
            hearing.adapter().validate_python(
                body["result"] if self.dialect_binding.is_jsonrpc else body
            )
        )  # type: ignore[no-any-return]


def parse_body(response: httpx.Response) -> Any:  # noqa: ANN401 - JSON
    """Parse a response that is one document, or the only event of a stream that was refused."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        return response.json()
    [(_, _, data)] = parse_sse(iter(response.text.splitlines()))
    return json.loads(data)


def build_send_request(
    *values: object,
    skill: str | None = None,
    configuration: object = None,
    tenant: str | None = None,
    **more: object,
) -> SendMessageRequest:
    """Build a request that sends a message to a skill."""
    metadata = {"skillId": skill} if skill else None
    return SendMessageRequest.model_validate(
        {
            "message": build_user_message(*values, **more),
            "metadata": metadata,
            "configuration": configuration,
            "tenant": tenant,
        }
    )


def parse_sse(lines: Iterator[str]) -> Iterator[tuple[str | None, str, str]]:
    """Parse server-sent events into id, kind and data."""
    event: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            yield event.get("id"), event.get("event", "message"), event["data"]
            event = {}


def _error_code(body: Mapping[str, Any]) -> object:
    error = body.get("error", body)
    if isinstance(error, dict):
        return error.get("code")
    return None

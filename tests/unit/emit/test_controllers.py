"""Controllers, bindings and protocols of the generated package."""

from __future__ import annotations

import ast
import inspect
import re

import pytest

from a2a_contract import service
from a2a_gen.emit import bindings, package
from a2a_gen.emit.bindings import RequiredMembers, find_requirements
from a2a_gen.emit.routes import join_operations
from a2a_gen.ir.model import Contract, FieldName


def methods(code: bytes) -> list[ast.AsyncFunctionDef]:
    """List the handlers of a controller."""
    return [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.AsyncFunctionDef)]


def test_a_handler_is_one_statement_into_the_endpoints(contract: Contract) -> None:
    """A controller decides nothing: below its docstring a handler only calls the endpoints."""
    handlers = [
        handler for code in package.emit_controllers(contract).values() for handler in methods(code)
    ]
    assert len(handlers) > 20
    for handler in handlers:
        docstring, statement = handler.body
        assert isinstance(docstring, ast.Expr)
        assert isinstance(statement, ast.Return | ast.Expr)
        assert "self.endpoints." in ast.unparse(statement)


def test_a_handler_shows_its_operations(contract: Contract) -> None:
    """Its name says them, and its docstring has a line for each way to call one of them, with the
    types of its request and its response.
    """
    code = package.emit_controllers(contract)["controllers/http_v1_0.py"]
    handlers = {handler.name: ast.get_docstring(handler) or "" for handler in methods(code)}
    assert "POST  SendMessage(SendMessageRequest) -> SendMessageResponse" in (
        handlers["send_message"].splitlines()
    )
    assert handlers["get_cancel_or_subscribe_to_task_of_tenant"].splitlines()[-4:] == [
        "GET              GetTask(GetTaskRequest) -> Task",
        "POST :cancel     CancelTask(CancelTaskRequest) -> Task",
        "GET :subscribe   SubscribeToTask(SubscribeToTaskRequest) -> stream of StreamResponse",
        "POST :subscribe  SubscribeToTask(SubscribeToTaskRequest) -> stream of StreamResponse",
    ]


def test_the_handler_of_json_rpc_shows_every_operation(contract: Contract) -> None:
    """All of them have one path."""
    code = package.emit_controllers(contract)["controllers/jsonrpc.py"].decode()
    assert [each.name for each in contract.operations] == re.findall(r"POST  (\w+)\(", code)


@pytest.mark.parametrize(
    ("operations", "name"),
    [
        (("send_message",), "send_message"),
        (("get_task", "cancel_task"), "get_or_cancel_task"),
        (("create_config", "list_configs"), "create_or_list_configs"),
        (("start", "get_task"), "start_or_get_task"),
        (("task", "get_task"), "task_or_get_task"),
    ],
)
def test_names_of_operations_are_joined(operations: tuple[str, ...], name: str) -> None:
    """The words at the end that all of them have stand there once."""
    assert join_operations([FieldName(each) for each in operations]) == name


def test_no_generated_file_is_long(contract: Contract) -> None:
    """Generated files are read by people."""
    for emit in (package.emit_controllers, bindings.emit, package.emit_protocols):
        for path, code in emit(contract).items():
            assert len(code.splitlines()) < 400, path


def test_output_is_the_same_every_time(contract: Contract) -> None:
    """An emitter gives the same output for the same contract."""
    for emit in (package.emit_controllers, bindings.emit, package.emit_protocols):
        assert emit(contract) == emit(contract)


def test_a_service_has_a_method_for_every_operation(contract: Contract) -> None:
    """Each takes the canonical request, and gives the canonical answer or a stream of events."""
    for operation in contract.operations:
        method = getattr(service.AgentService, operation.python)
        assert inspect.iscoroutinefunction(method) != operation.streams
        request = inspect.signature(method).parameters["request"].annotation
        answer = inspect.signature(method).return_annotation
        wanted = f"Encoded[{operation.response}]" if operation.response else "None"
        assert (request, answer) == (
            operation.request,
            f"AsyncIterator[Event[{operation.response}]]" if operation.streams else wanted,
        )


DEMANDS: dict[str, tuple[str, str, RequiredMembers]] = {
    "members of the request": ("v1_0", "GetTaskRequest", RequiredMembers((), (), ("id",), ())),
    "members of a member": (
        "v1_0",
        "SendMessageRequest",
        RequiredMembers(("message",), ("message",), ("message_id", "role", "parts"), ("role",)),
    ),
    "deeply": (
        "v1_0",
        "SendMessageRequest",
        RequiredMembers(
            ("configuration", "task_push_notification_config"),
            ("configuration", "taskPushNotificationConfig"),
            ("url",),
            (),
        ),
    ),
    "words": ("v0_3", "ListTasksParams", RequiredMembers((), (), (), ("status",))),
    "what may be left out": (
        "v0_3",
        "GetTaskPushNotificationConfigParams",
        RequiredMembers((), (), ("id",), ()),
    ),
    "ProtoJSON": (
        "v0_3_proto",
        "SendMessageRequest",
        RequiredMembers(("message",), ("message",), ("message_id", "role", "content"), ()),
    ),
    "resource name": ("v0_3_proto", "CancelTaskRequest", RequiredMembers((), (), ("name",), ())),
}


@pytest.mark.parametrize(
    ("dialect", "request_type", "wanted"), DEMANDS.values(), ids=DEMANDS.keys()
)
def test_a_request_must_have_what_its_type_requires(
    contract: Contract, dialect: str, request_type: str, wanted: RequiredMembers
) -> None:
    """Required members that can be empty must not be, and words of open enumerations must be known,
    at every depth.
    """
    calls = ((operation, operation.call(dialect)) for operation in contract.operations)
    ours = next(
        operation.request for operation, call in calls if call and call.request == request_type
    )
    assert wanted in find_requirements(contract, dialect, request_type, ours)


def test_a_lenient_dialect_requires_nothing(contract: Contract) -> None:
    """The dialect whose envelope may be incomplete takes whatever its models take."""
    code = bindings.emit(contract)["bindings/mesh.py"].decode()
    assert "requirements=" not in code
    assert code.count("lenient_envelope=True") == code.count(" = Binding(")

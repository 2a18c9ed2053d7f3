"""The generated handlers serve: a request of each operation, in each dialect and over each binding,
enters the handler of its path, whatever app the agent is in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import NamedTuple

import httpx
import pytest
from integration.dialect_client import build_send_request
from integration.outcome_agent import build_test_agent, serve_on_socket
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from pydantic_core import to_json
from starlette.applications import Starlette

import a2a_runtime
from a2a_contract import controllers
from a2a_contract.base import WireModel
from a2a_contract.controllers import (
    AgentController,
    CardController,
    HttpV03Controller,
    HttpV10Controller,
)
from a2a_contract.dialects import DIALECTS, MESH, V0_3, V1_0, V1_1_DRAFT
from a2a_contract.http import HttpCandidate
from a2a_contract.jsonrpc import serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import OPERATIONS
from a2a_contract.paths import PATHS
from a2a_contract.routes.cards import CARDS
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a_runtime.app import create_app
from a2a_runtime.asgi import with_agents
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.starlette import mount_agents
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

GENERATED = str(Path(controllers.__file__).parent)
SERVICES = tuple(str(Path(*a2a_runtime.__path__, folder)) for folder in ("service", "features"))
SERVICE_METHODS = frozenset(each.service_method for each in OPERATIONS.values())
AGENT = "/agent"
TENANT = "acme"
UNKNOWN = "no-such-task"
"""Operations are asked for a task that does not exist: they are entered, and nothing is left."""
MESSAGE = build_send_request("hello", task_id=UNKNOWN)
REQUESTS: Mapping[str, WireModel] = {
    "SendMessage": MESSAGE,
    "SendStreamingMessage": MESSAGE,
    "GetTask": GetTaskRequest(id=UNKNOWN),
    "ListTasks": ListTasksRequest(),
    "CancelTask": CancelTaskRequest(id=UNKNOWN),
    "SubscribeToTask": SubscribeToTaskRequest(id=UNKNOWN),
    "CreateTaskPushNotificationConfig": TaskPushNotificationConfig(
        id="c-1", task_id=UNKNOWN, url="https://hook.example/"
    ),
    "GetTaskPushNotificationConfig": GetTaskPushNotificationConfigRequest(
        id="c-1", task_id=UNKNOWN
    ),
    "ListTaskPushNotificationConfigs": ListTaskPushNotificationConfigsRequest(task_id=UNKNOWN),
    "DeleteTaskPushNotificationConfig": DeleteTaskPushNotificationConfigRequest(
        id="c-1", task_id=UNKNOWN
    ),
    "GetExtendedAgentCard": GetExtendedAgentCardRequest(),
}
HTTP_CONTROLLERS: Mapping[str, type[AgentController]] = {
    V1_0.name: HttpV10Controller,
    V0_3.name: HttpV03Controller,
}


class EntryProfile:
    """Profile that notes the generated handlers that are entered, as module and name, and the
    operations of the service, each with the tenant of its request.
    """

    def __init__(self) -> None:
        self.handlers: list[str] = []
        self.operations: set[tuple[str, str | None]] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a function that is entered."""
        if event != "call":
            return
        file = frame.f_code.co_filename
        name = frame.f_code.co_name
        if file.startswith(GENERATED):
            self.handlers.append(f"{Path(file).stem}.{name}")
        elif name in SERVICE_METHODS and file.startswith(SERVICES):
            tenant = getattr(frame.f_locals["request"], "tenant", None)
            self.operations.add((name, tenant or None))

    def clear(self) -> None:
        """Forget what was entered."""
        self.handlers.clear()
        self.operations.clear()


class ServedRequest(NamedTuple):
    """A request, and what it has to enter."""

    title: str
    request: httpx.Request
    handler: str
    operation: str | None = None
    tenant: str | None = None


def find_handler(controller: type[AgentController], path: str) -> str:
    """Find the handler of a path, as module and name."""
    (name,) = (
        name
        for name, each in vars(controller).items()
        if isinstance(each, HTTPRouteHandler) and path in each.paths
    )
    return f"{controller.__module__.rpartition('.')[2]}.{name}"


def build_headers(dialect: str) -> Mapping[str, str]:
    """Build the headers of requests in a dialect."""
    version = DIALECTS[dialect].version
    headers = {"content-type": "application/json"}
    if version is not None:
        headers["a2a-version"] = version
    return headers


def list_calls(client: httpx.Client) -> Iterator[ServedRequest]:
    """List a call of each method of each dialect over JSON-RPC."""
    for dialect, methods in METHODS.items():
        path = f"{AGENT}/mesh" if dialect == MESH.name else AGENT
        for method, binding in methods.items():
            said = binding.encode_request(REQUESTS[binding.operation.name])
            request = client.build_request(
                "POST",
                path,
                content=serialize_call(method, "r-1", said),
                headers=build_headers(dialect),
            )
            operation = binding.operation.service_method
            title = f"{dialect} {method}"
            yield ServedRequest(title, request, "jsonrpc.jsonrpc", operation)


def list_candidates() -> Iterator[tuple[type[AgentController], HttpCandidate]]:
    """List each method, verb and path of each dialect over HTTP+JSON, with its controller."""
    for home, controller in HTTP_CONTROLLERS.items():
        for route in PATHS[home]:
            for (method, verb), choices in route.bindings.items():
                for choice in choices:
                    yield controller, HttpCandidate(method, route.path, verb, choice)


def list_http_requests(client: httpx.Client) -> Iterator[ServedRequest]:
    """List a request for each of them; what its path says, such as a tenant, its body does not
    repeat.
    """
    for controller, candidate in list_candidates():
        binding = candidate.binding.binding
        request = REQUESTS[binding.operation.name]
        in_path = {member.name for member in candidate.binding.members}
        tenant = None
        if "tenant" in in_path:
            tenant = TENANT
            request = request.model_copy(update={"tenant": tenant})
        members = binding.encode_request(request)
        target = candidate.build_target(members)
        content = None
        if target.body is not None:
            content = to_json({key: each for key, each in members.items() if key not in in_path})
        yield ServedRequest(
            f"{binding.dialect} {target.method} {target.path}",
            client.build_request(
                target.method,
                AGENT + target.path,
                params=target.query,
                content=content,
                headers=build_headers(binding.dialect),
            ),
            find_handler(controller, candidate.path),
            binding.operation.service_method,
            tenant,
        )


def list_requests(client: httpx.Client) -> Iterator[ServedRequest]:
    """List a request of each operation, dialect and binding, and for each card."""
    yield from list_calls(client)
    yield from list_http_requests(client)
    for card in CARDS:
        handler = find_handler(CardController, card.path)
        request = client.build_request("GET", AGENT + card.path)
        yield ServedRequest(f"card {card.path}", request, handler)


def build_surfaces(path: str = AGENT) -> tuple[Surface, Surface]:
    """Build a surface with each dialect but the mesh, and one of the mesh below it."""
    dialects = frozenset((V1_0.name, V1_1_DRAFT.name, V0_3.name))
    agent = build_test_agent()
    return (
        Surface(agent, path, dialects, gate=OpenGate()),
        Surface(agent, f"{path}/mesh", frozenset((MESH.name,)), only={"echo"}, gate=OpenGate()),
    )


def build_starlette_app() -> Starlette:
    """Build an app of Starlette with agents."""
    host = Starlette()
    mount_agents(host, AGENT, *build_surfaces(""), settings=FAST_SETTINGS)
    return host


APPS: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "create_app": lambda: create_app(*build_surfaces(), settings=FAST_SETTINGS),
        "Litestar": lambda: Litestar(
            plugins=[A2APlugin(*build_surfaces(), settings=FAST_SETTINGS)], logging_config=None
        ),
        "Starlette": build_starlette_app,
        "ASGI": lambda: with_agents(
            Starlette(), AGENT, *build_surfaces(""), settings=FAST_SETTINGS
        ),
    }
)


@pytest.fixture
def profile() -> Iterator[EntryProfile]:
    """Profile the threads that begin in a test."""
    profile = EntryProfile()
    threading.setprofile(profile)
    yield profile
    threading.setprofile(None)


@pytest.mark.parametrize("build_app", APPS.values(), ids=APPS.keys())
def test_each_operation_enters_its_generated_handler(
    build_app: Callable[[], object], profile: EntryProfile
) -> None:
    """The handler is that of the path, it is entered once, and the endpoint that it returns runs
    the operation of the request.
    """
    entered: dict[str, object] = {}
    expected: dict[str, object] = {}
    with serve_on_socket(build_app()) as client:
        for each in list_requests(client):
            profile.clear()
            client.send(each.request)
            operations = {(each.operation, each.tenant)} if each.operation else set()
            expected[each.title] = ([each.handler], operations)
            entered[each.title] = ([*profile.handlers], {*profile.operations})
    assert entered == expected
    assert {each.partition(" ")[0] for each in entered} == {*DIALECTS, "card"}


def test_each_card_comes_from_its_handler() -> None:
    """The path that 1.0 has too leads to a card that both versions can read, the older one to a
    card of 0.3.
    """
    with serve_on_socket(APPS["create_app"]()) as client:
        cards = {each.path: client.get(AGENT + each.path).json() for each in CARDS}
    assert [path for path, card in cards.items() if "supportedInterfaces" in card] == [
        "/.well-known/agent-card.json"
    ]

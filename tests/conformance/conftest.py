"""The agent under test, and its clients.

A test takes ``client`` (every dialect over every binding), ``client_1_0`` or ``client_0_3``, and
runs in this process on the store in memory and on SQLite. One that takes ``everywhere`` too runs
besides over a real socket, and on PostgreSQL. One that takes ``socket_only`` needs streams that run
beside other calls: in process, a stream is read to its end at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache

import httpx
import pytest
from conformance.agent import ADA, app_under_test
from conformance.agent_client import AgentClient
from integration.dialect_client import (
    DIALECT_BINDINGS,
    DRAFT_BINDINGS,
    GRPC_BINDINGS,
    DialectBinding,
)
from integration.grpc_overlay import GrpcOverlay
from integration.outcome_agent import serve_on_socket
from litestar import Litestar
from litestar.testing import TestClient

from a2a_contract.dialects import V0_3, V1_0, V1_1_DRAFT
from a2a_runtime.plugin import A2APlugin

USUAL = ("memory", "sqlite")
EVERYWHERE = (*USUAL, "socket", "postgres")
BINDINGS = (*DIALECT_BINDINGS, *GRPC_BINDINGS, *DRAFT_BINDINGS)
BINDINGS_1_0 = tuple(binding for binding in BINDINGS if binding.is_1_x)
BINDINGS_0_3 = tuple(binding for binding in BINDINGS if not binding.is_1_x)
WITH_DRAFT = frozenset((V1_0.name, V1_1_DRAFT.name, V0_3.name))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test wherever it is to run."""
    names = metafunc.fixturenames
    if "agent_place" not in names:
        return
    places: tuple[str, ...] = USUAL
    if "everywhere" in names:
        places = EVERYWHERE
    elif "socket_only" in names:
        places = ("socket",)
    metafunc.parametrize("agent_place", places, indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the draft of the next version in one place only: what it adds is tested on every store
    elsewhere.
    """
    dropped = [
        item for item in items if isinstance(item, pytest.Function) and _is_draft_again(item)
    ]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if item not in set(dropped)]


def _is_draft_again(item: pytest.Function) -> bool:
    values = {} if getattr(item, "callspec", None) is None else item.callspec.params
    is_draft = any(
        isinstance(value, DialectBinding) and value in DRAFT_BINDINGS for value in values.values()
    )
    return is_draft and values.get("agent_place", "memory") not in {
        "memory",
        "socket" if "socket_only" in item.fixturenames else "memory",
    }


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture
def everywhere() -> None:
    """Ask for all places."""


@pytest.fixture
def socket_only() -> None:
    """Ask for a real socket."""


@pytest.fixture(scope="session")
def agent_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """Put the agent somewhere, and give a client of it."""
    stores = {
        "sqlite": lambda: f"sqlite:///{tmp_path_factory.mktemp('conformance')}/tasks.db",
        "postgres": lambda: asyncio.run(request.getfixturevalue("postgres_databases").create()),
    }
    with open_place(
        app_under_test(stores.get(request.param, lambda: "memory")()),
        on_socket=request.param == "socket",
    ) as client:
        yield client


@pytest.fixture(scope="session")
def draft_places() -> Iterator[Mapping[bool, Callable[[], httpx.Client]]]:
    """Put the agent with the next version somewhere, in memory or on a socket, when a test first
    needs it.
    """
    with ExitStack() as stack:
        yield {
            on_socket: cache(lambda on_socket=on_socket: _open_draft(stack, on_socket=on_socket))
            for on_socket in (False, True)
        }


def _open_draft(stack: ExitStack, *, on_socket: bool) -> httpx.Client:
    return stack.enter_context(
        open_place(app_under_test("memory", dialects=WITH_DRAFT), on_socket=on_socket)
    )


@contextmanager
def open_place(app: Litestar, *, on_socket: bool) -> Iterator[httpx.Client]:
    """Serve an app, in process or on a socket, and reach its ports for gRPC by paths."""
    with ExitStack() as stack:
        client = stack.enter_context(serve_on_socket(app) if on_socket else TestClient(app))
        surfaces = next(each for each in app.plugins if isinstance(each, A2APlugin)).surfaces
        overlay = GrpcOverlay(
            client._transport,
            {each.path: each.grpc.address for each in surfaces if each.grpc is not None},
        )
        client._transport = overlay  # which the client closes
        yield client


def build_agent_client(request: pytest.FixtureRequest, client: httpx.Client) -> AgentClient:
    """Talk in one way; below /kind, requests without a body mean the documented form of 0.3."""
    binding: DialectBinding = request.param
    if binding in DRAFT_BINDINGS:
        http = request.getfixturevalue("draft_places")["socket_only" in request.fixturenames]()
        return AgentClient(http, binding, headers={**ADA, "A2A-Version": V1_1_DRAFT.version or ""})
    return AgentClient(
        client, binding, "/kind" if binding == DialectBinding(V0_3.name, is_jsonrpc=False) else ""
    )


@pytest.fixture(params=BINDINGS, ids=str)
def client(request: pytest.FixtureRequest, agent_place: httpx.Client) -> AgentClient:
    """A client for each dialect and binding."""
    return build_agent_client(request, agent_place)


@pytest.fixture(params=BINDINGS_1_0, ids=str)
def client_1_0(request: pytest.FixtureRequest, agent_place: httpx.Client) -> AgentClient:
    """A client of 1.0 for each binding."""
    return build_agent_client(request, agent_place)


@pytest.fixture(params=[each for each in BINDINGS_1_0 if not each.is_grpc], ids=str)
def json_client_1_0(request: pytest.FixtureRequest, agent_place: httpx.Client) -> AgentClient:
    """A client of 1.0 for each binding whose documents are JSON."""
    return build_agent_client(request, agent_place)


@pytest.fixture(params=BINDINGS_0_3, ids=str)
def client_0_3(request: pytest.FixtureRequest, agent_place: httpx.Client) -> AgentClient:
    """A client of 0.3 for each binding and form."""
    return build_agent_client(request, agent_place)

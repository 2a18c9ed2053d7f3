"""Where the agent under test stands, and who talks to it how.

A test takes ``asker`` (every dialect over every binding), ``asker_1_0`` or ``asker_0_3``, and runs in this process on the store in memory and on
SQLite. One that takes ``everywhere`` too runs besides over a real socket, and on PostgreSQL. One that takes ``socket_only`` needs streams that run
beside other calls: in process, a stream is read to its end at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from conformance.agent import app_under_test
from conformance.agent_client import Asker
from integration.dialect_client import DIALECT_BINDINGS, DialectBinding
from integration.outcome_agent import serve_on_socket
from litestar.testing import TestClient

from a2a_contract.dialects import V0_3, V1_0

USUAL = ("memory", "sqlite")
EVERYWHERE = (*USUAL, "socket", "postgres")
OF_1_0 = tuple(voice for voice in DIALECT_BINDINGS if voice.dialect == V1_0.name)
OF_0_3 = tuple(voice for voice in DIALECT_BINDINGS if voice.dialect != V1_0.name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test wherever it is to run."""
    if "agent_place" in metafunc.fixturenames:
        names = metafunc.fixturenames
        places = EVERYWHERE if "everywhere" in names else ("socket",) if "socket_only" in names else USUAL
        metafunc.parametrize("agent_place", places, indirect=True, scope="session")


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
def agent_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Put the agent somewhere, and give a client of it."""
    stores = {
        "sqlite": lambda: f"sqlite:///{tmp_path_factory.mktemp('conformance')}/tasks.db",
        "postgres": lambda: asyncio.run(request.getfixturevalue("postgres_databases").create()),
    }
    app = app_under_test(stores.get(request.param, lambda: "memory")())
    with ExitStack() as stack:
        yield stack.enter_context(serve_on_socket(app) if request.param == "socket" else TestClient(app))


def _asker(client: httpx.Client, voice: DialectBinding) -> Asker:
    """Talk in one way; below /kind, requests without a body mean the documented form of 0.3."""
    return Asker(client, voice, "/kind" if voice == DialectBinding(V0_3.name, is_jsonrpc=False) else "")


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def asker(request: pytest.FixtureRequest, agent_place: httpx.Client) -> Asker:
    """Somebody who talks in one of the dialects over one of the bindings."""
    return _asker(agent_place, request.param)


@pytest.fixture(params=OF_1_0, ids=str)
def asker_1_0(request: pytest.FixtureRequest, agent_place: httpx.Client) -> Asker:
    """Somebody who talks 1.0 over one of the bindings."""
    return _asker(agent_place, request.param)


@pytest.fixture(params=OF_0_3, ids=str)
def asker_0_3(request: pytest.FixtureRequest, agent_place: httpx.Client) -> Asker:
    """Somebody who talks 0.3 over one of the bindings, in one of the forms."""
    return _asker(agent_place, request.param)

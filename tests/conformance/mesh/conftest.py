"""A producer on a real socket, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from conformance.mesh.producer import producer
from integration.outcome_agent import serve_on_socket


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """A client of the producer."""
    with serve_on_socket(producer()) as client:
        yield client


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"

"""Agents made with the official SDKs, each once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from peers.sdk_agents import peer_agent


@pytest.fixture(scope="session")
def agent_1_0() -> Iterator[str]:
    """An agent made with a2a-sdk 1.3.0."""
    with peer_agent("a2a-sdk-1.3.0", "server_1_0.py") as url:
        yield url


@pytest.fixture(scope="session")
def agent_0_3() -> Iterator[str]:
    """An agent made with a2a-sdk 0.3.26."""
    with peer_agent("a2a-sdk-0.3.26", "server_0_3.py") as url:
        yield url

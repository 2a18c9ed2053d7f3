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


@pytest.fixture(scope="session")
def agent_js_1_0() -> Iterator[str]:
    """An agent made with @a2a-js/sdk 1.3.0, in 1.0 and with its layer for 0.3."""
    with peer_agent("a2a-js-1.3.0", "server_js_1_0.mjs") as url:
        yield url


@pytest.fixture(scope="session")
def agent_js_0_3() -> Iterator[str]:
    """An agent made with @a2a-js/sdk 0.3.14."""
    with peer_agent("a2a-js-0.3.14", "server_js_0_3.mjs") as url:
        yield url

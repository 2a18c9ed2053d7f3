"""Fixtures of the fault tests: asyncio as the backend."""

import pytest

pytest.register_assert_rewrite("tests.faults.paused_agents")  # its assertions show their values


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"

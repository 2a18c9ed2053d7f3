"""What the fault tests share: asyncio, as the runtime has it."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"

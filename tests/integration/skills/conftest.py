"""The agent of examples/report, in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest
from report_agent.contract import Chapter, Report, make_surfaces
from report_agent.handlers import ReportAgent

from a2a_runtime.app import create_app
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

REPORT = Report(title="Tea", chapters=[Chapter(title="Leaves", text="They are green.")])
URL = "http://agent"


@pytest.fixture
async def transport() -> AsyncGenerator[httpx.AsyncBaseTransport, None]:
    """A way to the agent."""
    async with run_app(
        create_app(*make_surfaces(ReportAgent()), settings=FAST_SETTINGS)
    ) as transport:
        yield transport


@pytest.fixture
async def http(transport: httpx.AsyncBaseTransport) -> AsyncGenerator[httpx.AsyncClient, None]:
    """Plain HTTP to the agent."""
    async with httpx.AsyncClient(base_url=URL, transport=transport) as http:
        yield http

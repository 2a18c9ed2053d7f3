"""The recordings that there are: for each of them an app, and what is said to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from conformance.agent import app_under_test
from integration.dialect_client import DIALECT_BINDINGS
from integration.recorded_errors import (
    browser_app,
    guarded_app,
    record_browsers,
    record_guards,
    record_refusals,
    refusing_app,
)
from integration.recorded_operations import record_operations
from integration.recorded_topics import (
    card_app,
    mesh_app,
    notifying_app,
    record_cards,
    record_documents,
    record_mesh,
    record_skills,
    record_webhooks,
    report_app,
)
from integration.recording import Recorder
from litestar import Litestar

from a2a_runtime.settings import Settings
from a2a_runtime.testing.agent import FAST_SETTINGS

SETTLED = replace(
    FAST_SETTINGS,
    working_delay=3600,
    lease_renew_interval=60,
    lease_duration=600,
    orphan_scan_interval=60,
    deadline_check_interval=60,
)
"""Nothing happens because time goes by."""


Serving = Callable[[Settings], AbstractAsyncContextManager[Litestar]]


@dataclass(frozen=True)
class Scenario:
    """An app and what is said to it."""

    serving: Serving
    record: Callable[[Recorder], Awaitable[None]]

    def app(self) -> AbstractAsyncContextManager[Litestar]:
        """Make the app."""
        return self.serving(SETTLED)


@asynccontextmanager
async def serve_tested_agent(settings: Settings) -> AsyncGenerator[Litestar, None]:
    """Serve the agent that is held against the specifications."""
    yield app_under_test("memory", settings)


SCENARIOS: Mapping[str, Scenario] = {
    **{
        str(binding): Scenario(serve_tested_agent, partial(record_operations, binding=binding))
        for binding in DIALECT_BINDINGS
    },
    "mesh": Scenario(mesh_app, record_mesh),
    "refusals": Scenario(refusing_app, record_refusals),
    "guards": Scenario(guarded_app, record_guards),
    "browsers": Scenario(browser_app, record_browsers),
    "cards": Scenario(card_app, record_cards),
    "skills": Scenario(report_app, record_skills),
    "openapi": Scenario(report_app, record_documents),
    "webhooks": Scenario(notifying_app, record_webhooks),
}

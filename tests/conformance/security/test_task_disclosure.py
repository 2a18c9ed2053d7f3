"""Timing discloses no task of another owner: the store gets the same statements as for an unknown
id.
"""

from __future__ import annotations

import re
from dataclasses import replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from conformance.security.guarded_apps import AuthenticatedClient
from conformance.security.test_ownership import (
    ADA_TOKEN,
    ATTACKS,
    INTRUDERS,
    MESH_BINDING,
    SENDS,
    app,
    surface_path,
)
from integration.dialect_client import DIALECT_BINDINGS, DialectBinding
from litestar import Litestar
from litestar.testing import TestClient

from a2a_contract.dialects import V1_0
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS

# The sender of webhooks queries the store independently of requests.
NOISE = re.compile(r"BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|outbox")
QUIET_SETTINGS = replace(
    FAST_SETTINGS,
    lease_renew_interval=5,
    lease_duration=180,
    orphan_scan_interval=60,
    cleanup_interval=60,
    push_poll_interval=60,
)


TRIES = 3
"""A process renews its lease independently of requests too; what tells tasks apart does so each
time.
"""


class StatementTrace:
    """The statements that a store executed."""

    statements: list[str]

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - whatever a store has
        found = super().__getattribute__(name)
        if not name.startswith("_") and name != "claim_due" and iscoroutinefunction(found):
            self.statements.append(name)
        return found


class TracedMemoryStore(StatementTrace, MemoryStore):
    """A store in memory that is watched."""


class TracedPostgresStore(StatementTrace, PostgresStore):
    """A store in Postgres that is watched."""


class TracedSqliteStore(StatementTrace, SqliteStore):
    """A store in a file that is watched, down to its statements."""

    async def open(self) -> None:
        """Look at what the file is asked."""
        await super().open()
        for lane in (self._reader, self._writer):
            assert lane is not None
            lane._connection.set_trace_callback(self._trace)

    def _trace(self, statement: str) -> None:
        if not NOISE.search(statement):
            self.statements.append(
                statement.split("(", maxsplit=1)[0].split("WHERE", maxsplit=1)[0]
            )


@pytest.fixture(params=["memory", "behind a policy", "sqlite", "postgres"])
def watched_agent(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Litestar, list[str]]:
    """An agent whose store is watched, and what was seen."""
    store: TracedMemoryStore | TracedSqliteStore | TracedPostgresStore
    match request.param:
        case "sqlite":
            store = TracedSqliteStore(tmp_path / "tasks.db")
        case "postgres":
            store = TracedPostgresStore(request.getfixturevalue("postgres_url"))
        case _:
            store = TracedMemoryStore()
    store.statements = []
    policy = (lambda *_: True) if request.param == "behind a policy" else None
    return app(store, QUIET_SETTINGS, policy), store.statements


def test_a_foreign_task_takes_as_long_as_one_that_does_not_exist(
    watched_agent: tuple[Litestar, list[str]],
) -> None:
    """The store is asked the same things in the same order: how long that takes says nothing."""
    served, statements = watched_agent
    with TestClient(served) as client:
        for binding in (*DIALECT_BINDINGS, MESH_BINDING):
            task = AuthenticatedClient(
                client, DialectBinding(V1_0.name, is_jsonrpc=True), surface_path(binding), ADA_TOKEN
            ).task("ask", skill="act")
            intruder = AuthenticatedClient(
                client, binding, surface_path(binding), INTRUDERS["another user"]
            )
            for attempt, (operation, request) in ATTACKS.items():
                if not binding.has(operation) or (binding is MESH_BINDING and operation in SENDS):
                    continue
                found: list[list[str]] = []
                for _ in range(TRIES):
                    found.clear()
                    for task_id in ("no-such-task", task.id):
                        statements.clear()
                        intruder.call_raw(operation, request(task_id))
                        found.append([*statements])
                    if found[0] == found[1]:
                        break
                assert found[0] == found[1], (binding, attempt)
                assert found[0], (binding, attempt)

"""Agents on every store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from a2a_runtime.engine.handlers.skill import Handler, Skill
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.simple_stores import SimpleStore
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import InProcessAgent, run_agent
from a2a_runtime.testing.dict_storage import DictStorage

MakeStore = Callable[[], Store]

OPTIONS = StoreOptions(lease_seconds=2.0)


@pytest.fixture(params=["memory", "sqlite", "postgres", "simple"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Make stores on one and the same medium."""
    return _build_store_factory(request.param, request, tmp_path)


def _build_store_factory(medium: str, request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    match medium:
        case "memory":
            store = MemoryStore(OPTIONS)
            return lambda: store
        case "simple":
            storage = DictStorage()
            return lambda: SimpleStore(storage, OPTIONS)
        case "sqlite":
            return lambda: SqliteStore(tmp_path / "tasks.db", OPTIONS)
        case _:
            url = request.getfixturevalue("postgres_url")
            return lambda: PostgresStore(url, OPTIONS)


@dataclass(frozen=True)
class RunAgent:
    """Runs agents on one medium, in this process or with a worker beside it; the tests are the
    contract of both.
    """

    make_store: MakeStore
    on_workers: bool

    def __call__(
        self,
        *skills: Skill | Handler,
        **options: Any,  # noqa: ANN401 - those of run_agent
    ) -> AbstractAsyncContextManager[InProcessAgent]:
        """Run an agent."""
        return run_agent(
            *skills,
            store=self.make_store(),
            worker_store=self.make_store() if self.on_workers else None,
            **options,
        )


@pytest.fixture(params=["memory", "sqlite", "postgres", "simple", "workers"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> RunAgent:
    """Every runner: in the process, on every store, and on workers."""
    on_workers = request.param == "workers"
    return RunAgent(
        _build_store_factory("postgres" if on_workers else request.param, request, tmp_path),
        on_workers,
    )


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    """A store that an agent opens and closes."""
    return make_store()

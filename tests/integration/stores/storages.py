"""Storages for tests of the simple store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from a2a_contract.lifecycle import State
from a2a_runtime.features.simple_stores import SimpleStore
from a2a_runtime.features.simple_stores.codec import REQUIRED
from a2a_runtime.testing.dict_storage import DictStorage


class Partly:
    """A storage with some of the methods of another."""

    def __init__(self, *names: str) -> None:
        self.whole = DictStorage()
        for name in (*REQUIRED, *names):
            setattr(self, name, getattr(self.whole, name))


@asynccontextmanager
async def open_store(storage: object) -> AsyncIterator[SimpleStore]:
    """Open a store on a storage."""
    store = SimpleStore(storage)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def read_stored_state(storage: DictStorage, task_id: str) -> State:
    """Return the state of a task as the storage has it."""
    task = await storage.load_task(task_id)
    assert task is not None
    return State(task.status.state)

"""Windowed counters."""

# ruff: noqa: S101 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import asyncio

from a2a_runtime.stores.base import Store
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import StoreCase


class CounterRules(StoreCase):
    """Rules of counters."""

    async def test_concurrent_counts_are_not_lost(self, store: Store) -> None:
        """Two hundred concurrent calls get two hundred different numbers."""
        counts = await asyncio.gather(*[store.count("k", 60) for _ in range(200)])
        assert sorted(each.number for each in counts) == list(range(1, 201))

    async def test_keys_have_windows_of_their_own(self, store: Store, clock: FakeClock) -> None:
        """A window begins with its first count, and every call gets its remaining seconds."""
        assert await store.count("k", 60) == (1, 60.0)
        clock.advance(59)
        assert [tuple(await store.count(key, 60)) for key in ("k", "other")] == [
            (2, 1.0),
            (1, 60.0),
        ]
        clock.advance(1)
        assert await store.count("k", 60) == (1, 60.0)

    async def test_expired_counters_are_deleted(self, store: Store, clock: FakeClock) -> None:
        """Others stay."""
        await store.count("old", 10)
        await store.count("young", 100)
        clock.advance(11)
        await store.delete_expired()
        assert [(await store.count(key, 60)).number for key in ("old", "young")] == [1, 2]

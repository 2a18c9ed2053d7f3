"""Counting who asks how often."""

# ruff: noqa: S101 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import asyncio

from a2a_runtime.stores.base import Store
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import StoreCase


class CounterRules(StoreCase):
    """What holds for counts."""

    async def test_nobodys_count_is_lost(self, store: Store) -> None:
        """Of two hundred who ask at the very same moment each hears a number of their own."""
        counts = await asyncio.gather(*[store.count("k", 60) for _ in range(200)])
        assert sorted(each.number for each in counts) == list(range(1, 201))

    async def test_keys_are_counted_apart_and_for_a_while(self, store: Store, clock: FakeClock) -> None:
        """The time begins with the first one, however many follow, and everybody hears how much of it is left."""
        assert await store.count("k", 60) == (1, 60.0)
        clock.advance(59)
        assert [tuple(await store.count(key, 60)) for key in ("k", "other")] == [(2, 1.0), (1, 60.0)]
        clock.advance(1)
        assert await store.count("k", 60) == (1, 60.0)

    async def test_what_is_over_is_swept(self, store: Store, clock: FakeClock) -> None:
        """And what is not stays."""
        await store.count("old", 10)
        await store.count("young", 100)
        clock.advance(11)
        await store.delete_expired()
        assert [(await store.count(key, 60)).number for key in ("old", "young")] == [1, 2]

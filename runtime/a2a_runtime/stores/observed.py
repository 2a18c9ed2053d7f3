"""A store whose calls are wrapped, for numbers or traces of them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

StoreT = TypeVar("StoreT")
StoreCall = Callable[..., Awaitable[Any]]


class _InstrumentedStore:
    """All that a store has; calls that wait are wrapped."""

    def __init__(self, store: object, wrap: Callable[[str, StoreCall], StoreCall]) -> None:
        for name in dir(store):
            if not name.startswith("_"):
                member = getattr(store, name)
                if inspect.iscoroutinefunction(member):
                    member = wrap(name, member)
                setattr(self, name, member)


def instrument_store(store: StoreT, wrap: Callable[[str, StoreCall], StoreCall]) -> StoreT:
    """Wrap each call of a store that waits; ``wrap`` gets its name."""
    return cast("StoreT", _InstrumentedStore(store, wrap))

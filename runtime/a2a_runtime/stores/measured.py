"""A store whose calls are measured."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from a2a_contract.errors import UnavailableError
from a2a_runtime.metrics import Metrics
from a2a_runtime.stores.base import Store

P = ParamSpec("P")
T = TypeVar("T")


class _MeasuredStore:
    """All that a store has; calls that wait are measured."""

    def __init__(self, store: Store, metrics: Metrics) -> None:
        for name in dir(store):
            if not name.startswith("_"):
                member = getattr(store, name)
                setattr(self, name, _measure(member, name, metrics) if inspect.iscoroutinefunction(member) else member)


def measure_store(store: Store, metrics: Metrics) -> Store:
    """Measure the calls of a store; only errors of the store itself count as failures, not those of a caller."""
    return cast("Store", _MeasuredStore(store, metrics))


def _measure(call: Callable[P, Awaitable[T]], name: str, metrics: Metrics) -> Callable[P, Awaitable[T]]:
    @wraps(call)
    async def measured(*args: P.args, **kwargs: P.kwargs) -> T:
        began, has_failed = time.perf_counter(), False
        try:
            return await call(*args, **kwargs)
        except UnavailableError:
            has_failed = True
            raise
        finally:
            metrics.record_store_call(name, time.perf_counter() - began, has_failed=has_failed)

    return measured

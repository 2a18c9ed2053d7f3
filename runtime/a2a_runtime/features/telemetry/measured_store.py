"""A store whose calls are measured."""

from __future__ import annotations

import time
from functools import wraps
from typing import Any

from a2a_contract.errors import UnavailableError
from a2a_runtime.features.telemetry.metrics import Metrics, observe
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.observed import StoreCall, instrument_store


def measure_store(store: Store, metrics: Metrics) -> Store:
    """Measure the calls of a store; only errors of the store itself count as failures, not those of
    a caller.
    """

    def measure(name: str, call: StoreCall) -> StoreCall:
        found = metrics.store_seconds

        @wraps(call)
        async def measured(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - passed on
            began = time.perf_counter()
            try:
                return await call(*args, **kwargs)
            except UnavailableError:
                metrics.store_failures[name] += 1
                raise
            finally:
                observe(found, name, time.perf_counter() - began)

        return measured

    return instrument_store(store, measure)

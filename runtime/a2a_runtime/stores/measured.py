"""A store whose calls are measured."""

from __future__ import annotations

import time
from functools import wraps
from typing import Any

from a2a_contract.errors import UnavailableError
from a2a_runtime.metrics import Metrics
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.instrumentation import StoreCall, instrument_store


def measure_store(store: Store, metrics: Metrics) -> Store:
    """Measure the calls of a store; only errors of the store itself count as failures, not those of a caller."""

    def measure(name: str, call: StoreCall) -> StoreCall:
        @wraps(call)
        async def measured(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - passed on
            began, has_failed = time.perf_counter(), False
            try:
                return await call(*args, **kwargs)
            except UnavailableError:
                has_failed = True
                raise
            finally:
                metrics.record_store_call(name, time.perf_counter() - began, has_failed=has_failed)

        return measured

    return instrument_store(store, measure)

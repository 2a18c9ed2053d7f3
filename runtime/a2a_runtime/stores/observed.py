"""A store whose calls are observed."""

from __future__ import annotations

import inspect
from typing import Any, cast

from a2a_runtime.ports.observer import Observation
from a2a_runtime.stores.base import Store


def observe_store(store: Store, observation: Observation) -> Store:
    """Wrap each call of a store that waits; what the store says about itself is read from it each
    time.
    """
    members: dict[str, Any] = {}
    calls: dict[str, Any] = {}
    for name in dir(store):
        if name.startswith("_"):
            continue
        member = getattr(store, name)
        if inspect.iscoroutinefunction(member):
            for wrap in observation.wrap_store_call:
                member = wrap(name, member)
            calls[name] = member
        elif callable(member):
            calls[name] = member
        else:
            # The default binds the name of this turn.
            members[name] = property(lambda _, own=name: getattr(store, own))  # type: ignore[misc]
    observed = type(f"Observed{type(store).__name__}", (), members)()
    vars(observed).update(calls)
    return cast("Store", observed)

"""What every part of the service works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import Scope
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.execution.engine import Engine
from a2a_runtime.ids import Ids
from a2a_runtime.push.notification import check_config
from a2a_runtime.push.secret import GlassVault, Sealer, sealed
from a2a_runtime.stores.port import Store


def any_url(_url: str) -> None:
    """Refuse no webhook."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a service works with; ``check_url`` refuses webhooks that would never be called, by raising ``InvalidParamsError``."""

    engine: Engine
    store: Store
    check_url: Callable[[str], object] = any_url
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    vault: Sealer = GlassVault()  # noqa: RUF009 - as above


class ServiceBase:
    """A part of the service."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._engine, self._store = means.engine, means.store
        self._ids = Ids(means.clock)

    def _sealed(self, config: TaskPushNotificationConfig, scope: Scope, wire_id: str) -> TaskPushNotificationConfig:
        """Give a webhook the ids that it lacks, and seal its secrets for where it will be."""
        named = config.model_copy(update={"id": config.id or self._ids.new(), "task_id": wire_id})
        return sealed(named, self._means.vault, scope)

    def _check(self, config: TaskPushNotificationConfig, below: str = "") -> None:
        """Refuse a webhook that could never be called, and say where in the request it stands."""
        check_config(config, self._means.check_url, below)

"""Who asks, where, and how: what a service knows of a request besides the request itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from a2a_contract.dialects import CANONICAL, RESERVED_TENANTS
from a2a_contract.errors import InvalidParamsError, PermissionDeniedError
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import Caller, Scope
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.execution.engine import Engine
from a2a_runtime.ids import Ids
from a2a_runtime.push.notification import GlassVault, Sealer, check_config, sealed
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface


class BindingKind(StrEnum):
    """How a request came in; the values are the names that cards have for it."""

    JSONRPC = TransportProtocol.JSONRPC.value
    HTTP = TransportProtocol.HTTP_JSON.value


class Call(NamedTuple):
    """One call of an operation. A plain tuple: one is made for every request."""

    surface: Surface
    caller: Caller
    dialect: str = CANONICAL.name
    binding: BindingKind = BindingKind.JSONRPC
    extensions: tuple[str, ...] = ()
    """The extensions that the client asks for."""
    last_event_id: str | None = None
    """The last event that the client has seen of the stream that it goes on with."""
    idempotency_key: str | None = None
    base_url: str = ""
    """Where the client reaches the surface, as far as the server can tell; what is configured goes before it."""

    @property
    def activated(self) -> tuple[str, ...]:
        """The extensions that are in effect for this call."""
        return self.surface.activated(self.extensions)

    def history(self, length: int | None) -> int | None:
        """Say how much of a task's history an answer has: as much as was asked for, and no more than the surface gives."""
        most = self.surface.limits.history
        return length if most is None else most if length is None else min(length, most)

    def scope(self, tenant: str | None = None) -> Scope:
        """Say whose tasks the call is about.

        The tenant is the one that the caller is known to belong to, or else the one that the request names. A caller of one tenant never gets to
        another one.
        """
        caller = self.caller
        if tenant and tenant != caller.tenant:
            if caller.tenant:
                raise PermissionDeniedError("The caller does not belong to this tenant")
            if tenant in RESERVED_TENANTS:
                raise InvalidParamsError(fields=(("tenant", "is reserved and cannot name a tenant"),))
            return Scope(self.surface.room, tenant, caller.owner)
        return Scope(self.surface.room, caller.tenant, caller.owner)


# What every part of the service works with.


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

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
from a2a_runtime.caller import Caller, TaskScope
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.execution.engine import Engine
from a2a_runtime.ids import IdGenerator
from a2a_runtime.push.notification import PlaintextCipher, SecretCipher, check_config, encrypt_config
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface


class ProtocolBinding(StrEnum):
    """How a request came in; the values are the names that cards have for it."""

    JSONRPC = TransportProtocol.JSONRPC.value
    HTTP = TransportProtocol.HTTP_JSON.value


class CallContext(NamedTuple):
    """One call of an operation. A plain tuple: one is made for every request."""

    surface: Surface
    caller: Caller
    dialect: str = CANONICAL.name
    binding: ProtocolBinding = ProtocolBinding.JSONRPC
    extensions: tuple[str, ...] = ()
    """The extensions that the client asks for."""
    last_event_id: str | None = None
    """The last event that the client has seen of the stream that it goes on with."""
    idempotency_key: str | None = None
    base_url: str = ""
    """Where the client reaches the surface, as far as the server can tell; what is configured goes before it."""

    @property
    def active_extensions(self) -> tuple[str, ...]:
        """The extensions that are in effect for this call."""
        return self.surface.activate_extensions(self.extensions)

    def limit_history(self, length: int | None) -> int | None:
        """Say how much of a task's history an answer has: as much as was asked for, and no more than the surface gives."""
        most = self.surface.limits.history
        return length if most is None else most if length is None else min(length, most)

    def task_scope(self, tenant: str | None = None) -> TaskScope:
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
            return TaskScope(self.surface.storage_key, tenant, caller.owner)
        return TaskScope(self.surface.storage_key, caller.tenant, caller.owner)


# What every part of the service works with.


def allow_any_url(_url: str) -> None:
    """Refuse no webhook."""


@dataclass(frozen=True, slots=True)
class ServiceDependencies:
    """What a service works with; ``check_url`` refuses webhooks that would never be called, by raising ``InvalidParamsError``."""

    engine: Engine
    store: Store
    check_url: Callable[[str], object] = allow_any_url
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    secret_cipher: SecretCipher = PlaintextCipher()  # noqa: RUF009 - as above


class ServiceBase:
    """A part of the service."""

    def __init__(self, dependencies: ServiceDependencies) -> None:
        self._dependencies = dependencies
        self._engine, self._store = dependencies.engine, dependencies.store
        self._ids = IdGenerator(dependencies.clock)

    def _encrypt_config(self, config: TaskPushNotificationConfig, scope: TaskScope, wire_id: str) -> TaskPushNotificationConfig:
        """Give a webhook the ids that it lacks, and seal its secrets for where it will be."""
        named = config.model_copy(update={"id": config.id or self._ids.new(), "task_id": wire_id})
        return encrypt_config(named, self._dependencies.secret_cipher, scope)

    def _check_push_config(self, config: TaskPushNotificationConfig, path_prefix: str = "") -> None:
        """Refuse a webhook that could never be called, and say where in the request it stands."""
        check_config(config, self._dependencies.check_url, path_prefix)

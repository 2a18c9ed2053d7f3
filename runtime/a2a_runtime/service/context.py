"""Call context of an operation, and the dependencies of the service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from a2a_contract.dialects import CANONICAL, RESERVED_TENANTS
from a2a_contract.errors import InvalidParamsError, PermissionDeniedError
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.agent import Agent
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.base.caller import Caller, TaskScope, build_scope
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.base.origin import Origin
from a2a_runtime.engine.engine import Engine
from a2a_runtime.engine.replay import RequestInfo
from a2a_runtime.ports.keys import PlaintextCipher, SecretCipher
from a2a_runtime.ports.wire_variant import CallForm
from a2a_runtime.service.push_configs import encrypt_config
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface


class ProtocolBinding(StrEnum):
    """Binding of a request; the values are the names on agent cards."""

    JSONRPC = TransportProtocol.JSONRPC.value
    HTTP = TransportProtocol.HTTP_JSON.value
    GRPC = TransportProtocol.GRPC.value


class CallContext(Struct, frozen=True):
    """Caller, dialect, extensions and cursor of one operation."""

    surface: Surface
    caller: Caller
    dialect: str = CANONICAL.name
    binding: ProtocolBinding = ProtocolBinding.JSONRPC
    extensions: tuple[str, ...] = ()
    """The extensions that the client requests."""
    last_event_id: str | None = None
    """The cursor: the last event of the stream that the client has received."""
    idempotency_key: str | None = None
    base_url: str = ""
    """The URL of the surface as the server sees it; a configured URL takes precedence."""
    body: bytes = b""
    """The call as it was sent, in a dialect whose messages may hold more than the canonical
    model.
    """
    form: CallForm | None = None
    """Set for a call in the form of a variant of the wire."""
    origin: Origin | None = None
    """Where the call comes from, if it says so."""
    if_last_seq: int | None = None
    """The number of the last event that the task must have for the message of the call to be taken.
    """
    client_address: str = ""
    """The address of the client as the server reports it."""
    shows_messages: bool = False
    """True if readers of events see those that are messages of clients."""

    @property
    def active_extensions(self) -> tuple[str, ...]:
        """The requested extensions that the surface supports."""
        return self.surface.activate_extensions(self.extensions)

    @property
    def is_canceled_on_disconnect(self) -> bool:
        """True if a task ends with the request that waits for it: by the surface, or by the wish of
        its sender.
        """
        return self.surface.cancel_on_disconnect or (
            self.origin is not None and self.origin.is_canceled_on_disconnect
        )

    @property
    def hidden_skills(self) -> Sequence[str]:
        """The skills that the caller may not use, and whose tasks, messages and state do not exist
        for it.
        """
        restricted = self.surface.restricted_skills
        if restricted:
            return [
                name for name, each in restricted.items() if not each.is_readable_by(self.caller)
            ]
        return ()

    def limit_history(self, length: int | None) -> int | None:
        """Limit the requested length of the history to the maximum of the surface."""
        limit = self.surface.limits.history
        if limit is None:
            return length
        if length is None:
            return limit
        return min(length, limit)

    def task_scope(self, tenant: str | None = None) -> TaskScope:
        """Return the scope of the tasks that the call can access.

        The tenant of the caller takes precedence over that of the request. A caller of one tenant
        has no access to another one.
        """
        caller = self.caller
        if tenant and tenant != caller.tenant:
            gate = self.surface.effective_gate
            if caller.tenant or (isinstance(gate, AuthGate) and gate.strict_tenants):
                raise PermissionDeniedError("The caller does not belong to this tenant")
            if tenant in RESERVED_TENANTS:
                raise InvalidParamsError(
                    fields=(("tenant", "is reserved and cannot name a tenant"),)
                )
            return build_scope(self.surface.storage_key, tenant, caller.owner)
        return build_scope(self.surface.storage_key, caller.tenant, caller.owner)


def allow_any_url(_url: str) -> None:
    """Accept every webhook URL."""


@dataclass(frozen=True, slots=True)
class ServiceDependencies:
    """Dependencies of a service.

    ``check_url`` raises ``InvalidParamsError`` for a webhook URL that the SSRF policy blocks.
    """

    engine: Engine
    store: Store
    check_url: Callable[[str], object] = allow_any_url
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    secret_cipher: SecretCipher = PlaintextCipher()  # noqa: RUF009 - as above
    settings: Settings = Settings()  # noqa: RUF009 - frozen


class ServiceBase:
    """Base class of the groups of operations."""

    def __init__(self, dependencies: ServiceDependencies) -> None:
        self._dependencies = dependencies
        self._engine = dependencies.engine
        self._store = dependencies.store
        self._ids = IdGenerator(dependencies.clock)

    def _accept_origin(self, info: RequestInfo, origin: Origin, agent: Agent) -> RequestInfo:
        """Check the chain of calls that leads to a message, and keep its origin with the
        request.
        """
        origin.check_chain(
            self._dependencies.settings.max_chain_depth, allow_cycles=agent.allow_cycles
        )
        return replace(info, origin=origin.to_record(self._dependencies.clock.millis()))

    def _encrypt_config(
        self, config: TaskPushNotificationConfig, scope: TaskScope, wire_id: str
    ) -> TaskPushNotificationConfig:
        """Add the missing ids to a push configuration and encrypt its secrets for its task."""
        config = config.model_copy(update={"id": config.id or self._ids.new(), "task_id": wire_id})
        return encrypt_config(config, self._dependencies.secret_cipher, scope)

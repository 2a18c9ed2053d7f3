"""What runs behind the surfaces of one process, put together: a store, an engine, the service, and webhooks where an agent has them.

    async with Assembly(surfaces, "sqlite:///tasks.db"):
        …                       tasks that were left behind are taken up, new ones are taken
                                running tasks get their time, the rest is handed over, the store is closed

One store, one engine and one service for all surfaces: each task belongs to the surface on which it was created, and all of them to one truth.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from a2a_contract.dialects import MESH
from a2a_contract.service import AgentService
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.execution.engine import Engine, EngineOptions
from a2a_runtime.logs import audit
from a2a_runtime.mesh.service import MeshService
from a2a_runtime.net.policy import OutboundPolicy
from a2a_runtime.push.notification import PlaintextCipher, SecretCipher
from a2a_runtime.service.authorization import AuthorizingService
from a2a_runtime.service.context import CallContext, ServiceDependencies
from a2a_runtime.service.service import Service
from a2a_runtime.settings import PREFIX, Settings
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import create_store, validate_store
from a2a_runtime.streams.notifier import TeeNotifier
from a2a_runtime.surface import Surface, collect_skills

if TYPE_CHECKING:
    from a2a_runtime.crypto.keys import SigningKey
    from a2a_runtime.push.sender import Signer

if TYPE_CHECKING:
    from a2a_runtime.net.client import GuardedHttpClient
    from a2a_runtime.push.sender import PushSender

# What this process signs and seals with, as the operator has set it.
#
#     A2A_SIGNING_KEYS=/run/secrets/card.pem          signs cards and webhooks; several, with commas: the first one signs webhooks, all sign cards
#     A2A_ENCRYPTION_KEYS=…                                seals the secrets of webhooks in the store; the first one seals, all of them open
#
# The public halves are published at ``/.well-known/jwks.json``.
#

JWKS_PATH = "/.well-known/jwks.json"


@dataclass(frozen=True, slots=True)
class ProcessKeys:
    """The keys of a process."""

    signing_keys: Sequence[SigningKey]
    secret_cipher: SecretCipher
    issuer: str
    """Who the agent says that it is when it signs webhooks."""

    @classmethod
    def from_settings(cls, settings: Settings, surfaces: Sequence[Surface]) -> ProcessKeys:
        """Read the keys."""
        first = surfaces[0]
        address = (first.agent.url or first.public_url or "").rstrip("/")
        return cls(_signing(settings, address), _vault(settings), address or first.agent.name)

    def attach_signer(self, surfaces: Sequence[Surface]) -> Sequence[Surface]:
        """Let surfaces sign their cards, if they do not do so already."""
        if not self.signing_keys:
            return surfaces
        from a2a_runtime.crypto.card_signatures import CardSigner  # noqa: PLC0415 - an extra: only where something is signed

        signer = CardSigner(self.signing_keys)
        return tuple(surface if surface.signer else replace(surface, signer=signer) for surface in surfaces)

    def build_webhook_signer(self) -> Signer | None:
        """Make what signs webhooks."""
        if not self.signing_keys:
            return None
        from a2a_runtime.crypto.webhook_signatures import WebhookSigner  # noqa: PLC0415 - as above

        return WebhookSigner(self.signing_keys[0], self.issuer)

    def to_jwks(self) -> bytes | None:
        """Write the document of the public keys, if there are any."""
        if not self.signing_keys:
            return None
        from a2a_runtime.crypto.keys import build_jwks  # noqa: PLC0415 - as above

        return build_jwks(self.signing_keys)


def _signing(settings: Settings, address: str) -> Sequence[SigningKey]:
    if not settings.signing_keys:
        return ()
    from a2a_runtime.crypto.keys import SigningKey  # noqa: PLC0415 - as above

    jku = address + JWKS_PATH if address.startswith("https://") else None
    keys = tuple(SigningKey.from_file(Path(path.strip()), jku=jku) for path in settings.signing_keys.split(","))
    audit("signing-keys", keys=" ".join(key.key_id for key in keys))
    return keys


def _vault(settings: Settings) -> SecretCipher:
    if not settings.encryption_keys:
        return PlaintextCipher()
    from a2a_runtime.crypto.secret_box import SecretBox  # noqa: PLC0415 - as above

    return SecretBox.from_text(settings.encryption_keys)


log = logging.getLogger(__name__)


class AgentRuntime:
    """The parts of one process."""

    def __init__(
        self,
        surfaces: Sequence[Surface],
        store: Store | str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        keys: ProcessKeys | None = None,
    ) -> None:
        settings = settings or Settings()
        self.clock = clock = clock or SystemClock()
        keys = keys or ProcessKeys.from_settings(settings, surfaces)
        store = settings.store if store is None else store
        self.store = create_store(store, StoreOptions(lease_seconds=settings.lease_duration)) if isinstance(store, str) else validate_store(store)
        self._dialler = LazyHttpClient(settings)
        bell = self.store.notifier()
        self._deliverer: PushSender | None = None
        if any(surface.agent.capabilities.push_notifications for surface in surfaces):
            rooms = frozenset(surface.storage_key for surface in surfaces)
            self._deliverer = _deliverer(self.store, self._dialler, settings, rooms, clock=clock, keyring=keys)
            bell = TeeNotifier(self._deliverer, bell)
        self.engine = Engine(self.store, collect_skills(surfaces), EngineOptions(settings, clock, bell, self._dialler))
        means = ServiceDependencies(self.engine, self.store, self._dialler.check_url, clock, keys.secret_cipher)
        self.service = Service(means)
        self.dialect_services: Mapping[str, AgentService[CallContext]] = {MESH.name: MeshService(means)}
        """The services of dialects that have rules of their own."""
        self._opened = AsyncExitStack()

    def build_services(self, surface: Surface) -> tuple[AgentService[CallContext], Mapping[str, AgentService[CallContext]]]:
        """Give the service of a surface, and those of dialects with rules of their own, behind its policy and what its skills require."""
        if surface.policy is None and not any(skill.security_requirements for skill in surface.skills.values()):
            return self.service, self.dialect_services
        others = {name: AuthorizingService(each, self.store, has_client_task_ids=True) for name, each in self.dialect_services.items()}
        return AuthorizingService(self.service, self.store), others

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._dialler)
            await stack.enter_async_context(self.engine)
            if self._deliverer is not None:
                await stack.enter_async_context(self._deliverer)
            if not self.store.is_durable:
                log.info("tasks are kept in memory, and gone when this process ends; a store keeps them: %sSTORE, or store in a2a.toml", PREFIX)
            self._opened = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._opened.aclose()


class LazyHttpClient:
    """The guarded dialler, made when it is first needed: most agents call nobody, and what it stands on takes long to load."""

    def __init__(self, settings: Settings) -> None:
        self._policy, self._settings = OutboundPolicy.from_settings(settings), settings
        self._made: GuardedHttpClient | None = None

    @property
    def client(self) -> GuardedHttpClient:
        """The dialler itself."""
        if self._made is None:
            from a2a_runtime.net.client import GuardedHttpClient, OutboundLimits  # noqa: PLC0415 - see above

            self._made = GuardedHttpClient(self._policy, OutboundLimits.from_settings(self._settings))
        return self._made

    def check_url(self, url: str) -> None:
        """Refuse a URL that can never be called."""
        self.client.check_url(url)

    async def fetch(self, url: str) -> bytes:
        """Get the content behind a URL, or raise what speaks against it."""
        return await self.client.fetch(url)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._made is not None:
            await self._made.__aexit__(kind, error, trace)


def _deliverer(store: Store, dialler: LazyHttpClient, settings: Settings, rooms: frozenset[str], *, clock: Clock, keyring: ProcessKeys) -> PushSender:
    from a2a_runtime.push.sender import PushSender, SenderOptions, skip_signing  # noqa: PLC0415 - loaded only where there are webhooks

    return PushSender(
        store,
        dialler.client,
        SenderOptions.from_settings(settings, rooms),
        clock=clock,
        sign=keyring.build_webhook_signer() or skip_signing,
        cipher=keyring.secret_cipher,
    )

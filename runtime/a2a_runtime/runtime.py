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
from a2a_runtime.execution.engine import Engine, Parts
from a2a_runtime.logs import record
from a2a_runtime.mesh.service import MeshService
from a2a_runtime.net.policy import Policy
from a2a_runtime.push.notification import GlassVault, Sealer
from a2a_runtime.service.authorization import PolicedService
from a2a_runtime.service.context import Call, Means
from a2a_runtime.service.service import Service
from a2a_runtime.settings import PREFIX, Settings
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import complete, open_store
from a2a_runtime.streams.notifier import OverheardBell
from a2a_runtime.surface import Surface, skills_of

if TYPE_CHECKING:
    from a2a_runtime.crypto.keys import SigningKey
    from a2a_runtime.push.sender import Signer

if TYPE_CHECKING:
    from a2a_runtime.net.client import GuardedDialler
    from a2a_runtime.push.sender import Deliverer

# What this process signs and seals with, as the operator has set it.
#
#     A2A_SIGNING_KEYS=/run/secrets/card.pem          signs cards and webhooks; several, with commas: the first one signs webhooks, all sign cards
#     A2A_VAULT_KEYS=…                                seals the secrets of webhooks in the store; the first one seals, all of them open
#
# The public halves are published at ``/.well-known/jwks.json``.
#

JWKS_PATH = "/.well-known/jwks.json"


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys of a process."""

    signing: Sequence[SigningKey]
    vault: Sealer
    issuer: str
    """Who the agent says that it is when it signs webhooks."""

    @classmethod
    def of(cls, settings: Settings, surfaces: Sequence[Surface]) -> Keyring:
        """Read the keys."""
        first = surfaces[0]
        address = (first.agent.url or first.public_url or "").rstrip("/")
        return cls(_signing(settings, address), _vault(settings), address or first.agent.name)

    def sign(self, surfaces: Sequence[Surface]) -> Sequence[Surface]:
        """Let surfaces sign their cards, if they do not do so already."""
        if not self.signing:
            return surfaces
        from a2a_runtime.crypto.card_signatures import CardSigner  # noqa: PLC0415 - an extra: only where something is signed

        signer = CardSigner(self.signing)
        return tuple(surface if surface.signer else replace(surface, signer=signer) for surface in surfaces)

    def webhooks(self) -> Signer | None:
        """Make what signs webhooks."""
        if not self.signing:
            return None
        from a2a_runtime.crypto.webhook_signatures import WebhookSigner  # noqa: PLC0415 - as above

        return WebhookSigner(self.signing[0], self.issuer)

    def published(self) -> bytes | None:
        """Write the document of the public keys, if there are any."""
        if not self.signing:
            return None
        from a2a_runtime.crypto.keys import jwks  # noqa: PLC0415 - as above

        return jwks(self.signing)


def _signing(settings: Settings, address: str) -> Sequence[SigningKey]:
    if not settings.signing_keys:
        return ()
    from a2a_runtime.crypto.keys import SigningKey  # noqa: PLC0415 - as above

    jku = address + JWKS_PATH if address.startswith("https://") else None
    keys = tuple(SigningKey.read(Path(path.strip()), jku=jku) for path in settings.signing_keys.split(","))
    record("signing-keys", keys=" ".join(key.key_id for key in keys))
    return keys


def _vault(settings: Settings) -> Sealer:
    if not settings.vault_keys:
        return GlassVault()
    from a2a_runtime.crypto.secret_box import Vault  # noqa: PLC0415 - as above

    return Vault.of_text(settings.vault_keys)


log = logging.getLogger(__name__)


class Assembly:
    """The parts of one process."""

    def __init__(
        self,
        surfaces: Sequence[Surface],
        store: Store | str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        settings = settings or Settings()
        self.clock = clock = clock or SystemClock()
        keyring = keyring or Keyring.of(settings, surfaces)
        store = settings.store if store is None else store
        self.store = open_store(store, StoreOptions(lease=settings.lease)) if isinstance(store, str) else complete(store)
        self._dialler = LateDialler(settings)
        bell = self.store.doorbell()
        self._deliverer: Deliverer | None = None
        if any(surface.agent.capabilities.push_notifications for surface in surfaces):
            rooms = frozenset(surface.room for surface in surfaces)
            self._deliverer = _deliverer(self.store, self._dialler, settings, rooms, clock=clock, keyring=keyring)
            bell = OverheardBell(self._deliverer, bell)
        self.engine = Engine(self.store, skills_of(surfaces), Parts(settings, clock, bell, self._dialler))
        means = Means(self.engine, self.store, self._dialler.check, clock, keyring.vault)
        self.service = Service(means)
        self.of_dialect: Mapping[str, AgentService[Call]] = {MESH.name: MeshService(means)}
        """The services of dialects that have rules of their own."""
        self._opened = AsyncExitStack()

    def services(self, surface: Surface) -> tuple[AgentService[Call], Mapping[str, AgentService[Call]]]:
        """Give the service of a surface, and those of dialects with rules of their own, behind its policy and what its skills require."""
        if surface.policy is None and not any(skill.security_requirements for skill in surface.skills.values()):
            return self.service, self.of_dialect
        others = {name: PolicedService(each, self.store, senders_name_tasks=True) for name, each in self.of_dialect.items()}
        return PolicedService(self.service, self.store), others

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._dialler)
            await stack.enter_async_context(self.engine)
            if self._deliverer is not None:
                await stack.enter_async_context(self._deliverer)
            if not self.store.durable:
                log.info("tasks are kept in memory, and gone when this process ends; a store keeps them: %sSTORE, or store in a2a.toml", PREFIX)
            self._opened = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._opened.aclose()


class LateDialler:
    """The guarded dialler, made when it is first needed: most agents call nobody, and what it stands on takes long to load."""

    def __init__(self, settings: Settings) -> None:
        self._policy, self._settings = Policy.of(settings), settings
        self._made: GuardedDialler | None = None

    @property
    def dialler(self) -> GuardedDialler:
        """The dialler itself."""
        if self._made is None:
            from a2a_runtime.net.client import GuardedDialler, Limits  # noqa: PLC0415 - see above

            self._made = GuardedDialler(self._policy, Limits.of(self._settings))
        return self._made

    def check(self, url: str) -> None:
        """Refuse a URL that can never be called."""
        self.dialler.check(url)

    async def fetch(self, url: str) -> bytes:
        """Get the content behind a URL, or raise what speaks against it."""
        return await self.dialler.fetch(url)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._made is not None:
            await self._made.__aexit__(kind, error, trace)


def _deliverer(store: Store, dialler: LateDialler, settings: Settings, rooms: frozenset[str], *, clock: Clock, keyring: Keyring) -> Deliverer:
    from a2a_runtime.push.sender import Deliverer, Rules, unsigned  # noqa: PLC0415 - loaded only where there are webhooks

    return Deliverer(store, dialler.dialler, Rules.of(settings, rooms), clock=clock, sign=keyring.webhooks() or unsigned, vault=keyring.vault)

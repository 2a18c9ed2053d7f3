"""What this process signs and seals with, as the operator has set it.

    A2A_SIGNING_KEYS=/run/secrets/card.pem          signs cards and webhooks; several, with commas: the first one signs webhooks, all sign cards
    A2A_VAULT_KEYS=…                                seals the secrets of webhooks in the store; the first one seals, all of them open

The public halves are published at ``/.well-known/jwks.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_runtime.auth.audit import record
from a2a_runtime.push.secret import GlassVault, Sealer
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

if TYPE_CHECKING:
    from a2a_runtime.push.deliverer import Signer
    from a2a_runtime.signing.keys import SigningKey

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
        from a2a_runtime.signing.cards import CardSigner  # noqa: PLC0415 - an extra: only where something is signed

        signer = CardSigner(self.signing)
        return tuple(surface if surface.signer else replace(surface, signer=signer) for surface in surfaces)

    def webhooks(self) -> Signer | None:
        """Make what signs webhooks."""
        if not self.signing:
            return None
        from a2a_runtime.signing.webhooks import WebhookSigner  # noqa: PLC0415 - as above

        return WebhookSigner(self.signing[0], self.issuer)

    def published(self) -> bytes | None:
        """Write the document of the public keys, if there are any."""
        if not self.signing:
            return None
        from a2a_runtime.signing.keys import jwks  # noqa: PLC0415 - as above

        return jwks(self.signing)


def _signing(settings: Settings, address: str) -> Sequence[SigningKey]:
    if not settings.signing_keys:
        return ()
    from a2a_runtime.signing.keys import SigningKey  # noqa: PLC0415 - as above

    jku = address + JWKS_PATH if address.startswith("https://") else None
    keys = tuple(SigningKey.read(Path(path.strip()), jku=jku) for path in settings.signing_keys.split(","))
    record("signing-keys", keys=" ".join(key.key_id for key in keys))
    return keys


def _vault(settings: Settings) -> Sealer:
    if not settings.vault_keys:
        return GlassVault()
    from a2a_runtime.auth.vault import Vault  # noqa: PLC0415 - as above

    return Vault.of_text(settings.vault_keys)

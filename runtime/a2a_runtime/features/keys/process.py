"""The keys that the settings of a process name.

    A2A_SIGNING_KEYS=/run/secrets/card.pem     sign cards and webhooks; of several, the first one
                                               signs webhooks, all of them sign cards
    A2A_ENCRYPTION_KEYS=…                      encrypt the secrets of webhooks in the store; the
                                               first one encrypts, all of them decrypt

The public keys are published at ``/.well-known/jwks.json``. Without signing keys nothing of the
``auth`` extra is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_contract.extensions import PushSignatures
from a2a_runtime.base.logs import audit
from a2a_runtime.ports.keys import PlaintextCipher, ProcessKeys, SecretCipher, WebhookSigner
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from a2a_runtime.features.keys.signing import SigningKey

JWKS_PATH = "/.well-known/jwks.json"


class OperatorKeys(ProcessKeys):
    """Keys for signatures, and the cipher of secrets."""

    def __init__(
        self, signing_keys: Sequence[SigningKey], secret_cipher: SecretCipher, issuer: str
    ) -> None:
        self.signing_keys = signing_keys
        self.secret_cipher = secret_cipher
        self.issuer = issuer
        """Issuer of signed webhooks: the agent's URL, or its name."""

    def attach_signer(self, surfaces: Sequence[Surface]) -> Sequence[Surface]:
        """Give a card signer to the surfaces that have none, and let the cards tell how
        notifications are signed.
        """
        if not self.signing_keys:
            return surfaces
        from a2a_runtime.features.keys.card_signatures import CardSigner  # noqa: PLC0415 - an extra: imported only to sign

        signer = CardSigner(self.signing_keys)
        signatures = PushSignatures(issuer=self.issuer, keys_url=self.signing_keys[0].jku)
        return tuple(
            replace(surface, signer=surface.signer or signer, push_signatures=signatures)
            for surface in surfaces
        )

    def build_webhook_signer(self) -> WebhookSigner | None:
        """Build the signer of webhooks, if there are keys."""
        if not self.signing_keys:
            return None
        from a2a_runtime.features.keys.webhook_signatures import WebhookSigner as Signer  # noqa: PLC0415 - as above

        return Signer(self.signing_keys[0], self.issuer)

    def list_routes(self) -> Sequence[ControllerRouterHandler]:
        """List the route of the public keys, if there are any."""
        if not self.signing_keys:
            return ()
        from a2a_runtime.features.keys.route import build_keys_route  # noqa: PLC0415 - as above
        from a2a_runtime.features.keys.signing import build_jwks  # noqa: PLC0415 - as above

        return (build_keys_route(JWKS_PATH, build_jwks(self.signing_keys)),)


def read_keys(settings: Settings, surfaces: Sequence[Surface]) -> OperatorKeys:
    """Read the keys that the settings name."""
    first = surfaces[0]
    url = (first.agent.url or first.public_url or "").rstrip("/")
    keys = _read_signing_keys(settings, url)
    return OperatorKeys(keys, _build_cipher(settings), url or first.agent.name)


def _read_signing_keys(settings: Settings, url: str) -> Sequence[SigningKey]:
    if not settings.signing_keys:
        return ()
    from a2a_runtime.features.keys.signing import SigningKey  # noqa: PLC0415 - as above

    jku = url + JWKS_PATH if url.startswith("https://") else None
    keys = tuple(SigningKey.from_file(Path(path), jku=jku) for path in settings.signing_keys)
    audit("signing-keys", keys=" ".join(key.key_id for key in keys))
    return keys


def _build_cipher(settings: Settings) -> SecretCipher:
    if not settings.encryption_keys:
        return PlaintextCipher()
    from a2a_runtime.features.keys.secret_box import SecretBox  # noqa: PLC0415 - as above

    return SecretBox.from_text(",".join(settings.encryption_keys))

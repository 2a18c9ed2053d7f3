"""Keys of the operator: they sign cards and webhooks, and encrypt secrets in the store.

An agent without keys has ``NO_KEYS``, which does nothing; ``ports.registry.read_keys`` loads the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from a2a_runtime.surface import Surface

WebhookSigner: TypeAlias = Callable[[str, Mapping[str, str], bytes], Mapping[str, str]]
"""Builds the signature headers of a notification from its URL, headers and body."""


class SecretCipher(Protocol):
    """Port: encryption of secrets."""

    def encrypt(self, secret: str, purpose: str) -> str:
        """Encrypt a secret for one purpose."""
        ...

    def decrypt(self, text: str, purpose: str) -> str:
        """Decrypt a secret for the same purpose."""
        ...


class PlaintextCipher:
    """The cipher without a key: secrets stay plaintext."""

    def encrypt(self, secret: str, purpose: str) -> str:  # noqa: ARG002 - as the port has it
        """Return the secret."""
        return secret

    def decrypt(self, text: str, purpose: str) -> str:  # noqa: ARG002 - as above
        """Return the text."""
        return text


class ProcessKeys:
    """The keys of a process. Every method leaves everything as it is."""

    secret_cipher: SecretCipher = PlaintextCipher()

    def attach_signer(self, surfaces: Sequence[Surface]) -> Sequence[Surface]:
        """Give a card signer to the surfaces that have none."""
        return surfaces

    def build_webhook_signer(self) -> WebhookSigner | None:
        """Build the signer of webhooks; ``None``: they are not signed."""
        return None

    def list_routes(self) -> Sequence[ControllerRouterHandler]:
        """List the routes of the public keys."""
        return ()


NO_KEYS = ProcessKeys()

"""The secrets in the configuration of a webhook: its token, and its credentials. Sealed in the store, where there is a vault; open on their way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from a2a_contract.v1_0 import TaskPushNotificationConfig


class Sealer(Protocol):
    """Seals secrets, as ``auth.vault.Vault`` does."""

    def seal(self, secret: str, about: str) -> str:
        """Seal a secret for something."""
        ...

    def open(self, text: str, about: str) -> str:
        """Open a secret."""
        ...


class GlassVault:
    """Where nothing is sealed."""

    def seal(self, secret: str, about: str) -> str:  # noqa: ARG002 - everybody sees it
        """Leave it open."""
        return secret

    def open(self, text: str, about: str) -> str:  # noqa: ARG002 - as above
        """Find it open."""
        return text


def sealed(config: TaskPushNotificationConfig, vault: Sealer) -> TaskPushNotificationConfig:
    """Seal what is secret in a configuration, for its URL."""
    return _changed(config, vault.seal)


def opened(config: TaskPushNotificationConfig, vault: Sealer) -> TaskPushNotificationConfig:
    """Open what is secret in a configuration."""
    return _changed(config, vault.open)


def _changed(config: TaskPushNotificationConfig, change: Callable[[str, str], str]) -> TaskPushNotificationConfig:
    changes: dict[str, object] = {}
    if config.token:
        changes["token"] = change(config.token, config.url)
    authentication = config.authentication
    if authentication is not None and authentication.credentials:
        credentials = change(authentication.credentials, config.url)
        changes["authentication"] = authentication.model_copy(update={"credentials": credentials})
    return config.model_copy(update=changes) if changes else config

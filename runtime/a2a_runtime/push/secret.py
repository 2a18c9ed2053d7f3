"""The secrets in the configuration of a webhook: its token, and its credentials. Sealed in the store, where there is a vault; open on their way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Protocol

from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.caller import Scope


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


def sealed(config: TaskPushNotificationConfig, vault: Sealer, scope: Scope) -> TaskPushNotificationConfig:
    """Seal what is secret in a configuration that has all of its ids: for this place in it, its task and its URL."""
    return _changed(config, vault.seal, scope, config.task_id or "")


def opened(config: TaskPushNotificationConfig, vault: Sealer, scope: Scope, wire_id: str) -> TaskPushNotificationConfig:
    """Open what is secret in a configuration of a task."""
    return _changed(config, vault.open, scope, wire_id)


def _changed(config: TaskPushNotificationConfig, change: Callable[[str, str], str], scope: Scope, wire_id: str) -> TaskPushNotificationConfig:
    def changed(place: str, secret: str) -> str:
        return change(secret, json.dumps([place, *scope, wire_id, config.id, config.url]))

    changes: dict[str, object] = {}
    if config.token:
        changes["token"] = changed("token", config.token)
    authentication = config.authentication
    if authentication is not None and authentication.credentials:
        credentials = changed("credentials", authentication.credentials)
        changes["authentication"] = authentication.model_copy(update={"credentials": credentials})
    return config.model_copy(update=changes) if changes else config

"""Push configurations of tasks: what is refused, and the encryption of their secrets. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from a2a_contract.errors import InvalidParamsError
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.ports.keys import SecretCipher

FAILURE_KEY_PREFIX = "a2a-gen/push-failed/"
"""Metadata key of a task, before the id of the failed config."""

_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_INVALID_ID = re.compile(r".*/.*|[.]{1,2}", re.DOTALL)
_AUTH_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def check_config(
    config: TaskPushNotificationConfig, check_url: Callable[[str], object], path_prefix: str = ""
) -> None:
    """Raise ``InvalidParamsError``, with all field errors, for a config that cannot be delivered or
    read again.

    ``check_url`` raises ``InvalidParamsError`` for a URL that is never allowed. ``path_prefix`` is
    the field path of the config in its request.
    """
    fields = list(find_invalid_headers(config).items())
    if _INVALID_ID.fullmatch(config.id or ""):
        fields.insert(
            0, ("id", "An id is a segment of a path: it has no slash, and is not all dots")
        )
    try:
        check_url(config.url)
    except InvalidParamsError as error:
        fields.insert(0, ("url", error.message))
    if fields:
        raise InvalidParamsError(fields=tuple((path_prefix + path, text) for path, text in fields))


def find_invalid_headers(config: TaskPushNotificationConfig) -> dict[str, str]:
    """Find secrets that cannot be written in a header, or would end it early."""
    invalid: dict[str, str] = {}
    if config.token and not _HEADER_VALUE.fullmatch(config.token):
        invalid["token"] = "The token must be printable ASCII"  # noqa: S105  # a text about it
    authentication = config.authentication
    if authentication is not None and authentication.credentials:
        if not _AUTH_SCHEME.fullmatch(authentication.scheme):
            invalid["authentication.scheme"] = "The scheme must be one word, such as Bearer"
        if not _HEADER_VALUE.fullmatch(authentication.credentials):
            invalid["authentication.credentials"] = "The credentials must be printable ASCII"
    return invalid


def encrypt_config(
    config: TaskPushNotificationConfig, cipher: SecretCipher, scope: TaskScope
) -> TaskPushNotificationConfig:
    """Encrypt the secrets of a config that has all of its ids; each is bound to its field, task and
    URL.
    """
    return _transform_secrets(config, cipher.encrypt, scope, config.task_id or "")


def decrypt_config(
    config: TaskPushNotificationConfig, cipher: SecretCipher, scope: TaskScope, wire_id: str
) -> TaskPushNotificationConfig:
    """Decrypt the secrets of a config of a task."""
    return _transform_secrets(config, cipher.decrypt, scope, wire_id)


def _transform_secrets(
    config: TaskPushNotificationConfig,
    transform: Callable[[str, str], str],
    scope: TaskScope,
    wire_id: str,
) -> TaskPushNotificationConfig:
    def changed(place: str, secret: str) -> str:
        return transform(secret, json.dumps([place, *scope, wire_id, config.id, config.url]))

    changes: dict[str, object] = {}
    if config.token:
        changes["token"] = changed("token", config.token)
    authentication = config.authentication
    if authentication is not None and authentication.credentials:
        credentials = changed("credentials", authentication.credentials)
        changes["authentication"] = authentication.model_copy(update={"credentials": credentials})
    if changes:
        return config.model_copy(update=changes)
    return config

"""Request of a webhook from a delivery, and encryption of the secrets in a config. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import NAMESPACE_OID, uuid5

from pydantic_core import to_json

from a2a_contract.dialects import DIALECTS, NOTIFICATION_TOKEN, V0_3, V0_3_PROTO, V1_1_DRAFT
from a2a_contract.errors import InvalidParamsError
from a2a_contract.translate.v0_3.task import write_task
from a2a_contract.v1_0 import StreamResponse, Task, TaskPushNotificationConfig, TaskStatus
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.features.draft_1_1.timeline import number_event
from a2a_runtime.stores.models import Delivery

ID_HEADER = "Webhook-Id"
"""Identifies a delivery over all of its attempts.

Not part of the protocol, but usual for webhooks.
"""

FAILURE_KEY_PREFIX = "a2a-gen/push-failed/"
"""Metadata key of a task, before the id of the failed config."""

_TASK_BODY_DIALECTS = frozenset({V0_3.name, V0_3_PROTO.name})
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_INVALID_ID = re.compile(r".*/.*|[.]{1,2}", re.DOTALL)
_AUTH_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class PushNotification:
    """One request to a webhook."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def check_config(
    config: TaskPushNotificationConfig, check_url: Callable[[str], object], path_prefix: str = ""
) -> None:
    """Raise ``InvalidParamsError``, with all field errors, for a config that cannot be delivered or
    read again.

    ``check_url`` raises ``InvalidParamsError`` for a URL that is never allowed. ``path_prefix`` is
    the field path of the config in its request.
    """
    fields = list(_find_invalid_headers(config).items())
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


def build_notification(delivery: Delivery) -> PushNotification | None:
    """Build the request of a delivery; ``None`` if a later delivery includes it, or its dialect
    does not show it.

    Raises ``InvalidParamsError`` if a secret of the config cannot be sent in a header.
    """
    body = _build_body(delivery)
    if body is None:
        return None
    return PushNotification(delivery.config.url, _build_headers(delivery), body)


def _build_body(delivery: Delivery) -> bytes | None:
    """Serialize an event as the dialect of a delivery shows it; a message of the client only where
    changes are numbered.
    """
    event = delivery.event
    if DIALECTS[delivery.dialect].includes(V1_1_DRAFT):
        is_current = event.state is delivery.stored.state
        status: dict[str, object] = (
            delivery.stored.task.model.status.to_dict()
            if is_current
            else {TaskStatus.wire_name("state"): event.state}
        )
        return number_event(event.seq, event.body, status)
    if event.is_message:
        return None
    if delivery.dialect in _TASK_BODY_DIALECTS:
        return _build_task_body(delivery)
    return event.body


def _build_headers(delivery: Delivery) -> Mapping[str, str]:
    config = delivery.config
    fields = tuple(_find_invalid_headers(config).items())
    if fields:
        raise InvalidParamsError("; ".join(text for _, text in fields), fields=fields)
    headers = {
        "Content-Type": DIALECTS[delivery.dialect].media_types[0],
        ID_HEADER: build_delivery_id(delivery),
    }
    if config.token:
        headers |= dict.fromkeys(NOTIFICATION_TOKEN.headers, config.token)
    authentication = config.authentication
    if authentication is not None and authentication.credentials:
        headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
    return headers


def build_delivery_id(delivery: Delivery) -> str:
    """Build the public id of a delivery, which does not reveal the store's key of the task."""
    return str(
        uuid5(NAMESPACE_OID, f"{delivery.stored.key} {delivery.event.seq} {delivery.config.id}")
    )


def _find_invalid_headers(config: TaskPushNotificationConfig) -> dict[str, str]:
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


def _build_task_body(delivery: Delivery) -> bytes | None:
    """Serialize the whole task for 0.3, with the status of the event, so that each status is
    delivered in order.

    A chunk of an artifact is skipped if later events exist: the next body includes it.
    """
    event = StreamResponse.model_validate_json(delivery.event.body)
    task: Task = event.task or delivery.stored.task.model
    if event.status_update is not None:
        task = task.model_copy(update={"status": event.status_update.status})
    elif event.artifact_update is not None and delivery.event.seq < delivery.stored.last_seq:
        return None
    return to_json(write_task(task.to_dict()))


class SecretCipher(Protocol):
    """Port: encryption of secrets; ``crypto.secret_box.SecretBox`` implements it."""

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

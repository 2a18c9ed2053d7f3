"""What a webhook is sent. Pure: a delivery in, a request out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import NAMESPACE_OID, uuid5

from pydantic_core import to_json

from a2a_contract.dialects import DIALECTS, NOTIFICATION_TOKEN, V0_3, V0_3_PROTO
from a2a_contract.errors import InvalidParamsError
from a2a_contract.translate.v0_3.task import write_task
from a2a_contract.v1_0 import StreamResponse, Task, TaskPushNotificationConfig
from a2a_runtime.caller import TaskScope
from a2a_runtime.stores.base import Delivery

ID_HEADER = "Webhook-Id"
"""Not the protocol's, but what receivers of webhooks look for: the same for every try of a delivery, and for no other one."""

_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_INVALID_ID = re.compile(r".*/.*|[.]{1,2}", re.DOTALL)
_AUTH_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class PushNotification:
    """One request to a webhook."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def check_config(config: TaskPushNotificationConfig, check_url: Callable[[str], object], path_prefix: str = "") -> None:
    """Refuse a configuration that no notification could be sent for, or that nobody could ask for again, with every place (``InvalidParamsError``).

    ``check_url`` raises ``InvalidParamsError`` for a URL that is never called, as the guarded dialler does; ``below`` is where the configuration
    stands in its request.
    """
    wrong = list(_find_invalid_headers(config).items())
    if _INVALID_ID.fullmatch(config.id or ""):
        wrong.insert(0, ("id", "An id is a segment of a path: it has no slash, and is not all dots"))
    try:
        check_url(config.url)
    except InvalidParamsError as error:
        wrong.insert(0, ("url", error.message))
    if wrong:
        raise InvalidParamsError(fields=tuple((path_prefix + place, text) for place, text in wrong))


def build_notification(delivery: Delivery) -> PushNotification | None:
    """Write what a delivery sends; ``None`` when a later one says the same and more.

    ``InvalidParamsError`` when the configuration's secrets cannot be sent in a header.
    """
    body = _BODY_BUILDERS.get(delivery.dialect, _build_event_body)(delivery)
    return None if body is None else PushNotification(delivery.config.url, _build_headers(delivery), body)


def _build_headers(delivery: Delivery) -> Mapping[str, str]:
    config = delivery.config
    wrong = tuple(_find_invalid_headers(config).items())
    if wrong:
        raise InvalidParamsError("; ".join(text for _, text in wrong), fields=wrong)
    headers = {"Content-Type": DIALECTS[delivery.dialect].media_types[0], ID_HEADER: build_delivery_id(delivery)}
    if config.token:
        headers |= dict.fromkeys(NOTIFICATION_TOKEN.headers, config.token)
    authentication = config.authentication
    if authentication is not None and authentication.credentials:
        headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
    return headers


def build_delivery_id(delivery: Delivery) -> str:
    """Name a delivery to its receiver, without telling them our key of the task."""
    return str(uuid5(NAMESPACE_OID, f"{delivery.stored.key} {delivery.event.seq} {delivery.config.id}"))


def _find_invalid_headers(config: TaskPushNotificationConfig) -> dict[str, str]:
    """Find what would end a header early, or could not be written in one."""
    wrong: dict[str, str] = {}
    if config.token and not _HEADER_VALUE.fullmatch(config.token):
        wrong["token"] = "The token must be printable ASCII"  # noqa: S105  # a text about it
    authentication = config.authentication
    if authentication is not None and authentication.credentials:
        if not _AUTH_SCHEME.fullmatch(authentication.scheme):
            wrong["authentication.scheme"] = "The scheme must be one word, such as Bearer"
        if not _HEADER_VALUE.fullmatch(authentication.credentials):
            wrong["authentication.credentials"] = "The credentials must be printable ASCII"
    return wrong


def _build_event_body(delivery: Delivery) -> bytes | None:
    return delivery.event.body


def _build_task_body(delivery: Delivery) -> bytes | None:
    """Write the whole task, as 0.3 has it: with the status that the event has left it in, so that each status is heard, in order.

    An artifact that is still being written is not sent again and again with every chunk: whatever comes after it brings it too.
    """
    event = StreamResponse.model_validate_json(delivery.event.body)
    task: Task = event.task or delivery.stored.task.model
    if event.status_update is not None:
        task = task.model_copy(update={"status": event.status_update.status})
    elif event.artifact_update is not None and delivery.event.seq < delivery.stored.last_seq:
        return None
    return to_json(write_task(task))


_BODY_BUILDERS: Mapping[str, Callable[[Delivery], bytes | None]] = {V0_3.name: _build_task_body, V0_3_PROTO.name: _build_task_body}


# The secrets in the configuration of a webhook: its token, and its credentials. Sealed in the store, where there is a vault; open on their way.


class SecretCipher(Protocol):
    """Seals secrets, as ``auth.vault.Vault`` does."""

    def encrypt(self, secret: str, purpose: str) -> str:
        """Seal a secret for something."""
        ...

    def decrypt(self, text: str, purpose: str) -> str:
        """Open a secret."""
        ...


class PlaintextCipher:
    """Where nothing is sealed."""

    def encrypt(self, secret: str, purpose: str) -> str:  # noqa: ARG002 - everybody sees it
        """Leave it open."""
        return secret

    def decrypt(self, text: str, purpose: str) -> str:  # noqa: ARG002 - as above
        """Find it open."""
        return text


def encrypt_config(config: TaskPushNotificationConfig, cipher: SecretCipher, scope: TaskScope) -> TaskPushNotificationConfig:
    """Seal what is secret in a configuration that has all of its ids: for this place in it, its task and its URL."""
    return _transform_secrets(config, cipher.encrypt, scope, config.task_id or "")


def decrypt_config(config: TaskPushNotificationConfig, cipher: SecretCipher, scope: TaskScope, wire_id: str) -> TaskPushNotificationConfig:
    """Open what is secret in a configuration of a task."""
    return _transform_secrets(config, cipher.decrypt, scope, wire_id)


def _transform_secrets(
    config: TaskPushNotificationConfig, transform: Callable[[str, str], str], scope: TaskScope, wire_id: str
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
    return config.model_copy(update=changes) if changes else config

"""Request of a webhook from a delivery. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import NAMESPACE_OID, uuid5

from pydantic_core import to_json

from a2a_contract.dialects import DIALECTS, NOTIFICATION_TOKEN, V0_3, V0_3_PROTO, V1_1_DRAFT
from a2a_contract.errors import InvalidParamsError
from a2a_contract.translate.v0_3.task import write_task
from a2a_contract.v1_0 import StreamResponse, Task, TaskStatus
from a2a_runtime.features.draft_1_1.timeline import number_event
from a2a_runtime.service.push_configs import find_invalid_headers
from a2a_runtime.stores.models import Delivery

ID_HEADER = "Webhook-Id"
"""Identifies a delivery over all of its attempts.

Not part of the protocol, but usual for webhooks.
"""

_TASK_BODY_DIALECTS = frozenset({V0_3.name, V0_3_PROTO.name})


@dataclass(frozen=True, slots=True)
class PushNotification:
    """One request to a webhook."""

    url: str
    headers: Mapping[str, str]
    body: bytes


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
    fields = tuple(find_invalid_headers(config).items())
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

"""Agents to mount: services with a result for every operation, behind minimal endpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from integration.minimal_endpoints import MinimalEndpoints
from litestar import Litestar

from a2a_contract import v1_0
from a2a_contract.base import Encoded, WireModel
from a2a_contract.controllers import (
    CardController,
    HttpV03Controller,
    HttpV10Controller,
    JsonRpcController,
)

EXAMPLES = Path(__file__).parents[2] / "schema" / "examples"
CONTROLLERS = (JsonRpcController, HttpV10Controller, HttpV03Controller, CardController)


def read_valid(dialect: str, name: str) -> dict[str, object]:
    """Read the valid examples of a type by their reasons."""
    found: dict[str, object] = json.loads((EXAMPLES / dialect / f"{name}.json").read_bytes())[
        "valid"
    ]
    return found


def canonical(name: str, example: str) -> Encoded[WireModel]:
    """Read an example of a canonical type."""
    model: type[WireModel] = getattr(v1_0, name)
    return Encoded.of(model.model_validate_json(json.dumps(read_valid("v1_0", name)[example])))


ANSWERS: Mapping[str, Encoded[WireModel] | None] = {
    "send_message": canonical("SendMessageResponse", "task"),
    "get_task": canonical("Task", "with-everything"),
    "list_tasks": canonical("ListTasksResponse", "with-more"),
    "cancel_task": canonical("Task", "with-history"),
    "create_task_push_notification_config": canonical(
        "TaskPushNotificationConfig", "with-everything"
    ),
    "get_task_push_notification_config": canonical("TaskPushNotificationConfig", "with-everything"),
    "list_task_push_notification_configs": canonical(
        "ListTaskPushNotificationConfigsResponse", "with-more"
    ),
    "delete_task_push_notification_config": None,
    "get_extended_agent_card": canonical("AgentCard", "route-planner"),
}
EVENTS = (
    canonical("StreamResponse", "artifact-update"),
    canonical("StreamResponse", "status-update"),
)


def app_of(service: object, *dialects: str, path: str = "/") -> Litestar:
    """Build an app of an agent with some dialects."""
    endpoints = MinimalEndpoints(service, *dialects)
    return Litestar([controller.at(path, endpoints) for controller in CONTROLLERS])

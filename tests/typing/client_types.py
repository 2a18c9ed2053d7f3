"""Types of the client for type checkers. Never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import assert_type

from a2a_contract.v1_0 import (
    AgentCard,
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a_runtime.client import A2AClient, TaskStream


async def answers(client: A2AClient) -> None:
    """Every operation gives the canonical type."""
    assert_type(await client.get_card(), AgentCard)
    assert_type(await client.send("text"), Task | Message)
    assert_type(await client.send({"any": ["data"]}), Task | Message)
    assert_type(await client.send(["text", Part(text="part"), {"data": None}]), Task | Message)
    assert_type(await client.get("id"), Task)
    assert_type(client.list(), AsyncIterator[Task])
    assert_type(await client.push_configs.get("id", "config"), TaskPushNotificationConfig)


async def streams(client: A2AClient, task: Task) -> None:
    """An event is one of four, and a match over them is complete."""
    stream = client.stream("text", task=task)
    assert_type(stream, TaskStream)
    async for event in stream:
        match event:
            case Task() | TaskStatusUpdateEvent():
                assert_type(event.status.state, TaskState)
            case TaskArtifactUpdateEvent():
                assert_type(event.artifact.parts, list[Part])
            case Message():
                assert_type(event.parts, list[Part])

"""A client that talks in one dialect over one binding, and records what it hears."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from conformance.agent_client import AgentClient
from integration.dialect_client import DialectBinding, build_send_request
from integration.recording import Recorder

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import V0_3
from a2a_contract.operations import (
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
)

Json = Any  # what is read from the wire has no type


@dataclass(frozen=True)
class Conversation:
    """A client that talks in one dialect over one binding and records it."""

    recorder: Recorder
    asker: AgentClient

    def at(self, path: str) -> Conversation:
        """Talk to another surface."""
        return Conversation(self.recorder, self.asker.at_path(path))

    def has(self, operation: Operation) -> bool:
        """Say whether the operation is there at all."""
        return self.asker.dialect_binding.has(operation)

    async def ask(
        self, name: str, operation: Operation, request: WireModel, **headers: str
    ) -> Json:
        """Ask for an operation, and read what comes back as JSON, without its envelope; nothing of
        a stream.
        """
        if not self.has(operation):
            return {}
        method, path, options = self.asker.build_request(operation, request, **headers)
        return _result(await self.recorder.exchange(name, method, path, **options))

    async def ask_wrongly(
        self, name: str, operation: Operation, request: WireModel, spoil: Callable[[Json], object]
    ) -> None:
        """Ask for an operation with a body in which something was changed."""
        method, path, options = self.asker.build_request(operation, request)
        said = json.loads(options["content"])
        spoil(said["params"] if self.asker.dialect_binding.is_jsonrpc else said)
        await self.recorder.exchange(
            name, method, path, **{**options, "content": json.dumps(said).encode()}
        )

    async def send(self, name: str, *values: object, **more: object) -> Json:
        """Send a message, and get its task or message."""
        said = await self.ask(name, SEND_MESSAGE, build_send_request(*values, **more))
        return said.get("task") or said.get("message") or said

    async def stream(self, name: str, *values: object, **more: object) -> None:
        """Send a message and read the stream of its task."""
        await self.ask(name, SEND_STREAMING_MESSAGE, build_send_request(*values, **more))


def build_conversation(recorder: Recorder, binding: DialectBinding) -> Conversation:
    """Talk as ada; where requests without a body mean the documented form of 0.3, if that is what
    is spoken.
    """
    path = "/kind" if binding == DialectBinding(V0_3.name, is_jsonrpc=False) else ""
    return Conversation(recorder, AgentClient(httpx.Client(), binding, path))


def _result(response: httpx.Response) -> Json:
    if (
        not response.headers.get("content-type", "").startswith("application/")
        or not response.content
    ):
        return {}
    body = response.json()
    said = body.get("result", body) if isinstance(body, dict) else body
    if isinstance(said, dict):
        return said
    return {}

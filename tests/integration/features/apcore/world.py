"""A world of modules of the real framework, and a client that writes JSON-RPC of A2A 0.3 by
hand.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict, create_model

from a2a_runtime.features.apcore.server import async_serve
from a2a_runtime.testing.asgi_transport import run_app

apcore: Any = import_module("apcore")
apcore_errors: Any = import_module("apcore.errors")

PLAIN_SCHEMAS = hasattr(apcore_errors, "ApprovalPendingError")
"""False in releases before those that read plain JSON Schemas, and have approvals."""
TYPES: Mapping[str, Any] = {
    "integer": int,
    "string": str,
    "array": list,
    "object": dict,
    "boolean": bool,
}

URL = "http://agent"
CARD = "/.well-known/agent.json"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
INTEGER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
ANY_OBJECT = {"type": "object"}


class Sum(BaseModel):
    """The input of a module that adds."""

    a: int
    b: int


class Total(BaseModel):
    """Its output."""

    total: int


class Module:
    """A module with a plain schema."""

    description = "Does something."
    tags: Sequence[str] = ()
    input_schema: Any = INTEGER
    output_schema: Any = ANY_OBJECT

    async def execute(self, inputs: dict[str, Any], context: Any) -> Any:
        """Do nothing."""
        raise NotImplementedError


class Add(Module):
    """Adds two numbers."""

    description = "Adds two numbers."
    tags = ["math", "pure"]  # noqa: RUF012
    input_schema = Sum
    output_schema = Total
    annotations = apcore.ModuleAnnotations(readonly=True, idempotent=True, open_world=False)
    examples = [  # noqa: RUF012
        apcore.ModuleExample(title=f"Case {n}", inputs={"a": n, "b": 1}, output={"total": n + 1})
        for n in range(12)
    ]

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Add."""
        del context
        return {"total": inputs["a"] + inputs["b"]}


class Shout(Module):
    """Takes one text."""

    description = "Makes a text loud."
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    output_schema = {"type": "object", "properties": {"text": {"type": "string"}}}  # noqa: RUF012

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Shout."""
        del context
        return {"text": inputs["text"].upper()}


class Count(Module):
    """Counts in chunks."""

    description = "Counts."
    annotations = apcore.ModuleAnnotations(streaming=True, idempotent=True)

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Count at once."""
        del context
        return {"numbers": list(range(inputs["number"]))}

    async def stream(self, inputs: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        """Count in chunks."""
        del context
        for number in range(inputs["number"]):
            yield {"at": number}


class Picture(Module):
    """Returns bytes."""

    description = "Draws."

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Draw."""
        del context
        return {"image": PNG, "width": inputs["number"]}


class Open(Module):
    """Takes a file."""

    description = "Opens a file."
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {
            "uri": {"type": "string"},
            "name": {"type": "string"},
            "mimeType": {"type": "string"},
        },
        "required": ["uri"],
    }

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Return what the file is."""
        del context
        return {"file": inputs}


class Remember(Module):
    """Shows what a module finds in its context."""

    description = "Shows its context."

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Return the context."""
        del inputs
        known = context.identity
        identity = (
            None
            if known is None
            else {"id": known.id, "roles": list(known.roles), "attrs": dict(known.attrs)}
        )
        return {"identity": identity, "a2a": context.data["a2a"]}


class Slow(Module):
    """Waits until it is released or canceled."""

    description = "Waits."

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.released = asyncio.Event()
        self.canceled = asyncio.Event()

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Wait."""
        del inputs
        self.begun.set()
        while not self.released.is_set():
            if context.cancel_token.is_cancelled:
                self.canceled.set()
                context.cancel_token.check()
            await asyncio.sleep(0.005)
        return {"done": True}


class Broken(Module):
    """Raises what it is given."""

    description = "Fails."

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error or ValueError("secret in /etc/passwd")

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Fail."""
        del inputs, context
        raise self.error


class Delete(Module):
    """Needs an approval."""

    description = "Deletes."
    annotations = apcore.ModuleAnnotations(destructive=True, requires_approval=True)

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Delete."""
        self.calls.append(inputs)
        return {"deleted": inputs["number"], "answer": context.data["a2a"].get("answer")}


class Plain(Module):
    """Declares no schema."""

    description = "Takes a text."
    input_schema: Any = None
    output_schema: Any = None

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Return the input."""
        del context
        return dict(inputs)


def register(registry: Any, name: str, module: Any) -> None:
    """Register a module; releases without plain schemas get classes with the same properties."""
    if not PLAIN_SCHEMAS:
        for use in ("input_schema", "output_schema"):
            if isinstance(schema := getattr(module, use, None), dict):
                setattr(module, use, build_schema_class(schema))
    registry.register(name, module)


def build_schema_class(schema: Mapping[str, Any]) -> type[BaseModel]:
    """Build a class that describes itself by a schema, and checks the types of its properties."""
    required = schema.get("required", ())
    fields: dict[str, Any] = {
        name: (TYPES.get(each.get("type"), Any), ... if name in required else None)
        for name, each in schema.get("properties", {}).items()
    }
    config = ConfigDict(
        extra="allow",
        strict=True,
        json_schema_extra=lambda made: (made.clear(), made.update(schema))[0],
    )
    return create_model("Schema", __config__=config, **fields)


def build_registry(**modules: Module) -> Any:
    """Build a registry; ``math_add`` is registered as ``math.add``."""
    registry = apcore.Registry()
    for name, module in modules.items():
        register(registry, name.replace("__", "."), module)
    return registry


def build_world() -> Any:
    """Build a registry of eleven modules, the last one without a description."""
    silent = Add()
    silent.description = ""
    return build_registry(
        math__add=Add(),
        text__shout=Shout(),
        count__up_to=Count(),
        picture__draw=Picture(),
        file__open=Open(),
        memory__show=Remember(),
        time__wait=Slow(),
        error__raise=Broken(),
        data__delete=Delete(),
        plain__text=Plain(),
        silent__module=silent,
    )


class AgentUnderTest:
    """An agent, and requests to it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def card(self) -> dict[str, Any]:
        """Read the card."""
        found: dict[str, Any] = (await self.http.get(CARD)).json()
        return found

    async def skills(self) -> list[str]:
        """List the skills on the card."""
        return [each["id"] for each in (await self.card())["skills"]]

    async def rpc(
        self, method: str, params: Mapping[str, object], **headers: str
    ) -> dict[str, Any]:
        """Send one request, and return its response."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        found: dict[str, Any] = (await self.http.post("/", json=body, headers=headers)).json()
        return found

    async def send(
        self,
        skill: str | None,
        *parts: object,
        headers: Mapping[str, str] | None = None,
        **message: object,
    ) -> dict[str, Any]:
        """Send a message to a skill, and return the response."""
        return await self.rpc(
            "message/send", build_params(skill, *parts, **message), **(headers or {})
        )

    async def call(
        self,
        skill: str | None,
        *parts: object,
        headers: Mapping[str, str] | None = None,
        **message: object,
    ) -> dict[str, Any]:
        """Send a message to a skill, and return its task."""
        response = await self.send(skill, *parts, headers=headers, **message)
        assert "result" in response, response
        task: dict[str, Any] = response["result"]
        return task

    async def fail(
        self, skill: str | None, *parts: object, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Send a message to a skill, and return the error of the response."""
        response = await self.send(skill, *parts, headers=headers)
        assert "error" in response, response
        error: dict[str, Any] = response["error"]
        return error

    async def stream(self, skill: str, *parts: object) -> list[dict[str, Any]]:
        """Send a message with a stream, and return all of its events."""
        return [event async for event in self.follow("message/stream", build_params(skill, *parts))]

    async def follow(
        self, method: str, params: Mapping[str, object]
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a stream, each with its number."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with self.http.stream("POST", "/", json=body) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), (
                await response.aread()
            )
            number = 0
            async for line in response.aiter_lines():
                if line.startswith("id: "):
                    number = int(line.removeprefix("id: "))
                elif line.startswith("data: "):
                    yield {**json.loads(line.removeprefix("data: "))["result"], "number": number}

    async def wait_state(self, task_id: str, state: str) -> dict[str, Any]:
        """Wait until a task is in a state."""
        async with asyncio.timeout(30):
            while (task := (await self.rpc("tasks/get", {"id": task_id}))["result"])["status"][  # noqa: ASYNC110 - polled, as clients do
                "state"
            ] != state:
                await asyncio.sleep(0.01)
        found: dict[str, Any] = task
        return found


def build_params(skill: str | None, *parts: object, **message: object) -> dict[str, Any]:
    """Build the parameters of a message: a text, an object or a part for each value."""
    sent = {
        "kind": "message",
        "messageId": "m-1",
        "role": "user",
        "parts": [to_part(each) for each in parts],
        **message,
    }
    return {"message": sent, **({} if skill is None else {"metadata": {"skillId": skill}})}


def to_part(value: object) -> object:
    """Build a part."""
    if isinstance(value, str):
        return {"kind": "text", "text": value}
    if isinstance(value, dict) and "kind" in value:
        return value
    return {"kind": "data", "data": value}


def read_data(task: Mapping[str, Any]) -> Any:
    """Read the data of the only artifact."""
    (artifact,) = task["artifacts"]
    return artifact["parts"][0]["data"]


def read_status(task: Mapping[str, Any]) -> str:
    """Read the text of the status."""
    text: str = task["status"]["message"]["parts"][0]["text"]
    return text


@asynccontextmanager
async def run_agent(registry: Any, **options: Any) -> AsyncIterator[AgentUnderTest]:
    """Serve a registry or an executor in this process."""
    app = async_serve(registry, **{"shutdown_timeout": 0.0, **options})
    async with (
        run_app(app.litestar) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        yield AgentUnderTest(http)

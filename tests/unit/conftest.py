"""Fixtures of the unit tests: asyncio as the backend, and a small contract to change one thing in,
which holds one of everything.
"""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from a2a_gen.source.documents import Document

GONE = object()
"""As the new value of an edit: take the member away."""

META = Path(__file__).parents[2] / "schema" / "meta"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

TREE: Mapping[str, object] = {
    "v1/message.json": {
        "$schema": DRAFT,
        "description": "Messages.",
        "$defs": {
            "Role": {
                "description": "Who speaks.",
                "type": "string",
                "enum": ["ROLE_USER", "ROLE_AGENT"],
                "x-enum-varnames": ["USER", "AGENT"],
                "x-proto": {"values": {"ROLE_USER": 1, "ROLE_AGENT": 2}},
            },
            "Part": {
                "description": "One piece of content.",
                "type": "object",
                "properties": {
                    "text": {"type": "string", "pattern": "^a", "x-proto": {"number": 1}},
                    "raw": {
                        "type": "string",
                        "contentEncoding": "base64",
                        "x-proto": {"number": 2},
                    },
                    "data": {"description": "Any JSON value.", "x-proto": {"number": 3}},
                    "mediaType": {
                        "type": "string",
                        "x-a2a-aliases": ["mimeType"],
                        "x-proto": {"number": 4},
                    },
                },
                "oneOf": [{"required": ["text"]}, {"required": ["raw"]}, {"required": ["data"]}],
                "x-a2a-oneof": "content",
            },
        },
    },
    "v1/task.json": {
        "$schema": DRAFT,
        "description": "Tasks.",
        "$defs": {
            "TaskState": {
                "description": "Where a task stands.",
                "type": "string",
                "enum": ["TASK_STATE_NEW", "TASK_STATE_DONE", "TASK_STATE_UNKNOWN"],
                "x-extensible-enum": True,
                "x-proto": {
                    "values": {"TASK_STATE_UNKNOWN": 0, "TASK_STATE_NEW": 1, "TASK_STATE_DONE": 2}
                },
            },
            "Task": {
                "description": "A task.",
                "type": "object",
                "properties": {
                    "id": {"type": "string", "x-proto": {"number": 1}},
                    "tenant": {"type": "string", "x-proto": {"number": 2}},
                    "state": {"$ref": "#/$defs/TaskState", "x-proto": {"number": 3}},
                    "parts": {
                        "type": "array",
                        "items": {"$ref": "message.json#/$defs/Part"},
                        "x-proto": {"number": 4},
                    },
                    "changed": {"type": "string", "format": "date-time", "x-proto": {"number": 5}},
                    "tags": {
                        "type": "object",
                        "additionalProperties": {"type": "string"},
                        "x-proto": {"number": 6},
                    },
                    "streaming": {"type": "boolean", "x-proto": {"number": 7}},
                },
                "required": ["id", "parts"],
                "x-a2a-read": {"parts": []},
            },
        },
    },
    "v0/task.json": {
        "$schema": DRAFT,
        "description": "Older tasks.",
        "$defs": {
            "TaskState": {
                "description": "Where a task stands.",
                "type": "string",
                "enum": ["new", "done"],
            },
            "Task": {
                "description": "A task.",
                "type": "object",
                "properties": {
                    "kind": {"const": "task"},
                    "name": {"type": "string"},
                    "state": {"$ref": "#/$defs/TaskState"},
                },
                "required": ["kind", "name"],
            },
            "Event": {
                "description": "An event.",
                "type": "object",
                "properties": {
                    "kind": {"const": "event"},
                    "task": {"$ref": "#/$defs/Task"},
                    "metadata": {"type": "object"},
                },
                "required": ["kind", "task"],
            },
            "Item": {
                "description": "An item of a stream.",
                "oneOf": [{"$ref": "#/$defs/Task"}, {"$ref": "#/$defs/Event"}],
            },
        },
    },
    "operations.json": {
        "$schema": "meta/operations.schema.json",
        "description": "Operations.",
        "operations": [
            {
                "name": "GetTask",
                "description": "Read a task.",
                "request": "Task",
                "response": "Task",
                "capability": "streaming",
                "dialects": {
                    "v1": {
                        "method": "GetTask",
                        "grpc": "GetTask",
                        "request": "Task",
                        "result": "Task",
                        "http": ["GET /tasks/{id}"],
                    },
                    "v0": {
                        "method": "tasks/get",
                        "aliases": ["task/get"],
                        "request": "Task",
                        "result": "Item",
                        "http": ["GET /{name=tasks/*}"],
                    },
                },
            },
            {
                "name": "StopTask",
                "description": "Stop a task.",
                "request": "Task",
                "response": None,
                "dialects": {
                    "v1": {
                        "method": "StopTask",
                        "grpc": "StopTask",
                        "request": "Task",
                        "result": None,
                        "http": ["POST /tasks/{id}:stop"],
                    }
                },
            },
        ],
    },
    "errors.json": {
        "$schema": "meta/errors.schema.json",
        "description": "Errors.",
        "domain": "example.org",
        "shared_codes": [-32600],
        "errors": [
            {
                "name": "FaultError",
                "parent": "A2AError",
                "description": "Any fault.",
                "abstract": True,
            },
            {
                "name": "MissingError",
                "parent": "FaultError",
                "description": "It is not there.",
                "message": "Not there",
                "code": -32001,
                "http": 404,
                "grpc": "NOT_FOUND",
                "reason": "MISSING",
                "dialects": {"v0": {"code": -32600}},
            },
            {
                "name": "BrokenError",
                "parent": "FaultError",
                "description": "It is broken.",
                "message": "Broken",
                "code": -32600,
                "http": 500,
                "grpc": "INTERNAL",
            },
        ],
    },
    "lifecycle.json": {
        "$schema": "meta/lifecycle.schema.json",
        "description": "States.",
        "type": "TaskState",
        "initial": "NEW",
        "unknown": {"description": "Any other.", "spellings": {"v1": "TASK_STATE_UNKNOWN"}},
        "states": [
            {
                "name": "NEW",
                "kind": "active",
                "description": "Begun.",
                "accepts_messages": True,
                "cancelable": True,
                "spellings": {"v1": "TASK_STATE_NEW", "v0": "new"},
                "reads": {"v0": ["fresh"]},
                "next": ["DONE"],
            },
            {
                "name": "DONE",
                "kind": "terminal",
                "description": "Ended.",
                "accepts_messages": False,
                "cancelable": False,
                "spellings": {"v1": "TASK_STATE_DONE", "v0": "done"},
                "next": [],
            },
        ],
    },
    "dialects.json": {
        "$schema": "meta/dialects.schema.json",
        "description": "Dialects.",
        "canonical": "v1",
        "parameters": {"version": {"headers": ["A2A-Version"], "description": "The version."}},
        "reserved_tenants": ["v0"],
        "dialects": [
            {
                "name": "v1",
                "title": "One",
                "description": "The newer form.",
                "version": "1.0",
                "jsonrpc": True,
                "http_prefixes": ["", "/{tenant}"],
                "media_types": ["application/json"],
                "error_body": "status",
                "card_paths": ["/card.json"],
            },
            {
                "name": "v0",
                "title": "Zero",
                "description": "The older form.",
                "version": "0.1",
                "jsonrpc": True,
                "http_prefixes": ["/v0"],
                "media_types": ["application/json"],
                "error_body": "jsonrpc",
                "card_paths": [],
                "enums": {"TaskState": {"new": "TASK_STATE_NEW", "done": "TASK_STATE_DONE"}},
                "wrappers": {"Task": "tags"},
                "types": [
                    {
                        "theirs": "Task",
                        "members": {"name": {"rule": "resource", "template": "tasks/{id}"}},
                    },
                    {
                        "theirs": "Event",
                        "ours": "Task",
                        "members": {"task.name": "id", "metadata.why": "state"},
                    },
                    {
                        "theirs": "Item",
                        "ours": "Part",
                        "union": {"Task": "text", "Event": ["raw", "data"]},
                    },
                ],
                "lossy": [
                    {
                        "type": "Task",
                        "member": "streaming",
                        "direction": "write",
                        "reason": "there is no such word",
                    }
                ],
            },
        ],
    },
}

Edits = Mapping[str, object]
Small = Callable[[Edits], Mapping[str, Document]]


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the runtime does."""
    return "asyncio"


@pytest.fixture
def removed_member() -> object:
    """Mark a member that an edit takes away."""
    return GONE


@pytest.fixture(scope="session")
def small() -> Small:
    """Make the small contract, with edits: ``{"file.json#/pointer": value}``, and a whole file
    where there is no ``#``.
    """
    meta = {f"meta/{file.name}": json.loads(file.read_text()) for file in META.glob("*.json")}

    def make(edits: Edits) -> Mapping[str, Document]:
        tree = copy.deepcopy({**TREE, **meta})
        for target, value in edits.items():
            file, _, pointer = target.partition("#")
            edit(tree, [file, *(step.replace("~1", "/") for step in pointer.split("/")[1:])], value)
        return {
            path: Document(path, json.dumps(data, indent=2), data)
            for path, data in sorted(tree.items())
        }

    return make


def edit(data: dict, steps: list[str], value: object) -> None:
    """Set or take away the member that some steps lead to."""
    *parents, last = steps
    for step in parents:
        data = data[int(step)] if isinstance(data, list) else data[step]
    if value is GONE:
        del data[int(last) if isinstance(data, list) else last]
    elif isinstance(data, list):
        data[int(last)] = value
    else:
        data[last] = value

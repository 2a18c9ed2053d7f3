"""Reading and writing one task of 4.7 kB, as ratios to msgspec and the standard library.

All take turns in one run, because times of two runs on a busy machine do not compare. Each result
is compared with the document before any is timed.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import msgspec
import orjson

from a2a_contract import v0_3, v1_0

ROUNDS = 60
CALLS = 100
GOAL = 1.5 * 4.5  # times what msgspec takes to read

Json = dict[str, object]


# --- the same task for msgspec, by hand -----------------------------------------------------------


class Struct(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """What all structs share."""


class Role(Enum):
    """Who speaks."""

    USER = "ROLE_USER"
    AGENT = "ROLE_AGENT"


class State(Enum):
    """The states that the task goes through."""

    WORKING = "TASK_STATE_WORKING"
    COMPLETED = "TASK_STATE_COMPLETED"


class Part(Struct, frozen=True):
    """A part; that exactly one member is there is not checked."""

    text: str | None = None
    raw: bytes | None = None
    url: str | None = None
    data: object = None
    metadata: Json | None = None
    filename: str | None = None
    media_type: str | None = None


class Message(Struct, frozen=True):
    """A message."""

    message_id: str
    role: Role
    parts: list[Part]
    context_id: str | None = None
    task_id: str | None = None
    metadata: Json | None = None


class Status(Struct, frozen=True):
    """A status; its time stays text."""

    state: State
    message: Message | None = None
    timestamp: str | None = None


class Artifact(Struct, frozen=True):
    """An artifact."""

    artifact_id: str
    parts: list[Part]
    name: str | None = None


class Task(Struct, frozen=True):
    """A task."""

    id: str
    status: Status
    context_id: str | None = None
    artifacts: list[Artifact] | None = None
    history: list[Message] | None = None


# --- documents ------------------------------------------------------------------------------------


def message(number: int, role: str) -> Json:
    """Write a message of two parts."""
    parts = [
        {
            "text": (
                f"Message {number} of a conversation that goes on for a while, about nothing in "
                "particular."
            ),
            "mediaType": "text/plain",
        },
        {
            "data": {
                "step": number,
                "tags": ["a", "b"],
                "score": number / 4,
                "done": number % 2 == 0,
                "note": None,
            }
        },
    ]
    ids = {
        "messageId": f"9f1c2d3e-4b5a-6789-0abc-{number:012d}",
        "contextId": "5f2c7a1e-0000-4000-8000-000000000001",
    }
    return {**ids, "taskId": "5f2c7a1e-0000-4000-8000-000000000002", "role": role, "parts": parts}


def task() -> Json:
    """Write a task with ten messages, a status with another one, and an artifact."""
    status = {
        "state": "TASK_STATE_COMPLETED",
        "message": message(10, "ROLE_AGENT"),
        "timestamp": "2026-03-01T10:00:00.250Z",
    }
    parts = [
        {"text": "The report. " * 30, "mediaType": "text/markdown"},
        {"raw": "iVBORw0KGgoAAAANSUhEUg==", "filename": "chart.png", "mediaType": "image/png"},
    ]
    return {
        "id": "5f2c7a1e-0000-4000-8000-000000000002",
        "contextId": "5f2c7a1e-0000-4000-8000-000000000001",
        "status": status,
        "artifacts": [{"artifactId": "artifact-1", "name": "report", "parts": parts}],
        "history": [
            message(number, "ROLE_AGENT" if number % 2 else "ROLE_USER") for number in range(10)
        ],
    }


OLDER_WORDS = {
    "ROLE_USER": "user",
    "ROLE_AGENT": "agent",
    "TASK_STATE_COMPLETED": "completed",
}


def older(task: Json) -> Json:
    """Write the same task in A2A 0.3, whose parts are told apart by a constant."""
    return {"kind": "task", **rewrite_object(task)}


def rewrite(value: object) -> object:
    """Rewrite a value of the task."""
    if isinstance(value, list):
        return [rewrite(each) for each in value]
    if isinstance(value, dict):
        return rewrite_object(value)
    if isinstance(value, str):
        return OLDER_WORDS.get(value, value)
    return value


def rewrite_object(value: Json) -> Json:
    """Rewrite a part, a message or another object."""
    if "text" in value:
        return {"kind": "text", "text": value["text"]}
    if "raw" in value:
        file = {
            "bytes": value["raw"],
            "name": value["filename"],
            "mimeType": value["mediaType"],
        }
        return {"kind": "file", "file": file}
    if "data" in value:
        return {"kind": "data", **value}
    kind = {"kind": "message"} if "messageId" in value else {}
    return {**kind, **{name: rewrite(each) for name, each in value.items()}}


# --- the run --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rival:
    """One way to read a task and to write it again."""

    name: str
    body: bytes
    read: Callable[[bytes], object]
    write: Callable[[object], bytes]


def rivals() -> list[Rival]:
    """List the ways, the one that others are compared with first."""
    new, old = (
        json.dumps(each, separators=(",", ":")).encode() for each in (task(), older(task()))
    )
    decoder = msgspec.json.Decoder(Task)
    encoder = msgspec.json.Encoder()
    return [
        Rival("msgspec structs", new, decoder.decode, encoder.encode),
        Rival(
            "a2a_contract.v1_0", new, v1_0.Task.model_validate_json, lambda model: model.to_json()
        ),
        Rival(
            "a2a_contract.v0_3", old, v0_3.Task.model_validate_json, lambda model: model.to_json()
        ),
        Rival("orjson, to dict", new, orjson.loads, orjson.dumps),
        Rival(
            "json of the standard library, to dict",
            new,
            json.loads,
            lambda data: json.dumps(data, separators=(",", ":")).encode(),
        ),
    ]


def microseconds(work: Callable[[], object]) -> float:
    """Time some calls, and give the time of one."""
    start = time.perf_counter()
    for _ in range(CALLS):
        work()
    return (time.perf_counter() - start) / CALLS * 1e6


def main() -> int:
    """Print the table."""
    found = rivals()
    for each in found:
        assert json.loads(each.write(each.read(each.body))) == json.loads(each.body), each.name
    times: dict[tuple[str, str], list[float]] = {
        (each.name, what): [] for each in found for what in ("read", "write")
    }
    for _ in range(ROUNDS):
        for each in found:
            model = each.read(each.body)
            times[each.name, "read"].append(microseconds(lambda each=each: each.read(each.body)))
            times[each.name, "write"].append(
                microseconds(lambda each=each, model=model: each.write(model))
            )
    # The least is what the work takes; everything above it is somebody else's.
    best = {key: min(values) for key, values in times.items()}
    print(
        f"\nReading and writing a task of {len(found[0].body)} bytes{'':17} {'read':>9} "
        f"{'msgspec':>9} {'write':>9} {'msgspec':>9}"
    )
    for each in found:
        read = best[each.name, "read"]
        write = best[each.name, "write"]
        ratios = read / best["msgspec structs", "read"], write / best["msgspec structs", "write"]
        print(f"{each.name:52} {read:6.1f} µs {ratios[0]:8.1f}x {write:6.1f} µs {ratios[1]:8.1f}x")
    ratio = statistics.median(
        a / b
        for a, b in zip(
            times["a2a_contract.v1_0", "read"], times["msgspec structs", "read"], strict=True
        )
    )
    print(
        f"goal: v1_0 reads in at most {GOAL:.2f} times the time of msgspec: {ratio:.2f}, "
        f"{'kept' if ratio <= GOAL else 'MISSED'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

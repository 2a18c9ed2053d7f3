"""A task in the other dialects: written straight from the canonical JSON, against making a model of
it, and both as ratios to writing a model.

All take turns in one run. Before anything is timed, what is written is read by the dialect's own
model, translated back, and compared.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from parse_dump import task as large_task
from pydantic_core import from_json, to_json

from a2a_contract import mesh, v0_3, v0_3_proto, v1_0
from a2a_contract.base import WireModel
from a2a_contract.translate import mesh as to_mesh
from a2a_contract.translate import v0_3 as to_v0_3
from a2a_contract.translate import v0_3_proto as to_v0_3_proto

ROUNDS = 40
CALLS = 200
GOAL = 0.6  # of the time that a model takes

SMALL = {
    "id": "5f2c7a1e",
    "contextId": "9f1c2d3e",
    "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-03-01T10:00:00.250Z"},
    "artifacts": [{"artifactId": "result", "name": "result", "parts": [{"text": "Done."}]}],
}


@dataclass(frozen=True)
class Dialect:
    """One dialect: its model of a task, and both translations; ``keeps`` says whether a task comes
    back whole.
    """

    name: str
    model: type[WireModel]
    write: Callable[[dict[str, Any]], dict[str, object]]
    read: Callable[..., dict[str, object]]
    keeps: bool = True


DIALECTS = [
    Dialect("v0_3", v0_3.Task, to_v0_3.write_task, to_v0_3.read_task),
    Dialect("v0_3_proto", v0_3_proto.Task, to_v0_3_proto.write_task, to_v0_3_proto.read_task),
    Dialect("mesh", mesh.Task, to_mesh.write_task, to_mesh.read_task, keeps=False),
]


def without(value: object, *names: str) -> object:
    """Take away the members that a dialect cannot carry."""
    if isinstance(value, list):
        return [without(each, *names) for each in value]
    if isinstance(value, dict):
        return {name: without(each, *names) for name, each in value.items() if name not in names}
    return value


def check(dialect: Dialect, task: v1_0.Task) -> None:
    """Make sure that what is written is the task."""
    back = v1_0.Task.model_validate(
        dialect.read(dialect.model.model_validate_json(to_json(dialect.write(task.to_dict()))))
    )
    assert back.id == task.id
    assert back.status.state == task.status.state
    if dialect.keeps:
        # What the parts of 0.3 cannot carry.
        assert without(back.to_dict(), "mediaType") == without(task.to_dict(), "mediaType"), (
            dialect.name
        )


def microseconds(work: Callable[[], object]) -> float:
    """Time some calls, and give the time of one."""
    start = time.perf_counter()
    for _ in range(CALLS):
        work()
    return (time.perf_counter() - start) / CALLS * 1e6


def by_model(dialect: Dialect, body: bytes) -> bytes:
    """Write a task by way of a model."""
    return to_json(dialect.write(v1_0.Task.model_validate_json(body).to_dict()))


def ways(task: v1_0.Task) -> dict[str, Callable[[], object]]:
    """List what is timed, the one that the others are compared with first."""
    found: dict[str, Callable[[], object]] = {"v1_0: to bytes, as it is": task.to_json}
    for dialect in DIALECTS:
        check(dialect, task)
        members = task.to_dict()
        body = task.to_json()
        model = dialect.model.model_validate(dialect.write(members))
        found[f"{dialect.name}: write, to a dict"] = lambda dialect=dialect, members=members: (
            dialect.write(members)
        )
        found[f"{dialect.name}: write, from bytes to bytes"] = lambda dialect=dialect, body=body: (
            to_json(dialect.write(from_json(body)))
        )
        found[f"{dialect.name}: write by a model, from bytes to bytes"] = (
            lambda dialect=dialect, body=body: by_model(dialect, body)
        )
        found[f"{dialect.name}: read, from its model"] = lambda dialect=dialect, model=model: (
            v1_0.Task.model_validate(dialect.read(model))
        )
    return found


def show(title: str, task: v1_0.Task) -> None:
    """Print one table."""
    found = ways(task)
    times: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(ROUNDS):
        for name, work in found.items():
            times[name].append(microseconds(work))
    # The least is what the work takes; everything above it is somebody else's.
    best = {name: min(values) for name, values in times.items()}
    base = next(iter(best.values()))
    print(f"\n{title}{'':{54 - len(title)}} {'time':>9} {'as it is':>9}")
    for name, value in best.items():
        print(f"{name:54} {value:6.1f} µs {value / base:8.1f}x")
    ratios = [
        best[f"{each.name}: write, from bytes to bytes"]
        / best[f"{each.name}: write by a model, from bytes to bytes"]
        for each in DIALECTS
    ]
    kept = max(ratios) <= GOAL
    print(
        f"goal: written in at most {GOAL} of the time of a model: {max(ratios):.2f}, "
        f"{'kept' if kept else 'MISSED'}"
    )


def main() -> int:
    """Print both tables."""
    show("A task of one text", v1_0.Task.model_validate(SMALL))
    show("A task of 4.7 kB", v1_0.Task.model_validate(large_task()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the contract holds, and one answer in every dialect.

Run by `make demo`; needs nothing but the generated package.
"""

from __future__ import annotations

from datetime import UTC, datetime

from a2a_contract import v1_0
from a2a_contract.base import Encoded
from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import ERRORS
from a2a_contract.lifecycle import LIFECYCLE
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_TASK, OPERATIONS


def operations() -> None:
    """Show how each dialect asks for each operation."""
    print(f"\n{len(OPERATIONS)} operations; how each dialect asks for them over JSON-RPC\n")
    names = [name for name, dialect in DIALECTS.items() if dialect.jsonrpc]
    print("  " + "".join(f"{name:36}" for name in ("", *names)))
    for operation in OPERATIONS.values():
        methods = [
            operation.calls[name].method or "-" if name in operation.calls else "-"
            for name in names
        ]
        print("  " + "".join(f"{text:36}" for text in (operation.name, *methods)))


def states() -> None:
    """Show which state may follow which."""
    print(f"\n{len(LIFECYCLE)} states of a task; {len(ERRORS)} errors\n")
    for state, stage in LIFECYCLE.items():
        followers = ", ".join(sorted(follower.name.lower() for follower in stage.next)) or "nothing"
        print(f"  {state.name.lower():16} {stage.kind:12} then {followers}")


def answers() -> None:
    """Write one task as every dialect writes it."""
    status = v1_0.TaskStatus(
        state=v1_0.TaskState.COMPLETED, timestamp=datetime(2026, 1, 1, 12, tzinfo=UTC)
    )
    result = v1_0.Artifact(artifact_id="a-1", name="result", parts=[v1_0.Part(text="42")])
    task = v1_0.Task(id="t-1", context_id="c-1", status=status, artifacts=[result])
    print("\none task, as each dialect answers GetTask\n")
    for dialect, bindings in METHODS.items():
        write = bindings[GET_TASK.calls[dialect].method or ""].serialize
        if write is not None:
            print(f"  {dialect:6} {write(Encoded.of(task)).decode()}")


if __name__ == "__main__":
    operations()
    states()
    answers()

"""Approvals: a pending one is a question, and its answer calls the module again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from integration.features.apcore.world import (
    Delete,
    Module,
    apcore,
    apcore_errors,
    build_params,
    build_registry,
    read_data,
    read_status,
    run_agent,
)

pytestmark = pytest.mark.anyio


class DeferringHandler:
    """A handler of approvals that decides later."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.decisions: dict[str, str] = {}

    async def request_approval(self, request: Any) -> Any:
        """Leave the decision open."""
        self.requests.append(dict(request.arguments))
        return apcore.ApprovalResult(
            status="pending", approval_id=f"a-{len(self.requests)}", reason="ask the owner"
        )

    async def check_approval(self, approval_id: str) -> Any:
        """Say what was decided."""
        return apcore.ApprovalResult(
            status=self.decisions.get(approval_id, "pending"), approval_id=approval_id
        )


@pytest.mark.requirement("apcore", "FR-EXE-002", "FR-CTX-003")
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_pending_approval_is_a_question(store: str, tmp_path: Path) -> None:
    """Answers call the module with the id and the first input until it is decided; it is requested
    once.
    """
    handler = DeferringHandler()
    module = Delete()
    executor = apcore.Executor(build_registry(data__delete=module), approval_handler=handler)
    task_store = None if store == "memory" else f"sqlite:///{tmp_path / 'tasks.db'}"
    async with run_agent(executor, task_store=task_store) as agent:
        task = await agent.call("data.delete", {"number": 7})
        assert task["status"]["state"] == "input-required"
        assert read_status(task) == "Approval required for module data.delete: ask the owner"
        assert module.calls == []
        still = await agent.call(None, "is it done?", taskId=task["id"], messageId="m-2")
        assert still["status"]["state"] == "input-required"
        handler.decisions["a-1"] = "approved"
        done = await agent.call(
            None, {"number": 1000}, taskId=task["id"], contextId=task["contextId"], messageId="m-3"
        )
        assert done["status"]["state"] == "completed"
        assert read_data(done)["deleted"] == 7
        assert read_data(done)["answer"]["parts"][0]["data"] == {"number": 1000}
        assert [each["number"] for each in handler.requests] == [7]
        assert [each["number"] for each in module.calls] == [7]
        listed = (await agent.rpc("tasks/list", {"contextId": task["contextId"]}))["result"][
            "tasks"
        ]
        assert [each["id"] for each in listed] == [task["id"]]


class AskingModule(Module):
    """Raises the pending approval itself, with the id in the details."""

    description = "Waits for its owner."

    def __init__(self) -> None:
        self.tokens: list[object] = []

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Wait until there is an id; early releases have it in the input."""
        self.tokens.append(inputs.get("_approval_token") or context.data["a2a"].get("approval_id"))
        if self.tokens[-1] is None:
            raise apcore_errors.ModuleError(
                "APPROVAL_PENDING", "pending", {"approval_id": "ticket-1"}
            )
        return {"done": True}


async def test_a_module_may_ask_for_an_approval_itself() -> None:
    """The id in the details of its error comes back with the answer."""
    module = AskingModule()
    async with run_agent(build_registry(data__wait=module)) as agent:
        task = await agent.call("data.wait", {"number": 7})
        assert task["status"]["state"] == "input-required"
        done = await agent.call(None, "yes", taskId=task["id"], messageId="m-2")
        assert (done["status"]["state"], module.tokens) == ("completed", [None, "ticket-1"])


async def test_a_rejected_approval_fails_the_task() -> None:
    """The task fails and the module does not run."""
    handler = DeferringHandler()
    module = Delete()
    async with run_agent(
        apcore.Executor(build_registry(data__delete=module), approval_handler=handler)
    ) as agent:
        task = await agent.call("data.delete", {"number": 7})
        handler.decisions["a-1"] = "rejected"
        done = await agent.call(None, "now?", taskId=task["id"], messageId="m-2")
        assert (done["status"]["state"], read_status(done)) == ("failed", "Approval denied")
        assert module.calls == []


async def test_a_caller_cannot_bring_an_approval_along() -> None:
    """It would run another input than the approved one."""
    handler = DeferringHandler()
    module = Delete()
    handler.decisions["a-1"] = "approved"
    async with run_agent(
        apcore.Executor(build_registry(data__delete=module), approval_handler=handler)
    ) as agent:
        error = await agent.fail("data.delete", {"number": 1000, "_approval_token": "a-1"})
        assert (error["code"], error["data"]["errors"][0]["field"]) == (-32602, "_approval_token")
    assert module.calls == []


@pytest.mark.parametrize(
    ("answer", "state", "runs"),
    [
        ("yes", "completed", 1),
        (True, "completed", 1),
        ({"approved": True}, "completed", 1),
        ("no", "failed", 0),
        ({"approved": False}, "failed", 0),
    ],
)
async def test_without_a_handler_the_caller_decides(answer: object, state: str, runs: int) -> None:
    """The caller is asked for approval before the module runs."""
    module = Delete()
    part = {"kind": "text", "text": "true"} if answer is True else answer
    async with run_agent(build_registry(data__delete=module)) as agent:
        task = await agent.call("data.delete", {"number": 7})
        assert (task["status"]["state"], module.calls) == ("input-required", [])
        unclear = await agent.send(None, "perhaps", taskId=task["id"], messageId="m-2")
        assert unclear["error"]["code"] == -32602
        done = await agent.call(None, part, taskId=task["id"], messageId="m-3")
        assert (done["status"]["state"], len(module.calls)) == (state, runs)


class Booking(Module):
    """Asks for what is missing by an approval of its own."""

    description = "Books."
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"city": {"type": "string"}, "confirmed": {"type": "boolean"}},
    }

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Wait for a confirmation."""
        del context
        if not inputs.get("confirmed"):
            raise apcore_errors.ApprovalPendingError(
                SimpleNamespace(reason=f"confirm {inputs['city']}"), "book.room"
            )
        return {"booked": inputs}


@pytest.mark.requirement("apcore", "FR-EXE-002", "FR-CTX-003")
async def test_a_module_may_ask_for_input_itself() -> None:
    """The answer is further input, as far as the schema knows its members; a stream ends with the
    question and goes on with the answer.
    """
    async with run_agent(build_registry(book__room=Booking())) as agent:
        events = await agent.stream("book.room", {"city": "Ulm"})
        last = events[-1]
        assert last["status"]["state"] == "input-required"
        assert "confirm Ulm" in last["status"]["message"]["parts"][0]["text"]
        answer = build_params(
            None, {"confirmed": True, "admin": True}, taskId=last["taskId"], messageId="m-2"
        )
        rest = [event async for event in agent.follow("message/stream", answer)]
        artifact = next(event["artifact"] for event in rest if event["kind"] == "artifact-update")
        assert artifact["parts"][0]["data"] == {"booked": {"city": "Ulm", "confirmed": True}}
        assert rest[-1]["status"]["state"] == "completed"


@pytest.mark.requirement("apcore", "FR-TSK-005")
async def test_a_question_may_be_canceled() -> None:
    """A task that is canceled while it asks for approval never runs its module."""
    module = Delete()
    async with run_agent(build_registry(data__delete=module)) as agent:
        task = await agent.call("data.delete", {"number": 7})
        canceled = (await agent.rpc("tasks/cancel", {"id": task["id"]}))["result"]
        assert (canceled["status"]["state"], module.calls) == ("canceled", [])

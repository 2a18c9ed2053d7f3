"""Calls of modules: input from parts, output as artifacts, errors, timeouts, cancellation,
conversations.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from integration.features.apcore.world import (
    PNG,
    Add,
    AgentUnderTest,
    Broken,
    Module,
    Remember,
    Slow,
    Total,
    apcore,
    apcore_errors,
    build_params,
    build_registry,
    build_world,
    read_data,
    read_status,
    run_agent,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def agent() -> AsyncIterator[AgentUnderTest]:
    """The agent of the whole world."""
    async with run_agent(build_world()) as agent:
        yield agent


@pytest.mark.requirement("apcore", "FR-MSG-001", "FR-MSG-004", "FR-TSK-002", "FR-EXE-001")
async def test_a_call_is_a_completed_task(agent: AgentUnderTest) -> None:
    """A call returns a completed task with its ids, its time and one artifact of JSON."""
    task = await agent.call("math.add", {"a": 1, "b": 2})
    assert task["status"]["state"] == "completed"
    assert task["status"]["timestamp"].endswith("Z")
    assert UUID(task["id"])
    assert UUID(task["contextId"])
    (artifact,) = task["artifacts"]
    assert artifact["parts"] == [
        {"kind": "data", "data": {"total": 3}, "metadata": {"mediaType": "application/json"}}
    ]


@pytest.mark.requirement("apcore", "FR-MSG-001", "FR-ERR-001")
async def test_a_call_needs_a_known_skill(agent: AgentUnderTest) -> None:
    """A call without a skill and a call of an unknown skill have different error codes."""
    missing = await agent.fail(None, {"a": 1})
    assert (missing["code"], missing["message"]) == (
        -32602,
        "Missing required parameter: metadata.skillId",
    )
    unknown = await agent.fail("math.power", {"a": 1})
    assert (unknown["code"], unknown["message"]) == (-32601, "Skill not found: math.power")
    assert unknown["data"]["type"] == "ModuleNotFoundError"
    silent = await agent.fail("silent.module", {"a": 1, "b": 1})
    assert silent["code"] == -32601


@pytest.mark.requirement("apcore", "FR-MSG-003")
@pytest.mark.parametrize(
    ("skill", "part", "expected"),
    [
        ("math.add", {"a": 1, "b": 2}, {"total": 3}),
        ("math.add", '{"a": 4, "b": 2}', {"total": 6}),
        ("text.shout", "hi", {"text": "HI"}),
        ("text.shout", '{"text": "json"}', {"text": "JSON"}),
        ("text.shout", "[1]", {"text": "[1]"}),
        ("plain.text", "hello", {"text": "hello"}),
        (
            "file.open",
            {
                "kind": "file",
                "file": {"uri": "https://x/a.png", "name": "a.png", "mimeType": "image/png"},
            },
            {"file": {"uri": "https://x/a.png", "name": "a.png", "mimeType": "image/png"}},
        ),
        (
            "file.open",
            {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain"}},
            {"file": {"uri": "data:text/plain;base64,aGk=", "mimeType": "text/plain"}},
        ),
    ],
)
async def test_parts_are_the_input(
    agent: AgentUnderTest, skill: str, part: object, expected: object
) -> None:
    """Data, JSON in a text, a text for one text, a file for a URI."""
    assert read_data(await agent.call(skill, part)) == expected


@pytest.mark.requirement("apcore", "FR-MSG-003")
async def test_parts_that_hold_no_input_are_refused(agent: AgentUnderTest) -> None:
    """A text that is no JSON, no parts, only files."""
    text = await agent.fail("math.add", "hello")
    assert (text["code"], text["message"]) == (-32602, "Invalid JSON in TextPart")
    empty = await agent.fail("math.add")
    assert (empty["code"], [each["field"] for each in empty["data"]["fields"]]) == (
        -32602,
        ["message.parts"],
    )
    file = await agent.fail(
        "math.add", {"kind": "file", "file": {"uri": "https://x/a.png", "mimeType": "image/png"}}
    )
    assert file["code"] == -32005


@pytest.mark.requirement("apcore", "FR-MSG-003")
async def test_the_first_part_of_a_declared_type_counts(agent: AgentUnderTest) -> None:
    """The module finds the others in its context, whatever their media types."""
    photo = {"kind": "file", "file": {"uri": "https://x/a.png", "mimeType": "image/png"}}
    task = await agent.call("memory.show", "a remark", {"number": 1}, photo)
    assert read_data(task)["a2a"]["parts"] == [{"kind": "text", "text": "a remark"}, photo]


@pytest.mark.requirement("apcore", "FR-MSG-004")
async def test_bytes_in_an_output_are_files(agent: AgentUnderTest) -> None:
    """With their media type, beside the other members, in one artifact."""
    (artifact,) = (await agent.call("picture.draw", {"number": 3}))["artifacts"]
    data, file = artifact["parts"]
    assert data["data"] == {"width": 3}
    assert (file["kind"], file["file"]["name"], file["file"]["mimeType"]) == (
        "file",
        "image",
        "image/png",
    )
    assert len(file["file"]["bytes"]) > len(PNG)


class DuckExecutor:
    """An executor of no framework: its modules return anything."""

    def __init__(self, registry: Any, output: object = None) -> None:
        self.registry = registry
        self.output = output
        self.calls: list[tuple[str, object]] = []

    async def call_async(self, module_id: str, inputs: object, context: Any = None) -> object:
        """Return the output."""
        del context
        self.calls.append((module_id, inputs))
        if self.output == "echo":
            return inputs
        return self.output

    async def stream(
        self, module_id: str, inputs: object, context: Any = None
    ) -> AsyncIterator[object]:
        """Yield the output."""
        yield await self.call_async(module_id, inputs, context)

    def validate(self, module_id: str, inputs: object) -> None:
        """Accept everything."""


@pytest.mark.requirement("apcore", "FR-MSG-004", "FR-SRV-001", "NFR-CMP-002")
@pytest.mark.parametrize(
    ("output", "parts"),
    [
        ("loud", [{"kind": "text", "text": "loud"}]),
        (None, []),
        (
            b"%PDF-1.7",
            [{"kind": "file", "file": {"bytes": "JVBERi0xLjc=", "mimeType": "application/pdf"}}],
        ),
        (
            {"content": b"a,b", "name": "t.csv"},
            [{"kind": "file", "file": {"bytes": "YSxi", "name": "t.csv", "mimeType": "text/csv"}}],
        ),
    ],
    ids=["text", "nothing", "bytes", "file"],
)
async def test_an_executor_is_known_by_its_methods(output: object, parts: list[object]) -> None:
    """Its outputs may be texts, bytes or nothing."""
    async with run_agent(DuckExecutor(build_registry(math__add=Add()), output)) as agent:
        task = await agent.call("math.add", {"a": 1, "b": 2})
        assert [artifact["parts"] for artifact in task["artifacts"]] == [parts]


@pytest.mark.requirement("apcore", "FR-MSG-003")
async def test_a_text_is_the_input_of_a_module_that_takes_texts() -> None:
    """A text reaches such a module unparsed, even if it is JSON."""
    registry = build_registry(text__echo=Add())
    definition = replace(registry.get_definition("text.echo"), input_schema={"type": "string"})
    registry.get_definition = {"text.echo": definition}.get
    async with run_agent(DuckExecutor(registry, "echo")) as agent:
        task = await agent.call("text.echo", '{"a": 1}')
        assert task["artifacts"][0]["parts"] == [{"kind": "text", "text": '{"a": 1}'}]


@pytest.mark.requirement("apcore", "FR-EXE-001", "FR-ERR-002")
async def test_an_input_that_does_not_match_becomes_no_task(agent: AgentUnderTest) -> None:
    """Each error with its field, also of a member that is missing; a text is no number."""
    error = await agent.fail("math.add", {"a": "1"})
    assert (error["code"], error["data"]["type"]) == (-32602, "SchemaValidationError")
    assert {(each["field"], each["code"]) for each in error["data"]["errors"]} == {
        ("a", "type"),
        ("b", "required"),
    }
    assert all(each["message"] for each in error["data"]["errors"])
    no_object = await agent.fail("math.add", "[1, 2]")
    assert no_object["code"] == -32602
    assert (await agent.rpc("tasks/list", {}))["result"]["tasks"] == []


class WrongOutput(Module):
    """Breaks its own promise."""

    output_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"total": {"type": "integer"}},
        "required": ["total"],
    }

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Return something else."""
        del inputs, context
        return {"total": "secret"}


class WrongTotal(WrongOutput):
    """The same, with a model as its schema."""

    output_schema: Any = Total


@pytest.mark.requirement("apcore", "FR-ERR-008", "NFR-SEC-001")
@pytest.mark.parametrize("module", [WrongOutput, WrongTotal])
async def test_an_output_that_does_not_match_is_no_error_of_the_caller(
    module: type[Module],
) -> None:
    """Whatever the framework calls it: the input has passed before. The output stays in the log."""
    async with run_agent(build_registry(math__add=module())) as agent:
        task = await agent.call("math.add", {"number": 1})
        assert (task["status"]["state"], read_status(task)) == ("failed", "Internal error")
        assert task["status"]["message"]["metadata"]["error"]["code"] == -32603
        assert "secret" not in str(task)


@pytest.mark.requirement("apcore", "FR-ERR-002")
async def test_a_module_may_refuse_its_input_itself() -> None:
    """An error of a module lists wrong fields, as an error of its schema does."""
    problems = [{"path": "/city", "keyword": "unknown", "message": "no such city"}]
    async with run_agent(
        build_registry(
            error__raise=Broken(apcore_errors.SchemaValidationError("unknown city", problems))
        )
    ) as agent:
        error = (await agent.call("error.raise", {"number": 1}))["status"]["message"]["metadata"][
            "error"
        ]
        assert (error["code"], error["data"]["type"]) == (-32602, "SchemaValidationError")
        assert error["data"]["errors"] == [
            {"field": "city", "code": "unknown", "message": "no such city"}
        ]


def build_limits() -> list[Exception]:
    """Build the errors of limits."""
    return [
        apcore_errors.CallDepthExceededError(9, 8, ["a"]),
        apcore_errors.CircularCallError("a.b", ["a.b"]),
        apcore_errors.CallFrequencyExceededError("a.b", 9, 8, ["a.b"]),
    ]


@pytest.mark.requirement(
    "apcore",
    "FR-ERR-004",
    "FR-ERR-005",
    "FR-ERR-006",
    "FR-ERR-007",
    "FR-ERR-008",
    "NFR-SEC-001",
    "NFR-REL-002",
)
@pytest.mark.parametrize(
    ("error", "code", "text", "kind"),
    [
        (ValueError("secret in /etc/passwd"), -32603, "Internal error", "InternalError"),
        (
            apcore_errors.ModuleExecuteError("a.b", "quota of today is used up"),
            -32603,
            "quota of today is used up",
            "ModuleExecuteError",
        ),
        (
            apcore_errors.ModuleExecuteError("a.b", "cannot open /srv/data.db"),
            -32603,
            "Module execution failed",
            "ModuleExecuteError",
        ),
        (
            apcore_errors.ModuleTimeoutError("a.b", 1234),
            -32603,
            "Execution timed out",
            "ModuleTimeoutError",
        ),
        (
            apcore_errors.InvalidInputError("the city is unknown"),
            -32602,
            "the city is unknown",
            "InvalidInputError",
        ),
        *((each, -32603, "Safety limit exceeded", type(each).__name__) for each in build_limits()),
    ],
    ids=["unknown", "own", "path", "timeout", "input", "depth", "circle", "frequency"],
)
async def test_errors_of_modules_end_the_task(
    error: Exception, code: int, text: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Failed, with a text that shows nothing of the process, and the error object in the metadata;
    the agent goes on.
    """
    async with run_agent(build_registry(error__raise=Broken(error), math__add=Add())) as agent:
        task = await agent.call("error.raise", {"number": 1})
        assert (task["status"]["state"], read_status(task)) == ("failed", text)
        found = task["status"]["message"]["metadata"]["error"]
        assert (found["code"], found["message"], found["data"]["type"]) == (code, text, kind)
        assert (await agent.call("math.add", {"a": 1, "b": 1}))["status"]["state"] == "completed"
        assert not any(secret in str(task) for secret in ("Traceback", "/etc", "/srv", "1234"))
    if kind == "InternalError":
        assert "secret in /etc/passwd" in caplog.text
        assert any(each.levelno == logging.ERROR and each.exc_info for each in caplog.records)


@pytest.mark.requirement("apcore", "FR-EXE-001", "FR-ERR-005")
async def test_a_call_has_a_limit_in_time() -> None:
    """Of the agent, for a registry as for an executor; the module is told to stop."""
    for wrap in (
        lambda registry: registry,
        apcore.Executor,
        lambda registry: DuckSlow(apcore.Executor(registry)),
    ):
        slow = Slow()
        async with run_agent(
            wrap(build_registry(time__wait=slow)), execution_timeout=0.05
        ) as agent:
            # On a busy machine the limit may pass before the module begins: there is another call.
            while not slow.begun.is_set():
                task = await agent.call("time.wait", {"number": 1})
                end = (task["status"]["state"], read_status(task))
                assert end == ("failed", "Execution timed out")
            async with asyncio.timeout(30):
                await slow.canceled.wait()


class DuckSlow(DuckExecutor):
    """An executor that knows no limits in time."""

    def __init__(self, executor: Any) -> None:
        super().__init__(executor.registry)

    async def call_async(self, module_id: str, inputs: object, context: Any = None) -> object:
        """Call the module itself."""
        return await self.registry.get(module_id).execute(inputs, context)


@pytest.mark.requirement("apcore", "FR-TSK-005", "FR-TSK-005.a")
async def test_a_cancel_stops_the_module() -> None:
    """Through its token; a task that has ended cannot be canceled, nor one that is not there."""
    slow = Slow()
    async with run_agent(build_registry(time__wait=slow, math__add=Add())) as agent:
        sent = build_params("time.wait", {"number": 1})
        task = (await agent.rpc("message/send", {**sent, "configuration": {"blocking": False}}))[
            "result"
        ]
        async with asyncio.timeout(30):
            await slow.begun.wait()
        assert (await agent.rpc("tasks/cancel", {"id": task["id"]}))["result"]["status"][
            "state"
        ] == "canceled"
        async with asyncio.timeout(30):
            await slow.canceled.wait()
        again = (await agent.rpc("tasks/cancel", {"id": task["id"]}))["error"]
        assert (again["code"], again["message"]) == (
            -32002,
            "Task is not cancelable: current state is canceled",
        )
        assert (await agent.rpc("tasks/cancel", {"id": "gone"}))["error"]["code"] == -32001


@pytest.mark.requirement("apcore", "FR-CTX-001", "FR-CTX-002", "FR-CTX-004", "FR-TSK-006")
async def test_modules_see_the_conversation() -> None:
    """A new one is empty; the oldest messages fall out; another conversation is not seen."""
    async with run_agent(build_registry(memory__show=Remember()), max_history=2) as agent:
        first = await agent.call("memory.show", {"number": 1})
        assert read_data(first)["a2a"]["history"] == []
        context = first["contextId"]
        for number in (2, 3):
            await agent.call(
                "memory.show", {"number": number}, contextId=context, messageId=f"m-{number}"
            )
        last = await agent.call("memory.show", {"number": 4}, contextId=context, messageId="m-4")
        assert last["contextId"] == context
        assert [each["parts"][0]["data"] for each in read_data(last)["a2a"]["history"]] == [
            {"number": 2},
            {"number": 3},
        ]
        other = await agent.call("memory.show", {"number": 5})
        assert other["contextId"] != context
        assert read_data(other)["a2a"]["history"] == []
        listed = (await agent.rpc("tasks/list", {"contextId": context}))["result"]["tasks"]
        assert len(listed) == 4


@pytest.mark.requirement(
    "apcore", "FR-TSK-001", "FR-TSK-003", "FR-TSK-004", "NFR-PERF-005", "NFR-REL-003", "NFR-SCA-002"
)
async def test_a_hundred_calls_at_once_are_kept_apart(agent: AgentUnderTest) -> None:
    """Each has its own result, and each task is found."""
    tasks = await asyncio.gather(
        *(agent.call("math.add", {"a": number, "b": 0}) for number in range(100))
    )
    assert [read_data(task)["total"] for task in tasks] == list(range(100))
    assert len({task["id"] for task in tasks}) == 100
    found = await agent.rpc("tasks/get", {"id": tasks[7]["id"]})
    assert found["result"] == tasks[7]
    assert (await agent.rpc("tasks/get", {"id": "gone"}))["error"]["code"] == -32001


@pytest.mark.requirement("apcore", "FR-SRV-004")
async def test_a_request_that_is_none_is_refused(agent: AgentUnderTest) -> None:
    """Each kind with its own code; a body may have ten megabytes."""
    assert (
        await agent.http.post("/", content=b"{", headers={"content-type": "application/json"})
    ).json()["error"]["code"] == -32700
    assert (await agent.http.post("/", json={"jsonrpc": "2.0"})).json()["error"]["code"] == -32600
    assert (await agent.rpc("tasks/explode", {}))["error"]["code"] == -32601
    huge = await agent.http.post(
        "/", content=b" " * (10 * 1024 * 1024 + 1), headers={"content-type": "application/json"}
    )
    assert huge.status_code == 413


@pytest.mark.requirement("apcore", "FR-EXE-001")
async def test_the_whole_pipeline_runs() -> None:
    """Middleware of the executor sees each call, and may change it."""
    seen: list[str] = []

    class Watch(apcore.Middleware):  # type: ignore[misc]  # the framework has no types
        def before(self, module_id: str, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
            del context
            seen.append(module_id)
            return {**inputs, "b": 40}

    executor = apcore.Executor(build_registry(math__add=Add()), middlewares=[Watch()])
    async with run_agent(executor) as agent:
        assert read_data(await agent.call("math.add", {"a": 2, "b": 0})) == {"total": 42}
    assert seen == ["math.add"]


async def test_a_value_of_another_type_is_no_executor() -> None:
    """The message says what is needed."""
    with pytest.raises(TypeError, match="Module is neither a registry nor an executor"):
        async with run_agent(Module()):
            pass

"""Tools of an official server over HTTP, in the protocol of 2026-07-28, as skills."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

import mcp_types as mt
import pytest
from integration.features.mcp.toolbox import (
    NUMBERS,
    SUM,
    Toolbox,
    agent_of,
    call,
    form,
    http_of,
    message,
    outcome,
    text,
)

from a2a_contract.errors import InvalidParamsError
from a2a_contract.v1_0 import TaskState, TaskStatusUpdateEvent
from a2a_runtime.base.caller import Caller
from a2a_runtime.errors import SkillSourceError
from a2a_runtime.features.mcp import McpSource

pytestmark = pytest.mark.anyio


async def add(_ctx: object, params: mt.CallToolRequestParams) -> mt.CallToolResult:
    """Add two numbers; the text repeats the result, as most servers do."""
    total = {"sum": (params.arguments or {})["a"] + (params.arguments or {})["b"]}
    return mt.CallToolResult(content=[mt.TextContent(text=str(total))], structured_content=total)


@pytest.fixture
async def toolbox() -> AsyncGenerator[Toolbox]:
    """A server with one tool."""
    toolbox = Toolbox()
    hints = mt.ToolAnnotations(read_only_hint=True, title="Adder")
    toolbox.add(
        "add", add, description="Adds.", input_schema=NUMBERS, output_schema=SUM, annotations=hints
    )
    async with toolbox.serve():
        yield toolbox


async def test_the_card_has_what_the_server_lists(toolbox: Toolbox) -> None:
    """Names, descriptions, annotations and schemas, from all pages of the list."""
    toolbox.add("plain", lambda *_: asyncio.sleep(0, text("hi")), title="Plain tool")
    async with http_of(McpSource(toolbox.url)) as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
        assert [(skill["id"], skill["name"], skill["description"]) for skill in card["skills"]] == [
            ("add", "Adder", "Adds."),
            ("plain", "Plain tool", "Plain tool"),
        ]
        assert card["skills"][0]["extensions"]["mcp"]["annotations"] == {
            "readOnlyHint": True,
            "title": "Adder",
        }
        assert (await http.get("/schemas/add/input.json")).json() == NUMBERS
        assert (await http.post("/skills/add", json={"a": 1, "b": 2})).json() == {"sum": 3}


async def test_structured_results_are_data_once(toolbox: Toolbox) -> None:
    """The text that repeats them is left out; input that does not match never reaches the
    server.
    """
    async with agent_of(McpSource(toolbox.url)) as client:
        task = await call(client, "add", {"a": 2, "b": 40})
        assert outcome(task) == ("COMPLETED", {"sum": 42})
        assert [len(each.parts) for each in task.artifacts or []] == [1]
        with pytest.raises(InvalidParamsError) as refused:
            await call(client, "add", {"a": "2", "b": 40})
        assert [path for path, _ in refused.value.fields] == ["message.parts[0].data.a"]
    assert toolbox.calls == ["add"]


async def test_a_result_that_does_not_match_fails_the_task(toolbox: Toolbox) -> None:
    """Its text stays in the log."""

    async def wrong(*_: object) -> mt.CallToolResult:
        return mt.CallToolResult(content=[], structured_content={"sum": "secret"})

    toolbox.add("wrong", wrong, output_schema=SUM)
    async with agent_of(McpSource(toolbox.url)) as client:
        assert outcome(await call(client, "wrong")) == (
            "FAILED",
            "The result of the tool does not match its schema",
        )


async def test_contents_are_parts(toolbox: Toolbox) -> None:
    """Texts, images, sounds, resources, and links that callers can reach; beside data too."""

    async def show(*_: object) -> mt.CallToolResult:
        contents: list[mt.ContentBlock] = [
            mt.TextContent(text="see"),
            mt.ImageContent(data="aWNvbg==", mime_type="image/png"),
            mt.AudioContent(data="dG9uZQ==", mime_type="audio/wav"),
            mt.EmbeddedResource(
                resource=mt.TextResourceContents(
                    uri="demo://notes/today.md", text="# today", mime_type="text/markdown"
                )
            ),
            mt.EmbeddedResource(
                resource=mt.BlobResourceContents(uri="demo://data", blob="Ynl0ZXM=")
            ),
            mt.ResourceLink(
                uri="https://example.com/a.pdf", name="a.pdf", mime_type="application/pdf"
            ),
        ]
        return mt.CallToolResult(content=contents)

    toolbox.add("show", show)
    async with agent_of(McpSource(toolbox.url)) as client:
        # There is one artifact.
        parts = (await call(client, "show")).artifacts[0].parts  # type: ignore[index]
    assert [(part.text, part.raw, part.url, part.media_type, part.filename) for part in parts] == [
        ("see", None, None, None, None),
        (None, b"icon", None, "image/png", None),
        (None, b"tone", None, "audio/wav", None),
        ("# today", None, None, "text/markdown", "today.md"),
        (None, b"bytes", None, "application/octet-stream", "data"),
        (None, None, "https://example.com/a.pdf", "application/pdf", "a.pdf"),
    ]


async def test_errors_of_tools_fail_their_tasks(toolbox: Toolbox) -> None:
    """With the text that the server has for them; exceptions are masked by the server itself."""

    async def refuse(*_: object) -> mt.CallToolResult:
        return mt.CallToolResult(is_error=True, content=[mt.TextContent(text="No such file")])

    async def crash(*_: object) -> mt.CallToolResult:
        raise ValueError("secret")

    toolbox.add("refuse", refuse)
    toolbox.add("crash", crash)
    async with agent_of(McpSource(toolbox.url)) as client:
        assert outcome(await call(client, "refuse")) == ("FAILED", "No such file")
        assert outcome(await call(client, "crash")) == ("FAILED", "Internal server error")


async def test_progress_is_status(toolbox: Toolbox) -> None:
    """A fraction if the server has a total, and its words."""
    reported = asyncio.Event()

    async def work(ctx: Any, _params: object) -> mt.CallToolResult:  # noqa: ANN401 - of the library
        await ctx.session.report_progress(1, 4, "a quarter")
        await reported.wait()
        return text("done")

    toolbox.add("work", work)
    async with agent_of(McpSource(toolbox.url)) as client:
        seen = []
        async for event in client.stream(message("work")):
            if isinstance(event, TaskStatusUpdateEvent) and event.status.message:
                seen.append(
                    ((event.metadata or {}).get("progress"), event.status.message.parts[0].text)
                )
                reported.set()
    assert seen == [(0.25, "a quarter")]


async def test_a_canceled_task_cancels_the_call(toolbox: Toolbox) -> None:
    """The tool is interrupted at the server."""
    begun = asyncio.Event()
    cancelled = asyncio.Event()

    async def wait(*_: object) -> mt.CallToolResult:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    toolbox.add("wait", wait)
    async with agent_of(McpSource(toolbox.url)) as client, asyncio.timeout(30):
        sending = asyncio.create_task(call(client, "wait"))
        await begun.wait()
        (task,) = [each async for each in client.list()]
        assert (await client.cancel(task.id)).status.state is TaskState.CANCELED
        await cancelled.wait()
        assert (await sending).status.state is TaskState.CANCELED


async def book(
    _ctx: object, params: mt.CallToolRequestParams
) -> mt.CallToolResult | mt.InputRequiredResult:
    """Ask for a day and a name at once, then for a confirmation."""
    if params.request_state is None:
        questions = {"day": form(day={"type": "string"}), "seats": form(seats={"type": "integer"})}
        return mt.InputRequiredResult(input_requests=questions, request_state="asked")
    answers = {
        name: each.content
        for name, each in (params.input_responses or {}).items()
        if isinstance(each, mt.ElicitResult)
    }
    if params.request_state == "asked":
        return mt.InputRequiredResult(
            input_requests={"sure": form(sure={"type": "boolean"})},
            request_state=f"{answers['day']} {answers['seats']}",
        )
    return text(f"{params.request_state} {answers['sure']}")


async def test_questions_are_durable(toolbox: Toolbox) -> None:
    """Each is a question to the caller; the call is repeated with the answers and the state that
    the server has given, also by another process.
    """
    toolbox.add("book", book)
    async with agent_of(McpSource(toolbox.url)) as client:
        task = await call(client, "book")
        assert outcome(task) == ("INPUT_REQUIRED", "Please give day")
        task = await call(client, "book", "monday", task)
        assert outcome(task) == ("INPUT_REQUIRED", "Please give seats")
        assert toolbox.calls == ["book"]
        with pytest.raises(InvalidParamsError):
            await call(client, "book", {"seats": "two"}, task)
        task = await call(client, "book", {"seats": 2}, task)
        assert outcome(task) == ("INPUT_REQUIRED", "Please give sure")
        task = await call(client, "book", {"sure": True}, task)
        assert outcome(task) == ("COMPLETED", "{'day': 'monday'} {'seats': 2} {'sure': True}")
    assert toolbox.calls == ["book"] * 3


async def test_a_caller_may_decline(toolbox: Toolbox) -> None:
    """The server reads that, and decides."""

    async def sign(
        _ctx: object, params: mt.CallToolRequestParams
    ) -> mt.CallToolResult | mt.InputRequiredResult:
        if not params.input_responses:
            return mt.InputRequiredResult(
                input_requests={"q": form(name={"type": "string"})}, request_state="1"
            )
        (answer,) = params.input_responses.values()
        assert isinstance(answer, mt.ElicitResult)
        return text(f"{answer.action} {answer.content}")

    toolbox.add("sign", sign)
    async with agent_of(McpSource(toolbox.url)) as client:
        for said, read in (
            ("decline", "decline None"),
            ("cancel", "cancel None"),
            ({"name": "Ada"}, "accept {'name': 'Ada'}"),
        ):
            assert outcome(await call(client, "sign", said, await call(client, "sign"))) == (
                "COMPLETED",
                read,
            )


async def test_the_list_changes_while_the_agent_runs(toolbox: Toolbox) -> None:
    """The server announces it; a list that cannot be offered leaves the last one in place."""
    async with http_of(McpSource(toolbox.url)) as http, asyncio.timeout(30):

        async def skills() -> list[str]:
            return [
                each["id"]
                for each in (await http.get("/.well-known/agent-card.json")).json()["skills"]
            ]

        toolbox.add("new", lambda *_: asyncio.sleep(0, text("hi")))
        while await skills() != ["add", "new"]:
            await toolbox.announce()  # the subscription may not have begun
            await asyncio.sleep(0.01)


async def test_headers_know_the_caller(toolbox: Toolbox) -> None:
    """A function makes them for each call."""

    async def headers(
        ctx: Any,  # noqa: ANN401 - of the library
        _params: object,
    ) -> mt.CallToolResult:
        return text(ctx.request.headers.get("x-caller"))

    toolbox.add("whoami", headers)

    def name(caller: Caller | None) -> dict[str, str]:
        return {"x-caller": "nobody" if caller is None else f"caller {caller.subject!r}"}

    async with agent_of(McpSource(toolbox.url, headers=name)) as client:
        assert outcome(await call(client, "whoami")) == ("COMPLETED", "caller ''")


async def test_the_trace_of_a_request_goes_on(toolbox: Toolbox) -> None:
    """Its id is in the metadata of the call."""

    async def show(ctx: Any, _params: object) -> mt.CallToolResult:  # noqa: ANN401 - of the library
        return text((ctx.meta or {}).get("traceparent"))

    toolbox.add("trace", show)
    async with http_of(McpSource(toolbox.url)) as http:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        answer = await http.post("/skills/trace", json={}, headers={"traceparent": trace})
        assert answer.json().split("-")[1] == trace.split("-")[1]


async def test_a_restarted_server_is_found_again() -> None:
    """A call in flight ends with an unknown outcome, or is repeated if that does no harm; later
    ones work as soon as the server is back.
    """
    toolbox = Toolbox()
    begun = asyncio.Semaphore(0)

    async def wait(*_: object) -> mt.CallToolResult:
        begun.release()
        if toolbox.calls.count("wait-again") < 2:
            await asyncio.Event().wait()
        return text("done")

    toolbox.add("wait", wait)
    toolbox.add("wait-again", wait, annotations=mt.ToolAnnotations(idempotent_hint=True))
    async with AsyncExitStack() as stack, asyncio.timeout(30):
        async with toolbox.serve():
            client = await stack.enter_async_context(agent_of(McpSource(toolbox.url)))
            calls = [asyncio.create_task(call(client, name)) for name in ("wait", "wait-again")]
            await begun.acquire()
            await begun.acquire()
        async with toolbox.serve():
            lost, repeated = await asyncio.gather(*calls)
            state, reason = outcome(lost)
            assert (state, str(reason).split(":")[0]) == ("FAILED", "Outcome unknown")
            assert outcome(repeated) == ("COMPLETED", "done")
        async with toolbox.serve():
            assert outcome(await call(client, "wait")) == ("COMPLETED", "done")


async def test_servers_that_cannot_be_used_stop_the_start(toolbox: Toolbox) -> None:
    """Each message names the server, the reason and the cure."""
    toolbox.add(
        "bad",
        lambda *_: asyncio.sleep(0, text("")),
        input_schema={"type": "object", "properties": {"a": {"type": "nonsense"}}},
    )
    for source, problem in (
        (
            McpSource("http://127.0.0.1:9/mcp"),
            "cannot be reached: .*; start it, or correct its command or URL",
        ),
        (
            McpSource("no-such-command --stdio"),
            r"MCP server 'no-such-command --stdio': cannot be reached: .*no-such-command",
        ),
        (McpSource(["false"]), "cannot be reached: Connection closed"),
        (McpSource(toolbox.url, include=["ad"]), "it has no tool ad; its tools: add, bad"),
        (McpSource(toolbox.url), "skill 'bad': its input schema cannot be used"),
    ):
        with pytest.RaisesGroup(
            pytest.RaisesExc(SkillSourceError, match=problem),
            flatten_subgroups=True,
            allow_unwrapped=True,
        ):
            async with agent_of(source):
                pass
    sources = [McpSource(toolbox.url, include=["add"]) for _ in range(2)]
    twice = pytest.RaisesExc(SkillSourceError, match="two skills 'add'; rename one of them")
    with pytest.RaisesGroup(twice, flatten_subgroups=True, allow_unwrapped=True):
        async with agent_of(*sources):
            pass
    async with agent_of(
        sources[0], McpSource(toolbox.url, exclude=["bad"], prefix="second.")
    ) as client:
        assert outcome(await call(client, "second.add", {"a": 1, "b": 1})) == (
            "COMPLETED",
            {"sum": 2},
        )


@pytest.mark.parametrize(
    ("words", "options", "problem"),
    [
        ("", {}, "no server; pass a command"),
        ("http://x/mcp", {"env": {"A": "b"}}, "env is for a command"),
        ("node server.js", {"headers": {"a": "b"}}, "headers are for a URL"),
    ],
)
def test_wrong_options_are_refused(words: str, options: dict[str, Any], problem: str) -> None:
    """Invalid options raise an error before anything is started."""
    with pytest.raises(ValueError, match=problem):
        McpSource(words, **options)
    with pytest.raises(TypeError, match="unknown option heders; known: env, headers"):
        McpSource("node", heders={})  # type: ignore[call-arg]  # misspelt

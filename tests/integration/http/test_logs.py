"""Logs: one format, the request and the trace in each line, the access log, and nothing secret."""

from __future__ import annotations

import io
import json
import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.base.logs import JSON_FORMAT, TEXT_FORMAT, add_origin, build_formatter
from a2a_runtime.base.origin import HEADERS, Origin
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.http.access_log import AccessLog
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.ports import find_free_port

pytestmark = pytest.mark.anyio

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE_ID = TRACE[3:35]
log = logging.getLogger("handler")


@pytest.fixture
def output(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """The log, in the format of the test."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(build_formatter(request.param))
    loggers = [logging.getLogger(name) for name in ("handler", "a2a_runtime")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.setLevel("INFO")
    yield stream
    for each, level in zip(loggers, levels, strict=True):
        each.removeHandler(handler)
        each.setLevel(level)


def build_agent() -> Agent:
    """Build an agent whose handlers log, in a task, in a thread and without a task."""
    agent = Agent("logging")

    async def say(_ctx: TaskContext) -> str:
        log.info("at work", extra={"answer": 42})
        return "done"

    def block(_ctx: TaskContext) -> str:
        log.info("in a thread")
        return "done"

    async def reply(_ctx: Context) -> str:
        log.info("without a task\nforged 2026 INFO line")
        raise ValueError("secret text")

    agent.add("say", say)
    agent.add("block", block)
    agent.add("reply", reply, answers="message")
    return agent


async def send(skill: str, **headers: str) -> int:
    """Send a message to a skill, behind the access log."""
    app = create_app(build_agent(), settings=FAST_SETTINGS)
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
    async with (
        app.lifespan(),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(AccessLog(app)), base_url="http://test"
        ) as client,
    ):
        sent = {"message": message, "metadata": {"skillId": skill}}
        return (
            await client.post(
                "/message:send?token=hush", json=sent, headers={"a2a-version": "1.0", **headers}
            )
        ).status_code


def find_lines(output: io.StringIO, text: str) -> list[dict[str, object]]:
    """Find the lines of JSON with a text; every line is JSON."""
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    return [line for line in lines if text in line["message"]]


@pytest.mark.parametrize("output", [JSON_FORMAT], indirect=True)
@pytest.mark.parametrize(
    ("skill", "text"), [("say", "at work"), ("block", "in a thread"), ("reply", "without a task")]
)
async def test_each_line_names_the_request_and_the_trace_of_its_client(
    output: io.StringIO, skill: str, text: str
) -> None:
    """In the handler, also in its thread, and in the access log."""
    await send(skill, **{"x-request-id": "r-1", "traceparent": TRACE})
    for each in (text, "POST /message:send"):
        (line,) = find_lines(output, each)
        assert (line["request_id"], line["trace_id"]) == ("r-1", TRACE_ID)


@pytest.mark.parametrize("output", [JSON_FORMAT], indirect=True)
async def test_without_a_client_that_names_them_they_are_made(output: io.StringIO) -> None:
    """One id for all lines of a request, another one for the next; ids that could forge a line
    count as none.
    """
    await send("say")
    await send("say", **{"x-request-id": "two words", "traceparent": "00-0-0-00"})
    first, second = find_lines(output, "at work")
    done = find_lines(output, "POST /message:send")
    assert [line["request_id"] for line in (first, second)] == [line["request_id"] for line in done]
    assert first["request_id"] != second["request_id"]
    assert all(len(str(line["trace_id"])) == 32 for line in (first, second))
    assert first["answer"] == 42
    assert first.keys() == {
        "time",
        "level",
        "logger",
        "message",
        "answer",
        "request_id",
        "trace_id",
    }


@pytest.mark.parametrize("output", [JSON_FORMAT], indirect=True)
async def test_the_access_log_has_no_query_and_names_the_operation(output: io.StringIO) -> None:
    """Method, path, status, duration, operation and client."""
    await send("reply")
    (line,) = find_lines(output, "POST /message:send")
    assert {
        name: line[name] for name in ("method", "path", "status", "operation", "client", "logger")
    } == {
        "method": "POST",
        "path": "/message:send",
        "status": 502,
        "operation": "SendMessage",
        "client": "127.0.0.1",
        "logger": "a2a_runtime.access",
    }
    assert "hush" not in output.getvalue()
    (failed,) = find_lines(output, "handler failed")
    assert str(failed["exception"]).endswith("ValueError: secret text")


@pytest.mark.parametrize("output", [TEXT_FORMAT], indirect=True)
async def test_a_line_of_text_cannot_be_forged(output: io.StringIO) -> None:
    """The ids stand in brackets; a line break in a message is escaped."""
    await send("reply", **{"x-request-id": "r-1", "traceparent": TRACE})
    (line,) = [line for line in output.getvalue().splitlines() if "without a task" in line]
    assert f"INFO [r-1 {TRACE_ID}] handler: without a task\\nforged" in line


def test_calls_of_a_handler_pass_the_ids_on() -> None:
    """So that agents of a chain share them; a made request id is passed on too, a trace only if
    there is one.
    """
    given = Origin.parse(
        {b"x-request-id": b"r-1", b"traceparent": TRACE.encode(), b"tracestate": b"a=1"}
    )
    headers = given.to_headers(is_message=False, now_millis=0, is_waiting=False)
    assert headers == {"x-request-id": "r-1", "traceparent": TRACE, "tracestate": "a=1"}
    made = Origin()
    assert made.to_headers(is_message=False, now_millis=0, is_waiting=False) == {
        "x-request-id": made.request_id
    }
    assert {name.encode() for name in headers} <= HEADERS


def test_a_handler_of_a_host_may_add_the_ids() -> None:
    """``add_origin`` is a filter; outside of a request both are empty."""
    record = logging.makeLogRecord({"msg": "x"})
    assert add_origin(record)
    assert (vars(record)["request_id"], vars(record)["trace_id"]) == ("", "")


AGENT = """
import logging
from a2a_runtime import Agent, create_app

agent = Agent("served")

@agent.skill("say")
async def say(ctx):
    logging.getLogger("a2a_runtime.mine").info("at work")
    return ctx.text

app = create_app(agent)
"""


@pytest.mark.parametrize(
    ("words", "is_logged"), [((), True), (("--no-access-log",), False)], ids=["access log", "none"]
)
def test_a_process_logs_in_one_format(
    tmp_path: Path,
    words: tuple[str, ...],
    is_logged: bool,  # noqa: FBT001 - of the parameters
) -> None:
    """Every line of ``a2a-gen serve --log-format json`` is JSON: of the server, of the runtime, and
    of requests unless they are not wanted.
    """
    (tmp_path / "served.py").write_text(AGENT)
    port = find_free_port()
    command = [
        sys.executable,
        "-m",
        "a2a_gen",
        "serve",
        "served:app",
        "--port",
        str(port),
        "--log-format",
        "json",
        *words,
    ]
    server = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}
        wait_for_port(port, server)
        url = f"http://127.0.0.1:{port}/message:send?key=hush"
        headers = {"x-request-id": "r-1", "a2a-version": "1.0"}
        assert httpx.post(url, json=body, headers=headers, trust_env=False).status_code == 200
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=60)
    lines = [json.loads(line) for line in output.splitlines()]
    assert {"a2a_runtime.mine", "uvicorn.error"} <= {line["logger"] for line in lines}
    accessed = [line for line in lines if line["logger"] == "a2a_runtime.access"]
    assert [line["request_id"] for line in accessed] == (["r-1"] if is_logged else [])
    assert "hush" not in output


def wait_for_port(port: int, server: subprocess.Popen[str]) -> None:
    """Wait until a server listens."""
    deadline = time.monotonic() + 60
    while True:
        assert server.poll() is None, server.communicate()[0]
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return

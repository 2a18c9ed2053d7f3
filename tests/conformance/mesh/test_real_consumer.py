"""The consumer of mcp-mesh 3.8.0, as PyPI has it, takes this producer for one of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from peers.environments import interpreter

pytestmark = pytest.mark.peer

DISTRIBUTION = "mcp-mesh-3.8.0"
SCRIPT = Path(__file__).parents[2] / "peers" / "mesh_consumer.py"

Do = Callable[..., Any]


@pytest.fixture(scope="module")
def do(client: httpx.Client) -> Iterator[Do]:
    """Have the consumer do something."""
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    command = [str(interpreter(DISTRIBUTION)), str(SCRIPT), str(client.base_url).rstrip("/")]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        pipe_in = process.stdin
        pipe_out = process.stdout
        assert pipe_in is not None
        assert pipe_out is not None

        def ask(
            what: str,
            path: str,
            text: object = "",
            token: str | None = None,
        ) -> Any:  # noqa: ANN401 - whatever the consumer says
            said = text if isinstance(text, str) else json.dumps(text)
            pipe_in.write(json.dumps([what, path, said, token]) + "\n")
            pipe_in.flush()
            reply = json.loads(pipe_out.readline())
            if "result" in reply:
                return reply["result"]
            return (reply["raised"], reply["text"])

        yield ask
        pipe_in.close()
        process.wait(10)


STEPS = [[[0.25, "a"], [0.5, "b"]], "done"]
REPORT = {"pages": 3}


@pytest.mark.requirement("mesh", "S2")
def test_it_sends(do: Do) -> None:
    """A text comes back, a value comes back as JSON, and a failure is told."""
    assert do("send", "/agents/echo", "hello") == ["completed", "hello"]
    assert do("send", "/agents/values", "object") == ["completed", '{"a": 1, "b": [true, null]}']
    assert do("send", "/agents/fails") == ["failed", ""]
    assert do("send", "/agents/report", STEPS) == ["completed", json.dumps(REPORT)]
    assert do("send", "/agents/echo/", "with a slash") == ["completed", "with a slash"]


@pytest.mark.requirement("mesh", "S3")
def test_it_submits_and_waits(do: Do) -> None:
    """Work that goes on is waited for, and its progress is mirrored."""
    assert do("submit", "/agents/report", STEPS) == ["working", "completed", json.dumps(REPORT)]
    assert do("submit", "/agents/echo", "quick") == ["completed", "completed", "quick"]
    value, progress = do("bridge", "/agents/report", [[[0.25, "a"]] * 6, "done"])
    assert value == REPORT
    assert [0.25, "a"] in progress
    assert do("bridge", "/agents/report", [[], "fail"]) == ("A2AJobFailed", "No coffee left")
    assert do("submit", "/agents/at-once", "tea") == ["working", "completed", "tea"]


@pytest.mark.requirement("mesh", "E7")
def test_it_subscribes(do: Do) -> None:
    """Events arrive as they are sent, the artifact before the end."""
    assert do("subscribe", "/agents/echo", "hello") == [
        ["artifact", None, None, None, "hello", False],
        ["status", "completed", None, None, None, True],
    ]
    assert do("subscribe", "/agents/report", STEPS) == [
        ["status", "working", None, None, None, False],
        ["status", "working", 0.25, "a", None, False],
        ["status", "working", 0.5, "b", None, False],
        ["artifact", None, None, None, json.dumps(REPORT), False],
        ["status", "completed", None, None, None, True],
    ]
    assert do("subscribe", "/agents/fails") == [
        ["status", "failed", None, "Topic required", None, True]
    ]
    assert do("bridge_stream", "/agents/report", STEPS) == [REPORT, [[0.25, "a"], [0.5, "b"]]]
    assert do("bridge_stream", "/agents/values", "lines") == [
        "one\u2028two\u2029three\u0085four",
        [],
    ]


@pytest.mark.requirement("mesh", "X3")
def test_it_cancels(do: Do) -> None:
    """A task that is canceled, twice, is."""
    assert do("cancel", "/agents/report", [[], "forever"]) == ["working", "canceled"]


@pytest.mark.requirement("mesh", "S6")
def test_a_duplicate_id_is_an_error(do: Do) -> None:
    """A taken id is an error of a send, and a failed task in a stream."""
    text = "A2A task id dup-x is already in use"
    assert do("duplicate", "/agents/echo", "x") == [f"-32602 {text}", [["failed", text, True]]]


@pytest.mark.requirement("mesh", "A4")
def test_it_brings_its_token(do: Do) -> None:
    """A token opens a guarded surface; without one the consumer is refused."""
    assert do("send", "/agents/guarded", "hello", "junk") == ["completed", "hello"]
    assert do("send", "/agents/guarded", "hello")[0] == "HTTPStatusError"
    assert do("subscribe", "/agents/guarded", "hello")[0] == "HTTPStatusError"

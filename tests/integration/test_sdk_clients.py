"""Clients of the official SDKs and our agent, on a real socket: everything that each can do, over
every transport that it has.

A client runs once for each way of talking, in an environment and a process of its own, and finds
its way from the card. Each test looks at one step.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from conformance.agent import app_under_test
from integration.outcome_agent import serve_on_socket
from peers.environments import interpreter

pytestmark = pytest.mark.peer

SCRIPTS = Path(__file__).parents[1] / "peers"
TURNS = ["hi", "What?", "yes"]
DONE = {"state": "completed", "artifacts": ["You said yes"], "history": TURNS}
HELLO = {"state": "completed", "artifacts": ["hello"], "history": ["hello"]}
HOOK = "https://hooks.example.org/a2a"
SENT = [
    {"text": "t"},
    {"data": {"n": [1, None, {"deep": True}], "text": "ü\u2028"}},
    {"raw": "AP8=", "filename": "f.bin"},
    {"url": "https://example.org/f", "mediaType": "image/png"},
]

COMMON: Mapping[str, object] = {
    "card": {"name": "busy", "streaming": True, "skills": True},
    "send": HELLO,
    "answer": ["Hello, Ada!"],
    "contents": SENT,
    "stream": {"first": "task", "chunks": ["0", "1", "2"], "last": "completed"},
    "stream_answer": ["message"],
    "get": {"task": HELLO, "short": []},
    "list_tasks": {"pages": [["c", "b"], ["a"]], "total": 3, "token": ""},
    "cancel": {"state": "canceled", "again": "not cancelable"},
    "subscribe": {"first": "task", "last": "completed", "ended": "unsupported"},
    "conversation": {"asked": "What?", "before": "input-required", "after": DONE},
    "question": {"first": "task", "last": "input-required"},
    "push": {"made": HOOK, "read": ["p-1", HOOK], "listed": ["p-1"], "gone": "not found"},
    "extended_card": True,
    "unknown": ["not found"] * 3,
    "failure": {"state": "failed", "told": False},
    "invalid": "InvalidParamsError",
}
"""The expected result of each step, for every client."""

TYPED = {
    "not cancelable": "TaskNotCancelableError",
    "unsupported": "UnsupportedOperationError",
    "not found": "TaskNotFoundError",
}
CALLS_03 = dict.fromkeys(TYPED, "A2AClientJSONRPCError")


UNTYPED = "Error"
"""The SDK for JavaScript has no types for the errors of streams of 0.3 over JSON-RPC; their texts
name the codes.
"""


def prefix_errors(prefix: str) -> Mapping[str, str]:
    """Name errors as the SDK for JavaScript does in one of its transports."""
    return {name: prefix + error for name, error in TYPED.items()}


@dataclass(frozen=True)
class Way:
    """A client and how it talks, what it calls the errors that it gets, and what it lacks."""

    distribution: str
    script: str
    arguments: tuple[str, ...]
    errors: Mapping[str, str]
    lacks: frozenset[str] = frozenset({"question"})
    differs: Mapping[str, object] = field(default_factory=dict)


NO_LIST = frozenset({"list_tasks", "invalid"})
NO_ZERO = {"get": {"short": ["hello"]}}
"""Messages of 0.3 cannot tell a history of length 0 from one of any length."""
WAYS = {
    "1.3.0 as 1.0 over JSON-RPC": Way("a2a-sdk-1.3.0", "client_1_0.py", ("JSONRPC", "1.0"), TYPED),
    "1.3.0 as 1.0 over HTTP+JSON": Way(
        "a2a-sdk-1.3.0", "client_1_0.py", ("HTTP+JSON", "1.0"), TYPED
    ),
    "1.3.0 as 0.3 over JSON-RPC": Way(
        "a2a-sdk-1.3.0", "client_1_0.py", ("JSONRPC", "0.3"), TYPED, NO_LIST | {"question"}
    ),
    "1.3.0 as 0.3 over HTTP+JSON": Way(
        "a2a-sdk-1.3.0",
        "client_1_0.py",
        ("HTTP+JSON", "0.3"),
        {
            "not cancelable": "A2AClientError",
            "unsupported": "A2AClientError",
            "not found": "MethodNotFoundError",
        },
        NO_LIST | {"question", "push"},  # it refuses to list webhooks there before it asks
    ),
    "0.3.26 over JSON-RPC": Way(
        "a2a-sdk-0.3.26",
        "client_0_3.py",
        ("JSONRPC",),
        CALLS_03,
        NO_LIST,
    ),
    "0.3.26 over HTTP+JSON": Way(
        "a2a-sdk-0.3.26",
        "client_0_3.py",
        ("HTTP+JSON",),
        dict.fromkeys(TYPED, "A2AClientHTTPError"),
        NO_LIST,
    ),
    "1.3.0 as 1.0 over gRPC": Way("a2a-sdk-1.3.0", "client_1_0.py", ("GRPC", "1.0"), TYPED),
    "1.3.0 as 0.3 over gRPC": Way(
        "a2a-sdk-1.3.0", "client_1_0.py", ("GRPC", "0.3"), TYPED, NO_LIST | {"question"}, NO_ZERO
    ),
    "0.3.26 over gRPC": Way(
        "a2a-sdk-0.3.26",
        "client_0_3.py",
        ("GRPC",),
        dict.fromkeys(TYPED, "AioRpcError"),
        NO_LIST,
        NO_ZERO,
    ),
    "JS 1.3.0 as 1.0 over JSON-RPC": Way(
        "a2a-js-1.3.0",
        "client_js_1_0.mjs",
        ("JSONRPC", "1.0"),
        prefix_errors("JsonRpc"),
        frozenset({"invalid"}),
    ),
    "JS 1.3.0 as 1.0 over HTTP+JSON": Way(
        "a2a-js-1.3.0",
        "client_js_1_0.mjs",
        ("HTTP+JSON", "1.0"),
        prefix_errors("Rest"),
        frozenset({"invalid"}),
    ),
    "JS 1.3.0 as 0.3 over JSON-RPC": Way(
        "a2a-js-1.3.0",
        "client_js_1_0.mjs",
        ("JSONRPC", "0.3"),
        prefix_errors("JsonRpc"),
        NO_LIST,
        {"unknown": [*["JsonRpcTaskNotFoundError"] * 2, UNTYPED], "subscribe": {"ended": UNTYPED}},
    ),
    "JS 1.3.0 as 0.3 over HTTP+JSON": Way(
        "a2a-js-1.3.0",
        "client_js_1_0.mjs",
        ("HTTP+JSON", "0.3"),
        TYPED,
        NO_LIST,
        {"contents": [SENT[0], SENT[1], {"raw": "AP8="}, SENT[3]]},  # it loses the names of files
    ),
    "JS 0.3.14 over JSON-RPC": Way(
        "a2a-js-0.3.14",
        "client_js_0_3.mjs",
        ("JSONRPC",),
        {name: error.replace("Error", "JSONRPCError") for name, error in TYPED.items()},
        NO_LIST,
        {"unknown": [*["TaskNotFoundJSONRPCError"] * 2, UNTYPED], "subscribe": {"ended": UNTYPED}},
    ),
    "JS 0.3.14 over HTTP+JSON": Way(
        "a2a-js-0.3.14", "client_js_0_3.mjs", ("HTTP+JSON",), TYPED, NO_LIST
    ),
}
STEPS = [
    pytest.param(way, step, id=f"{name}-{step}")
    for name, way in WAYS.items()
    for step in COMMON
    if step not in way.lacks
]


def build_expectation(way: Way, step: str) -> object:
    """Say what is to come of a step, in the client's own names for errors, and without what its SDK
    does not tell.
    """
    outcome = rename_errors(COMMON[step], way.errors)
    different = way.differs.get(step)
    if isinstance(outcome, dict) and isinstance(different, dict):
        return {**outcome, **different}
    if different is None:
        return outcome
    return different


def rename_errors(value: object, names: Mapping[str, str]) -> object:
    """Replace the names of errors by those of the client."""
    match value:
        case dict():
            return {key: rename_errors(each, names) for key, each in value.items()}
        case list():
            return [rename_errors(each, names) for each in value]
        case str():
            return names.get(value, value)
        case _:
            return value


@pytest.fixture(
    scope="module",
    params=[pytest.param("memory", marks=pytest.mark.soak(share="frameworks")), "sqlite"],
)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the agent, on a store in a file; in a soak on the one in memory too."""
    store = (
        "memory"
        if request.param == "memory"
        else f"sqlite:///{tmp_path_factory.mktemp('sdk')}/tasks.db"
    )
    with serve_on_socket(app_under_test(store)) as client:
        yield str(client.base_url)


@cache
def outcomes(
    url: str, distribution: str, script: str, arguments: tuple[str, ...]
) -> Mapping[str, object]:
    """Let a client take all of its steps."""
    command = [str(interpreter(distribution)), str(SCRIPTS / script), url, *arguments]
    if script.endswith(".mjs"):
        command = [
            "node",
            str(SCRIPTS / script),
            str(interpreter(distribution).parent),
            url,
            *arguments,
        ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]  # what the script prints


@pytest.mark.parametrize(("way", "step"), STEPS)
def test_results_of_official_sdk_clients(url: str, way: Way, step: str) -> None:
    """Every step of a client has the result that every other client gets."""
    came = outcomes(url, way.distribution, way.script, way.arguments)[step]
    wanted = build_expectation(way, step)
    if isinstance(came, dict) and isinstance(wanted, dict) and "error" not in came:
        assert came.pop("final", True) is True
        wanted = {key: value for key, value in wanted.items() if key != "listed" or key in came}
    assert came == wanted

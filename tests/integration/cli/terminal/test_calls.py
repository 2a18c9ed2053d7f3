"""`a2a-gen call`, `stream`, `tasks` and `card show` with our own agent on a socket, in every
dialect and over every binding.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import BlockingHandler, build_test_agent, serve_on_socket

from a2a_contract.v1_0 import Artifact, Part
from a2a_gen.entry import main
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate, PresenceGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202egpj.exe\u2066\u200b\x9b31m\rfake\x7f\U000e0041\ttab\nline"
SAFE = (
    "\\u001b]0;owned\\u0007\\u001b[2J\\u202egpj.exe\\u2066\\u200b"
    "\\u009b31m\\u000dfake\\u007f\\udb40\\udc41\ttab\nline"
)
KEY = "k" * 40
WAITING = BlockingHandler()


async def hostile(_ctx: TaskContext) -> Artifact:
    """Send what steers terminals, in a text, in data and in the name of a file."""
    name = "../../\x1b[31m.bashrc"
    parts = [
        Part(text=HOSTILE),
        Part(data={"x": HOSTILE}),
        Part(raw=b"rm -rf", filename=name, media_type="\x1b[m"),
    ]
    return Artifact(artifact_id="a", parts=parts)


async def insider(_ctx: TaskContext) -> str:
    """Do what only callers see."""
    return "done"


async def reject(ctx: TaskContext) -> None:
    """Reject."""
    await ctx.reject(HOSTILE)


async def double(ctx: TaskContext) -> dict[str, object]:
    """Return data."""
    part = ctx.message.parts[0]
    return {"twice": [part.data, part.data]}


async def size(ctx: TaskContext) -> str:
    """Tell the name, type and size of a file."""
    part = next(each for each in ctx.message.parts if each.raw is not None)
    return f"{part.filename} {part.media_type} {len(part.raw or b'')}"


@pytest.fixture(scope="module")
def grpc_address() -> str:
    """The address of the gRPC port."""
    return find_free_address()


@pytest.fixture(scope="module")
def url(grpc_address: str) -> Iterator[str]:
    """The URL of an agent over all three bindings."""
    agent = build_test_agent(WAITING)
    for handler in (hostile, reject):
        agent.add(handler.__name__, handler)
    agent.add(
        "double", double, input_modes=("application/json",), output_modes=("application/json",)
    )
    agent.add("size", size, input_modes=("*/*",))
    with serve_on_socket(
        create_app(Surface(agent, grpc=GrpcOptions(grpc_address)), settings=FAST_SETTINGS)
    ) as client:
        yield str(client.base_url).rstrip("/")


WAYS = {
    "the card decides": (),
    "1.0 JSON-RPC": ("--dialect", "1.0", "--binding", "jsonrpc"),
    "1.0 HTTP+JSON": ("--dialect", "1.0", "--binding", "http+json"),
    "1.0 gRPC": ("--dialect", "1.0", "--binding", "grpc"),
    "0.3 JSON-RPC": ("--dialect", "0.3", "--binding", "jsonrpc"),
    "0.3 HTTP+JSON": ("--dialect", "0.3", "--binding", "http+json"),
    "0.3 gRPC": ("--dialect", "0.3", "--binding", "grpc"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_results_are_printed_in_every_dialect_over_every_binding(
    url: str, way: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A task, a message and a stream give the same text, whichever way the agent is called."""
    assert main(["call", url, "echo", "two", "words", *way]) == 0
    assert main(["call", url, "greet", "Ada", *way]) == 0
    assert main(["stream", url, "count", "4", *way]) == 0
    assert capsys.readouterr() == ("two words\nHello, Ada!\n0123\n", "")


def test_an_interface_without_its_card(
    url: str, grpc_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gRPC address has no card, and --no-card reads none."""
    assert main(["call", f"grpc://{grpc_address}", "echo", "one"]) == 0
    assert main(["stream", f"grpc://{grpc_address}", "count", "3"]) == 0
    assert main(["call", url, "--no-card", "--binding", "http+json", "--auto", "two"]) == 0
    assert capsys.readouterr() == ("one\n012\ntwo\n", "")


def test_a_mesh_agent(capsys: pytest.CaptureFixture[str]) -> None:
    """A producer of a mesh is called as any other agent."""
    surface = Surface(
        build_test_agent(),
        "/agents/echo",
        dialects=frozenset({"mesh"}),
        gate=PresenceGate(),
        only=frozenset({"echo"}),
    )
    with serve_on_socket(create_app(surface, settings=FAST_SETTINGS)) as client:
        mesh_url = str(client.base_url.join("/agents/echo"))
        assert main(["call", mesh_url, "--auto", "hi", "--token", "any", "--dialect", "mesh"]) == 0
        assert main(["stream", mesh_url, "echo", "hi", "--token", "any", "--dialect", "mesh"]) == 0
        assert capsys.readouterr().out == "hi\nhi\n"
        assert main(["call", mesh_url, "--auto", "hi", "--token", "any"]) == 2
        assert "--dialect mesh" in capsys.readouterr().err


def test_data_and_files(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON and files are sent from arguments and files; files of a result are saved under new
    names, or named.
    """
    (tmp_path / "data.json").write_text('{"a": null}')
    (tmp_path / "photo.png").write_bytes(b"12345")
    assert main(["call", url, "double", "--data", f"@{tmp_path / 'data.json'}"]) == 0
    assert json.loads(capsys.readouterr().out) == {"twice": [{"a": None}] * 2}
    assert main(["call", url, "size", "--file", str(tmp_path / "photo.png")]) == 0
    assert capsys.readouterr().out == "photo.png image/png 5\n"
    for _ in range(2):
        assert (
            main(
                [
                    "call",
                    url,
                    "picture",
                    "--file",
                    str(tmp_path / "photo.png"),
                    "--output",
                    str(tmp_path),
                ]
            )
            == 0
        )
    assert [Path(line).read_bytes() for line in capsys.readouterr().out.split()] == [b"png", b"png"]
    assert main(["call", url, "picture", "--file", str(tmp_path / "photo.png")]) == 0
    assert "not saved; pass --output FOLDER" in capsys.readouterr().err
    with (tmp_path / "data.json").open() as standard_input:
        monkeypatch.setattr("sys.stdin", standard_input)
        assert main(["call", url, "echo", "-"]) == 0
    assert capsys.readouterr().out == '{"a": null}\n'


def test_json_is_that_of_the_protocol(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A call prints one object, a stream one in each line, of which the last is the whole task."""
    assert main(["call", url, "echo", "x", "--json", "--dialect", "0.3"]) == 0
    task = json.loads(capsys.readouterr().out)["task"]
    assert task["artifacts"][0]["parts"] == [{"text": "x"}]
    assert main(["stream", url, "count", "2", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {name for event in events for name in event} == {
        "task",
        "statusUpdate",
        "artifactUpdate",
    }
    assert events[-1]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_hostile_agent_does_not_steer_the_terminal(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control, bidirectional and invisible characters arrive as escapes in every output, and file
    names stay in their folder.
    """
    assert main(["call", url, "hostile", "x", "--output", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(SAFE)
    assert main(["stream", url, "hostile", "x", "--json"]) == 0
    listed = capsys.readouterr().out
    assert (
        json.loads(listed.splitlines()[-1])["task"]["artifacts"][0]["parts"][0]["text"] == HOSTILE
    )
    assert main(["call", url, "reject", "x"]) == 2
    refused = capsys.readouterr().err
    assert SAFE.replace("\\u000d", "") in refused or SAFE in refused
    (saved,) = tmp_path.iterdir()
    assert saved.name == "_[31m.bashrc"
    for output in (text, listed, refused):
        assert not {each for each in output if not each.isprintable()} - {"\n", "\t"}


def test_exit_codes_tell_the_end_of_a_task(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A failed task is 2 with its reason on stderr, and its JSON is printed all the same."""
    assert main(["call", url, "break", "x"]) == 2
    assert ": failed: " in capsys.readouterr().err
    assert main(["call", url, "break", "x", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["task"]["status"]["state"] == "TASK_STATE_FAILED"
    assert main(["stream", url, "break", "x"]) == 2
    assert main(["call", "http://127.0.0.1:9", "echo", "x"]) == 2
    assert main(["tasks", "get", url, "missing"]) == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["call", "{url}", "ecko", "x"], "'ecko' is not on the card, which has echo, count"),
        (["call", "{url}", "echo"], "nothing to send"),
        (["call", "{url}"], "SKILL: not given"),
        (["call", "nowhere", "echo", "x"], "'nowhere' is not a URL"),
        (["call", "{url}", "echo", "--data", "{"], "--data: not JSON"),
        (["call", "{url}", "echo", "--file", "/nowhere"], "/nowhere: no such file or directory"),
        (["call", "{url}", "echo", "x", "--output", "/nowhere"], "not a folder"),
        (["call", "{url}", "echo", "x", "--dialect", "9"], "'9' is not one of"),
        (["call", "{url}", "echo", "x", "--token", "@/nowhere"], "--token: /nowhere: no such file"),
        (["call", "{url}", "echo", "x", "--auth", "key"], "write NAME=@FILE"),
        (["call", "{url}", "echo", "x", "--header", "a: b\x07"], "is no header"),
        (["call", "{url}", "echo", "x", "--user", "ada"], "write USER:PASSWORD"),
        (["call", "{url}", "echo", "x", "--user", "a:b", "--token", "c"], "more than one given"),
        (["call", "{url}", "echo", "x", "--dialect", "mesh"], "fix: pass another --dialect"),
        (["tasks", "lost", "{url}"], "No such command 'lost'"),
        (["tasks", "list"], "Missing argument 'URL'"),
        (["stream", "{url}", "echo", "x", "--auth", "key="], "has no secret"),
    ],
    ids=lambda value: (
        "".join(filter(str.isalnum, " ".join(value))) if isinstance(value, list) else ""
    ),
)
def test_usage_and_configuration_end_with_one(
    url: str, words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong usage or configuration ends with 1 before anything is sent; stderr has the cure."""
    assert main([word.replace("{url}", url) for word in words]) == 1
    assert problem in capsys.readouterr().err


def test_questions_in_a_script(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers come from options; a question without one ends with 2 and the command that answers
    it.
    """
    assert main(["call", url, "ask", "go", "--answer", "blue"]) == 0
    assert capsys.readouterr().out == "You said blue\n"
    assert main(["call", url, "ask", "go"]) == 2
    error = capsys.readouterr().err
    assert "the agent asks: What?" in error
    task = error.partition("--task ")[2].split()[0]
    assert main(["call", url, "ask", "go", "--json"]) == 2
    assert (
        json.loads(capsys.readouterr().out)["task"]["status"]["state"]
        == "TASK_STATE_INPUT_REQUIRED"
    )
    assert main(["tasks", "follow", url, task]) == 2
    assert main(["call", url, "--task", task, "green"]) == 0
    assert capsys.readouterr().out == "You said green\n"


def test_the_prompt_of_a_terminal(url: str) -> None:
    """The prompt shows the question, reads the answer, and progress is shown there too."""
    reader, terminal = pty.openpty()
    command = [sys.executable, "-m", "a2a_gen", "call", url, "ask", "go"]
    process = subprocess.Popen(
        command, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, text=True
    )
    os.close(terminal)
    seen = b""
    while b"answer" not in seen:
        seen += os.read(reader, 4096)
    assert b"the agent asks: What?" in seen
    os.write(reader, b"red\n")
    output, _ = process.communicate(timeout=30)
    os.close(reader)
    assert (process.returncode, output) == (0, "You said red\n")


def test_tasks_are_listed_read_followed_and_canceled(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call that does not wait prints the id, with which the other commands go on."""
    assert main(["call", url, "wait", "long", "--no-wait"]) == 0
    task = capsys.readouterr().out.strip()
    assert main(["tasks", "list", url, "--state", "working", "--limit", "1000"]) == 0
    assert task in capsys.readouterr().out
    assert main(["tasks", "follow", url, task, "--timeout", "0.2"]) == 2
    assert "still runs after 0.2 s" in capsys.readouterr().err
    assert main(["tasks", "cancel", url, task]) == 0
    assert "canceled" in capsys.readouterr().out
    assert main(["tasks", "get", url, task, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == task
    assert main(["tasks", "follow", url, task]) == 2
    assert main(["tasks", "list", url, "--state", "canceled", "--json", "--limit", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == task


def test_the_time_of_a_call(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A call that takes longer is canceled at the agent."""
    assert main(["call", url, "wait", "too long", "--timeout", "0.5"]) == 2
    assert "took longer than 0.5 s" in capsys.readouterr().err


def test_the_card(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown for people, or as JSON; a URL may stand in place of the subcommand."""
    assert main(["card", "show", url]) == 0
    output = capsys.readouterr().out
    assert f"interface: {url}" in output
    assert "skill echo: " in output
    assert main(["card", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "busy"


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    """The URL of an agent that wants a token or a key, and has a skill that only its callers
    see.
    """
    users = BasicAuthenticator({"ada": User(hash_password("s:ecret"), Identity("ada"))})
    gate = AuthGate(ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}), users)
    agent = build_test_agent(WAITING)
    agent.add("insider", insider, only_extended=True)
    with serve_on_socket(create_app(Surface(agent, gate=gate), settings=FAST_SETTINGS)) as client:
        yield str(client.base_url).rstrip("/")


CREDENTIALS = {
    "scheme": (["--auth", f"apiKey={KEY}"], {}),
    "scheme from a file": (["--auth", "apiKey=@{key}"], {}),
    "header": (["--header", f"X-API-Key: {KEY}"], {}),
    "headers from a file": (["--header", "@{headers}"], {}),
    "headers of the environment": ([], {"A2A_CALL_HEADERS": f"X-Other: 1\nX-API-Key: {KEY}"}),
    "headers of a file in the environment": ([], {"A2A_CALL_HEADERS_FILE": "{headers}"}),
    "basic": (["--user", "ada:s:ecret"], {}),
    "basic from a file": (["--user", "@{user}"], {}),
}


@pytest.mark.parametrize(("options", "environment"), CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_credentials(
    guarded_url: str,
    options: list[str],
    environment: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From options, files and the environment, so that none has to be an argument; the card of such
    a caller has more skills.
    """
    files = {"{key}": f"{KEY}\n", "{headers}": f"X-API-Key: {KEY}\n", "{user}": "ada:s:ecret\n"}
    for name, text in files.items():
        (tmp_path / name.strip("{}")).write_text(text)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.replace("{headers}", str(tmp_path / "headers")))
    words = [word.replace("{", f"{tmp_path}/").replace("}", "") for word in options]
    assert main(["call", guarded_url, "insider", "x", *words]) == 0
    assert main(["card", "show", guarded_url, "--extended", *words]) == 0
    assert "skill insider: " in capsys.readouterr().out


def test_a_token_of_the_environment(
    guarded_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent, refused there, and in no message; without credentials the message names the
    options.
    """
    monkeypatch.setenv("A2A_CALL_TOKEN", "hidden-token")
    assert main(["call", guarded_url, "echo", "x"]) == 2
    assert main(["card", guarded_url, "--auth", "other=hidden-token"]) == 0
    assert main(["call", guarded_url, "echo", "x", "--auth", "other=hidden-token"]) == 1
    error = capsys.readouterr().err
    assert "--auth apiKey=@FILE" in error
    assert "hidden-token" not in error

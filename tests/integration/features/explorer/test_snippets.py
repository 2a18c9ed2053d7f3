"""Snippets run as they are: curl, programs with the client and with a typed client, command lines,
and the raw JSON of each dialect.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from integration.features.explorer.explorer_page import ExplorerPage, explore
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import build_test_agent, serve_on_socket
from litestar import Litestar
from report_agent.contract import make_surfaces
from report_agent.handlers import ReportAgent

from a2a_gen.entry import main
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate, PresenceGate
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

SECRET = "the-secret-of-the-visitor"  # noqa: S105 - of the test
ODD_TEXT = "it's \"odd\" $HOME `id` \\ \u00e9 'x'"
ENVIRONMENT = {**os.environ, "A2A_CALL_TOKEN": SECRET, "A2A_KEY": SECRET}


def build_app() -> Litestar:
    """Build an app: an open agent over all bindings, and two that want credentials."""
    return create_app(
        Surface(build_test_agent(), grpc=GrpcOptions(find_free_address())),
        Surface(build_test_agent(), "/bearer", gate=PresenceGate()),
        Surface(
            build_test_agent(),
            "/key",
            gate=AuthGate(ApiKeyAuthenticator({digest_key(SECRET): Identity("ada")})),
        ),
        settings=FAST_SETTINGS,
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of the app."""
    with serve_on_socket(build_app()) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def page(url: str) -> Iterator[ExplorerPage]:
    """The page of its first agent."""
    with explore(url) as page:
        yield page


def send(text: str, **members: object) -> dict[str, object]:
    """Build a request with a text."""
    return {"message": {"parts": [{"text": text}]}, **members}


def run_shell(line: str) -> str:
    """Run a line in a shell, with the variables of the placeholders."""
    done = subprocess.run(  # noqa: S602 - what a person pastes
        line, shell=True, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_program(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Run a program, in this process to be fast."""
    monkeypatch.setenv("A2A_CALL_TOKEN", SECRET)
    monkeypatch.setenv("A2A_KEY", SECRET)
    exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})  # noqa: S102 - of our own
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "credentials"),
    [("", {}), ("/bearer", {"Authorization": f"Bearer {SECRET}"}), ("/key", {"X-API-Key": SECRET})],
)
def test_programs_and_curl(
    url: str,
    path: str,
    credentials: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They send the text as it is, and have variables in the place of secrets."""
    with explore(url + path) as page:
        given = page.with_credentials(credentials) if credentials else page
        snippets = given.snippets("SendMessage", send(ODD_TEXT, metadata={"skillId": "echo"}))
    assert SECRET not in str(snippets)
    for result in (
        json.loads(run_shell(snippets["curl"]))["result"]["task"],
        json.loads(run_program(snippets["python"], capsys, monkeypatch)),
    ):
        assert result["artifacts"][0]["parts"][0]["text"] == ODD_TEXT


def test_command_lines(url: str) -> None:
    """A shell passes the text and the variables of the placeholders on as they are."""
    with explore(f"{url}/key") as page:
        line = page.with_credentials({"X-API-Key": SECRET}).snippets(
            "SendMessage", send(ODD_TEXT, metadata={"skillId": "echo"})
        )["command"]
    assert (
        run_shell(line.replace("a2a-gen", f"{shlex.quote(sys.executable)} -m a2a_gen", 1)).rstrip(
            "\n"
        )
        == ODD_TEXT
    )


def test_streams(
    page: ExplorerPage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They follow the events, in the dialect that was chosen too."""
    interface = next(
        each["id"]
        for each in page.describe()["interfaces"]
        if (each["dialect"], each["binding"]) == ("0.3", "HTTP+JSON")
    )
    for chosen in (None, interface):
        snippets = page.snippets(
            "SendStreamingMessage", send("2", metadata={"skillId": "count"}), chosen
        )
        assert run_shell(snippets["curl"]).count("data:") >= 4
        assert run_program(snippets["python"], capsys, monkeypatch).count("artifactId") == 2
        assert main(shlex.split(snippets["command"].replace("\\\n", ""))[1:]) == 0
        assert capsys.readouterr().out == "01\n"


def test_other_operations_are_programs_that_compile(page: ExplorerPage) -> None:
    """Each operation has one; those on tasks have a command line."""
    requests = {
        "GetTask": {"id": "t", "historyLength": 3},
        "ListTasks": {"contextId": "c", "pageSize": 2},
        "CancelTask": {"id": "t"},
        "CreateTaskPushNotificationConfig": {"taskId": "t", "url": "https://hook.example"},
        "GetTaskPushNotificationConfig": {"taskId": "t", "id": "c"},
        "ListTaskPushNotificationConfigs": {"taskId": "t"},
        "DeleteTaskPushNotificationConfig": {"taskId": "t", "id": "c"},
        "GetExtendedAgentCard": {},
        "SubscribeToTask": {"id": "t"},
    }
    for operation, request in requests.items():
        snippets = page.snippets(operation, request)
        compile(snippets["python"], operation, "exec")
        assert ("command" in snippets) == ("PushNotification" not in operation)


def test_messages_that_are_not_short(
    page: ExplorerPage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, several parts, metadata and modes are in the program."""
    parts = [
        {"text": "a"},
        {"data": {"x": [1, None, True]}},
        {"raw": "aGk=", "filename": "a.txt", "mediaType": "text/plain"},
    ]
    request = {
        "message": {"parts": parts, "metadata": {"skillId": "echo", "own": 1}},
        "configuration": {
            "returnImmediately": True,
            "historyLength": 2,
            "acceptedOutputModes": ["text/plain"],
        },
    }
    snippets = page.snippets("SendMessage", request)
    assert "command" not in snippets  # a command line has files of its own, and no bytes
    task = json.loads(run_program(snippets["python"], capsys, monkeypatch))
    assert (task["history"][0]["metadata"]["own"], len(task["history"][0]["parts"])) == (1, 3)


def test_raw_json(page: ExplorerPage, url: str) -> None:
    """The JSON of each dialect and binding of the card is what the agent takes."""
    snippets = page.snippets("SendMessage", send("raw", metadata={"skillId": "echo"}))
    headers = {"jsonrpc-v1_0": {"A2A-Version": "1.0"}, "jsonrpc-v0_3": {"A2A-Version": "0.3"}}
    for name, given in headers.items():
        answer = httpx.post(
            url, json=json.loads(snippets[name]), headers=given, trust_env=False
        ).json()
        assert "raw" in json.dumps(answer["result"])
    for name in ("http+json-v1_0", "http+json-v0_3_proto", "http+json-v0_3"):
        head, _, body = snippets[name].partition("\n\n")
        method, target = head.split(" ", 1)
        response = httpx.request(
            method,
            target.replace("https://agent.example", url),
            json=json.loads(body),
            trust_env=False,
        )
        assert (response.status_code, "raw" in response.text) == (200, True)
    assert {"grpc-v1_0", "grpc-v0_3_proto", "jsonrpc-mesh"} <= snippets.keys()


def test_a_typed_client(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program of a typed skill runs with the client that the command in its first line
    generates.
    """
    with serve_on_socket(
        create_app(*make_surfaces(ReportAgent()), settings=FAST_SETTINGS)
    ) as client:
        url = str(client.base_url).rstrip("/")
        with explore(url) as page:
            skill = next(each for each in page.describe()["skills"] if each["id"] == "summarize")
            assert (skill["typed"], skill["stream"], skill["inputSchema"]["type"]) == (
                True,
                False,
                "object",
            )
            request = {
                "message": {"parts": [{"data": {"text": "Tea. Is. Good."}}]},
                "metadata": {"skillId": "summarize"},
            }
            snippet = page.snippets("SendMessage", request)["typed"]
        monkeypatch.chdir(tmp_path)
        assert main(shlex.split(snippet.splitlines()[0].removeprefix("# Once: a2a-gen "))) == 0
        monkeypatch.syspath_prepend(str(tmp_path))
        before = set(sys.modules)
        try:
            assert "sentences=3" in run_program(snippet, capsys, monkeypatch)
        finally:
            for name in set(sys.modules) - before:
                if name.startswith("report_agent_client"):
                    del sys.modules[name]

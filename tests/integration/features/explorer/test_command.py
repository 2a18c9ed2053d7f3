"""`a2a-gen explore`: the agent of a folder and one at a URL, and errors that name the cure."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from integration.features.explorer.explorer_page import ExplorerPage, find_text
from integration.outcome_agent import build_test_app, serve_on_socket

from a2a_gen.entry import main

PROJECT = """
[agent]
name = "folder"
description = "The agent of a folder."

[skills.echo]
description = "Says the same."
handler = "handlers:echo"
"""


@contextmanager
def run_explore(*words: str, folder: Path) -> Iterator[ExplorerPage]:
    """Run the command, and yield its page."""
    process = subprocess.Popen(
        [sys.executable, "-m", "a2a_gen", "explore", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.fullmatch(
            r"explorer: (http://127\.0\.0\.1:\d+)/explorer/#token=([\w-]{40,})\n",
            process.stdout.readline(),
        )
        assert found, "the command printed no address"
        with httpx.Client(base_url=found[1], timeout=30, trust_env=False) as http:
            agents = http.get("/explorer/api/agents", headers={"x-a2a-explorer": found[2]}).json()[
                "agents"
            ]
            yield ExplorerPage(http, agents[0]["id"], {"x-a2a-explorer": found[2]})
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_the_agent_of_this_folder(tmp_path: Path) -> None:
    """It is served beside the page, both on this machine only; the page needs the token."""
    (tmp_path / "a2a.toml").write_text(PROJECT)
    (tmp_path / "handlers.py").write_text("def echo(ctx):\n    return ctx.text\n")
    with run_explore("--no-open", folder=tmp_path) as page:
        assert page.describe()["card"]["name"] == "folder"
        assert find_text(page.send("hi")["result"]) == "hi"
        assert page.http.get("/explorer/").status_code == 200
        assert (
            page.http.get("/explorer/api/agents", headers={"x-a2a-explorer": "other"}).status_code
            == 403
        )
        assert page.http.get("/.well-known/agent-card.json").json()["name"] == "folder"


def test_an_agent_at_a_url(tmp_path: Path) -> None:
    """The command calls it, with the credentials of its options."""
    (tmp_path / "token.txt").write_text("a-token-of-mine\n")
    with (
        serve_on_socket(build_test_app()) as client,
        run_explore(str(client.base_url), "--token", "@token.txt", folder=tmp_path) as page,
    ):
        sent = page.send("hi")
        assert find_text(sent["result"]) == "hi"
        assert ["authorization", "Bearer \u2022\u2022\u2022"] in [
            [name.lower(), value] for name, value in sent["exchanges"][0]["requestHeaders"]
        ]
        assert "a-token-of-mine" not in str(sent)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["ftp://agent.example"], 1, "begin it with https:// or http://"),
        (
            ["agent:app", "--tenant", "x"],
            1,
            "--tenant: is for an agent at a URL; sign in on the page instead",
        ),
        (["http://127.0.0.1:1", "--header", "no-header"], 1, "write NAME: VALUE"),
        (
            ["http://127.0.0.1:1", "--token", "hush"],
            1,
            (
                "--token: a secret in the arguments is visible in the list of processes; write "
                "@FILE, or set A2A_"
            ),
        ),
        (
            ["http://127.0.0.1:1", "--user", "ada:hush"],
            1,
            "--user: a secret in the arguments is visible",
        ),
        (
            ["http://127.0.0.1:1", "--auth", "key=hush"],
            1,
            "--auth: a secret in the arguments is visible",
        ),
        (
            ["http://127.0.0.1:1", "--header", "X-Api-Key: hush"],
            1,
            "--header: a secret in the arguments is visible",
        ),
    ],
)
def test_errors_name_the_cure(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors before the start name their cure, and nothing is served."""
    assert main(["explore", *words]) == code
    said = capsys.readouterr().err
    assert message in said
    assert "hush" not in said


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """The error for a port in use names the option for another port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["explore", "http://127.0.0.1:1", "--port", str(taken.getsockname()[1])]) == 2
    assert "choose another --port" in capsys.readouterr().err

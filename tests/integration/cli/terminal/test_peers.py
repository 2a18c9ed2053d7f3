"""The commands with an agent of a2a-sdk, over every binding it serves."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from peers.sdk_agents import peer_agent

from a2a_gen.entry import main

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of the agent."""
    with peer_agent("a2a-sdk-1.3.0", "server_1_0.py") as url:
        yield url


@pytest.mark.parametrize("binding", ["jsonrpc", "http+json", "grpc"])
def test_an_agent_of_the_sdk(url: str, binding: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Results, messages, chunks, questions and failures are those of our own agents."""
    way = ("--binding", binding)
    assert main(["call", url, "--auto", "echo me", *way]) == 0
    assert main(["call", url, "--auto", "message me", *way]) == 0
    assert main(["stream", url, "--auto", "count 3", *way]) == 0
    assert main(["call", url, "--auto", "ask color?", "--answer", "echo blue", *way]) == 0
    assert capsys.readouterr().out == "echo me\nme\n0 1 2 \necho blue\n"
    assert main(["call", url, "--auto", "fail badly", *way]) == 2
    assert "failed: badly" in capsys.readouterr().err
    assert main(["call", url, "--auto", "wait", "--no-wait", *way]) == 0
    task = capsys.readouterr().out.strip()
    assert main(["tasks", "cancel", url, task, "--json", *way]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == task


def test_its_card(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown with all interfaces."""
    assert main(["card", url]) == 0
    output = capsys.readouterr().out
    assert [
        binding for binding in ("JSONRPC", "HTTP+JSON", "GRPC") if f"{binding} 1.0" not in output
    ] == []

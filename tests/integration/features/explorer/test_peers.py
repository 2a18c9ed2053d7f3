"""The explorer with agents of the official SDK, 1.0 and 0.3."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.features.explorer.explorer_page import ExplorerPage, explore, find_text
from peers.sdk_agents import peer_agent

pytestmark = pytest.mark.peer

AGENTS = {"1.0": ("a2a-sdk-1.3.0", "server_1_0.py"), "0.3": ("a2a-sdk-0.3.26", "server_0_3.py")}


@pytest.fixture(scope="module", params=AGENTS)
def page(request: pytest.FixtureRequest) -> Iterator[ExplorerPage]:
    """The page of an agent."""
    with peer_agent(*AGENTS[request.param]) as url, explore(url) as page:
        yield page


def call(page: ExplorerPage, interface: str | None = None) -> None:
    """Send, stream, be refused, and read a task."""
    sent = page.send("echo me", interface)
    assert find_text(sent["result"]) == "echo me"
    assert (
        page.run("GetTask", {"id": sent["result"]["task"]["id"]}, interface)["result"]["status"][
            "state"
        ]
        == "TASK_STATE_COMPLETED"
    )
    assert (
        page.run("GetTask", {"id": "no-such-task"}, interface)["error"]["name"]
        == "TaskNotFoundError"
    )
    request = {"message": {"parts": [{"text": "count 3"}]}}
    events = page.stream("SendStreamingMessage", {"request": request, "interface": interface})
    assert events[-1].kind == "end"
    assert len([each for each in events if "artifactUpdate" in each.data]) >= 1


def test_an_agent_of_the_sdk(page: ExplorerPage) -> None:
    """Its card is described, and it is called at the first interface."""
    described = page.describe()
    assert described["card"]["name"]
    assert [each for each in described["findings"] if each["level"] == "error"] == []
    call(page)


@pytest.mark.soak(share="frameworks")
def test_every_interface_of_an_agent_of_the_sdk(page: ExplorerPage) -> None:
    """Each that can be used is."""
    usable = [each["id"] for each in page.describe()["interfaces"] if each["usable"]]
    assert len(usable) >= 2
    for interface in usable:
        call(page, interface)

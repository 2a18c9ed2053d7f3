"""The explorer of the command with our own agent on sockets: every operation, in every dialect and
over every binding.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.features.explorer.explorer_page import (
    ExplorerPage,
    explore,
    find_text,
    parse_events,
)
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import build_test_agent, serve_on_socket

from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import PresenceGate
from a2a_runtime.client.options import ClientOptions, Pin
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

WAYS = [
    ("1.0", "JSONRPC"),
    ("1.0", "HTTP+JSON"),
    ("1.0", "GRPC"),
    ("0.3", "JSONRPC"),
    ("0.3", "HTTP+JSON"),
    ("0.3", "GRPC"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of an agent over all three bindings."""
    surface = Surface(build_test_agent(), grpc=GrpcOptions(find_free_address()))
    with serve_on_socket(create_app(surface, settings=FAST_SETTINGS)) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def page(url: str) -> Iterator[ExplorerPage]:
    """The page of its explorer."""
    with explore(url) as page:
        yield page


@pytest.fixture(scope="module")
def interfaces(page: ExplorerPage) -> dict[tuple[str, str], str]:
    """The ids of its interfaces."""
    return {
        (each["dialect"], each["binding"]): each["id"]
        for each in page.describe()["interfaces"]
        if each["usable"]
    }


def test_the_agents(page: ExplorerPage, url: str) -> None:
    """The explorer as a command lists one agent."""
    assert page.get("agents").json() == {
        "mode": "command",
        "agents": [{"id": "0", "name": url, "url": url}],
    }


def test_the_card(page: ExplorerPage, url: str) -> None:
    """It is shown in canonical form and as it came, with its skills, and nothing is wrong with
    it.
    """
    described = page.describe()
    assert described["card"]["name"] == "busy"
    assert described["source"] == f"{url}/.well-known/agent-card.json"
    assert '"supportedInterfaces"' in described["raw"]
    assert {each["id"] for each in described["skills"]} >= {"echo", "count", "greet"}
    assert described["findings"] == []
    assert [exchange["status"] for exchange in described["exchanges"]] == [200]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_operations(
    page: ExplorerPage, interfaces: dict[tuple[str, str], str], way: tuple[str, str]
) -> None:
    """Tasks, messages and errors have the canonical form, whichever way the agent is called."""
    interface = interfaces[way]
    sent = page.send("two words", interface)
    assert find_text(sent["result"]) == "two words"
    assert sent["exchanges"][0]["protocol"] == ("grpc" if way[1] == "GRPC" else "http")
    task = sent["result"]["task"]["id"]
    assert (
        page.run("GetTask", {"id": task}, interface)["result"]["status"]["state"]
        == "TASK_STATE_COMPLETED"
    )
    error = page.run("CancelTask", {"id": task}, interface)["error"]
    assert (error["name"], error["code"], error["section"], error["origin"]) == (
        "TaskNotCancelableError",
        -32002,
        "3.1.5",
        "agent",
    )


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_streams(
    page: ExplorerPage, interfaces: dict[tuple[str, str], str], way: tuple[str, str]
) -> None:
    """Events are canonical, and the exchange comes before them and, with its body, after them."""
    request = {"message": {"parts": [{"text": "3"}]}, "metadata": {"skillId": "count"}}
    events = page.stream("SendStreamingMessage", {"request": request, "interface": interfaces[way]})
    assert [each.kind for each in events][:1] + [each.kind for each in events][-2:] == [
        "exchange",
        "exchange",
        "end",
    ]
    assert events[0].data["id"] == events[-2].data["id"]
    chunks = [
        each.data["artifactUpdate"]["artifact"]["parts"][0]["text"]
        for each in events
        if "artifactUpdate" in each.data
    ]
    assert chunks == ["0", "1", "2"]
    assert all("receivedAt" in each.data for each in events if each.kind == "event")


def test_a_stream_that_was_cut_goes_on_after_its_cursor(page: ExplorerPage) -> None:
    """A page that goes away ends the request at the agent; it resumes with the cursor, and nothing
    is lost.
    """
    request = {"message": {"parts": [{"text": "40"}]}, "metadata": {"skillId": "tick"}}
    url = "/explorer/api/agents/0/streams/SendStreamingMessage"
    seen: list[str] = []
    with page.http.stream("POST", url, headers=page.headers, json={"request": request}) as response:
        for event in parse_events(response.iter_lines()):
            if event.kind == "event":
                task = (
                    event.data.get("task", {}).get("id")
                    or event.data.get("artifactUpdate", event.data.get("statusUpdate"))["taskId"]
                )
                cursor = event.cursor
            if event.kind == "event" and "artifactUpdate" in event.data:
                seen.append(event.data["artifactUpdate"]["artifact"]["parts"][0]["text"])
            if len(seen) == 3:
                break
    rest = page.stream("SubscribeToTask", {"request": {"id": task}, "cursor": cursor})
    seen += [
        each.data["artifactUpdate"]["artifact"]["parts"][0]["text"]
        for each in rest
        if "artifactUpdate" in each.data
    ]
    assert seen == [str(number) for number in range(40)]


def test_an_agent_without_a_card(url: str) -> None:
    """An address of gRPC has no card; its operations work, and the page is told."""
    with explore(url) as page:
        grpc = next(
            each["url"] for each in page.describe()["interfaces"] if each["binding"] == "GRPC"
        )
    with explore(grpc) as page:
        assert page.describe()["findings"][0]["text"].startswith("no card was read")
        assert find_text(page.send("one")["result"]) == "one"


def test_a_mesh_agent() -> None:
    """A producer of a mesh is called as any other agent, if one says that it is one."""
    surface = Surface(
        build_test_agent(),
        "/agents/echo",
        dialects=frozenset({"mesh"}),
        gate=PresenceGate(),
        only=frozenset({"echo"}),
    )
    with serve_on_socket(create_app(surface, settings=FAST_SETTINGS)) as client:
        options = ClientOptions(pin=Pin("mesh"))
        with explore(str(client.base_url.join("/agents/echo")), options, auth="any-token") as page:
            assert page.describe()["dialect"] == "mesh"
            assert find_text(page.send("hi")["result"]) == "hi"


def test_an_agent_that_is_not_there() -> None:
    """The error for an agent that does not answer names the cure."""
    address = find_free_address()
    with explore(f"http://{address}") as page:
        response = page.get("agents/0")
        error = response.json()["error"]
        assert (response.status_code, error["name"]) == (502, "ConnectError")
        assert "Check that the agent runs" in error["cure"]


def test_invalid_requests(page: ExplorerPage) -> None:
    """Places are named before the agent is asked."""
    response = page.post(
        "operations/SendMessage", {"request": {"message": {"parts": [{"text": 5}]}}}
    )
    error = response.json()["error"]
    assert (response.status_code, error["origin"], response.json()["exchanges"]) == (
        400,
        "explorer",
        [],
    )
    assert [each["path"] for each in error["fields"]] == ["message.parts[0].text"]
    assert page.post("operations/Nothing", {}).status_code == 404
    assert page.post("operations/SendStreamingMessage", {}).status_code == 404
    assert page.post("operations/GetTask", []).status_code == 400
    assert page.get("agents/1").status_code == 404
    assert page.get("other").status_code == 404
    assert page.http.put("/explorer/api/agents", headers=page.headers).status_code == 405
    assert (
        page.http.post(
            "/explorer/api/agents/0/operations/GetTask", headers=page.headers, content=b"{"
        ).status_code
        == 400
    )

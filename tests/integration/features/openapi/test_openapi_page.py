"""The OpenAPI document of an app of agents: what it is called, what is in it, and its page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from integration.outcome_agent import serve_on_socket
from litestar.testing import TestClient
from starlette.applications import Starlette

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth import ApiKeyAuthenticator, AuthGate, OpenGate
from a2a_runtime.starlette import mount_agents
from a2a_runtime.surface import RouteOptions, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS


def build_agent(name: str = "reports", **capabilities: bool) -> Agent:
    """Build an agent."""
    agent = Agent(name, f"Does {name}.", "2.1.0", capabilities=Capabilities(**capabilities))
    agent.add("write", lambda ctx: ctx.text)
    return agent


def read_document(*surfaces: Surface) -> Any:  # noqa: ANN401 - JSON
    """Read the document of an app."""
    with TestClient(create_app(*surfaces, settings=FAST_SETTINGS)) as client:
        return client.get("/schema/openapi.json").json()


def list_references(value: object) -> set[str]:
    """List the names of the schemas to which some JSON refers."""
    if is_json_object(value):
        own = {str(value["$ref"]).rpartition("/")[2]} if "$ref" in value else set[str]()
        return own.union(*map(list_references, value.values()))
    if is_json_array(value):
        return set[str]().union(*map(list_references, value))
    return set()


def test_the_document_is_that_of_the_agent() -> None:
    """Its name, version and description; several agents are listed."""
    assert read_document(Surface(build_agent()))["info"] == {
        "title": "reports",
        "version": "2.1.0",
        "description": "Does reports.",
    }
    several = read_document(
        Surface(build_agent("one"), "/one"), Surface(build_agent("two"), "/two")
    )["info"]
    assert (several["title"], several["description"]) == (
        "one, two",
        "one: Does one.\n\ntwo: Does two.",
    )


def build_private(*, is_listed: bool | None) -> Surface:
    """Build a surface whose card is for the holders of a key."""
    agent = Agent("hushed", "Keeps a secret.")

    @agent.skill("whisper")
    def whisper(hideout: str) -> str:
        """Whisper the treasure."""
        return hideout

    gate = AuthGate(ApiKeyAuthenticator({}, "X-Hushed-Key", scheme="hushedKey"))
    return Surface(
        agent,
        "/hidden",
        gate=gate,
        public_card=False,
        routes=RouteOptions(include_in_schema=is_listed),
    )


@pytest.mark.parametrize("is_listed", [None, False, True])
def test_a_private_card_is_not_in_the_document(
    is_listed: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Neither the agent nor its skills, their schemas or its scheme, unless the option says so;
    beside it the others are.
    """
    document = str(read_document(Surface(build_agent()), build_private(is_listed=is_listed)))
    leaked = [
        text
        for text in ("hushed", "/hidden", "treasure", "hideout", "X-Hushed-Key")
        if text in document
    ]
    assert bool(leaked) is (is_listed is True), leaked
    assert "reports" in document


NEEDS = {
    "streaming": (":stream", ":subscribe"),
    "push_notifications": ("pushNotificationConfigs",),
    "extended_agent_card": ("xtendedAgentCard", "/v1/card"),
}


@pytest.mark.parametrize("capability", NEEDS)
def test_operations_need_their_capability(capability: str) -> None:
    """An operation that the agent would refuse is not in the document."""
    for has in (True, False):
        paths = read_document(Surface(build_agent(**{capability: has})))["paths"]
        for word in NEEDS[capability]:
            assert any(word in path for path in paths) is has, word


def test_paths_with_a_tenant_are_no_twins() -> None:
    """They are listed where tenants are wanted."""
    assert not [path for path in read_document(Surface(build_agent()))["paths"] if "tenant" in path]
    surface = Surface(build_agent(), routes=RouteOptions(tenants_in_schema=True))
    assert "/{tenant}/message:send" in read_document(surface)["paths"]


def test_types_are_those_of_the_operations() -> None:
    """Every reference leads to a schema, and every schema is referred to."""
    for capabilities in ({}, {"push_notifications": True}):
        document = read_document(Surface(build_agent(**capabilities)))
        names = document["components"]["schemas"].keys()
        assert list_references(document) == names
        assert (
            any(
                "PushNotificationConfig" in name
                for name in names
                if name != "v1_0.SendMessageConfiguration"
            )
            or not capabilities
        )


class Page(HTMLParser):
    """Collects what a page loads, where it leads, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and its links."""
        self.tags.add(tag)
        self.links += [
            value or ""
            for name, value in attrs
            if name in {"href", "src", "action"} or name.startswith("on")
        ]

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.words.append(data)


def test_the_page_needs_no_other_server() -> None:
    """No script, no image, one link; every operation and type is there, and an agent's name is
    text.
    """
    hostile = '<script src="https://evil.example/x.js"></script>'
    with TestClient(create_app(Surface(build_agent(hostile)), settings=FAST_SETTINGS)) as client:
        response = client.get("/schema")
        document = client.get("/schema/openapi.json").json()
        page = Page(response.text)
        assert response.headers["content-type"].startswith("text/html")
        assert not page.tags & {"script", "img", "link", "iframe", "object", "form"}
        assert page.links == ["/schema/openapi.json"]
        assert not re.search(r"url\(|@import", response.text)
        assert f"{hostile} 2.1.0" in page.words
        assert set(document["paths"]) | set(document["components"]["schemas"]) <= set(page.words)


def test_the_link_of_a_mounted_page_leads_to_its_document() -> None:
    """Below the path of the mount."""
    host = Starlette()
    mount_agents(host, "/agent", Surface(build_agent(), gate=OpenGate()), settings=FAST_SETTINGS)
    with serve_on_socket(host) as client:
        (link,) = Page(client.get("/agent/schema").text).links
        assert client.get(link).json()["info"]["title"] == "reports"

"""The explorer in an app: its two free paths, its agents behind their gates, and the page at the
root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from integration.features.explorer.explorer_page import ExplorerPage, find_text
from integration.outcome_agent import build_test_agent, serve_on_socket
from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException
from litestar.middleware import (
    AbstractAuthenticationMiddleware,
    AuthenticationResult,
    DefineMiddleware,
)

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate, PresenceGate
from a2a_runtime.auth.host import host_user
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

KEY = "k" * 40
BROWSER = {"accept": "text/html,application/xhtml+xml"}


def build_gate() -> AuthGate:
    """Build a gate for the holder of a key."""
    return AuthGate(ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}))


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """An app with an open agent at the root, one with a gate, and one whose card is not public."""
    secret = Agent("secret", "Only for friends.")
    secret.add("echo", lambda ctx: ctx.text)
    guarded = Agent("guarded", "Asks for a key.")
    guarded.add("echo", lambda ctx: ctx.text)
    app = create_app(
        Surface(build_test_agent()),
        Surface(guarded, "/guarded", gate=build_gate()),
        Surface(guarded, "/bearer", gate=PresenceGate()),
        Surface(secret, "/secret/one", gate=build_gate(), public_card=False),
        settings=Settings(explorer=True),
    )
    with serve_on_socket(app) as client:
        yield client


@pytest.fixture(scope="module")
def page(http: httpx.Client) -> ExplorerPage:
    """The page, at the agent of the root."""
    return ExplorerPage(http, "~", {"x-a2a-explorer": ""})


def at(page: ExplorerPage, agent: str) -> ExplorerPage:
    """Choose another agent."""
    return ExplorerPage(page.http, agent, page.headers)


def test_the_page(http: httpx.Client) -> None:
    """It is free, it may run only what is in it, and the path without a slash leads to it."""
    response = http.get("/explorer/")
    policy = response.headers["content-security-policy"]
    assert response.status_code == 200
    assert [
        rule
        for rule in (
            "default-src 'none'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
        if rule not in policy
    ] == []
    assert "unsafe" not in policy
    assert (response.headers["x-content-type-options"], response.headers["referrer-policy"]) == (
        "nosniff",
        "no-referrer",
    )
    assert http.get("/explorer").headers["location"] == "explorer/"
    assert http.head("/explorer/").status_code == 200
    assert http.post("/explorer/").status_code == 405


def test_the_return_of_a_sign_in(http: httpx.Client) -> None:
    """The page's own address takes the code, and runs one script that is named by its hash."""
    response = http.get("/explorer/?state=s&code=c")
    assert "a2a-explorer-sign-in" in response.text
    assert re.search(r"script-src 'sha256-[^']+';", response.headers["content-security-policy"])


def test_agents(page: ExplorerPage) -> None:
    """An agent whose card is not public is listed for those whom its gate admits."""
    listed = page.get("agents").json()
    assert (listed["mode"], [each["name"] for each in listed["agents"]]) == (
        "mounted",
        ["busy", "guarded", "guarded"],
    )
    names = [
        each["id"]
        for each in page.with_credentials({"X-API-Key": KEY}).get("agents").json()["agents"]
    ]
    assert names == ["~", "guarded", "bearer", "secret:one"]


def test_calls_pass_the_gate_with_the_credentials_of_the_visitor(page: ExplorerPage) -> None:
    """Without credentials there is a 401 of the agent; the key reaches the gate, and no record
    shows it.
    """
    guarded = at(page, "guarded")
    refused = guarded.post(
        "operations/SendMessage", {"request": {"message": {"parts": [{"text": "hi"}]}}}
    )
    assert (refused.status_code, refused.json()["error"]["origin"]) == (401, "agent")
    assert guarded.describe()["security"][0] | {"text": ""} == {
        "name": "apiKey",
        "required": True,
        "scopes": [],
        "kind": "apiKey",
        "text": "",
        "location": "header",
        "parameter": "X-API-Key",
    }
    sent = guarded.with_credentials({"X-API-Key": KEY}).send("hi")
    assert find_text(sent["result"]) == "hi"
    assert KEY not in str(sent)
    assert ["x-api-key", "•••"] in sent["exchanges"][0]["requestHeaders"]
    assert at(page, "secret:one").get("agents/secret:one").status_code == 401
    assert (
        at(page, "secret:one").with_credentials({"X-API-Key": KEY}).describe()["card"]["name"]
        == "secret"
    )


def test_headers_of_the_visitor_count_too(page: ExplorerPage) -> None:
    """A browser that is signed in at the app itself sends its credentials with each request of the
    page.
    """
    assert at(page, "bearer").send("hi")["error"]["name"] == "UnauthenticatedError"
    sent = ExplorerPage(
        page.http, "bearer", {**page.headers, "authorization": "Bearer any-token"}
    ).send("hi")
    assert find_text(sent["result"]) == "hi"


def test_streams(page: ExplorerPage) -> None:
    """Events come as they are made."""
    events = page.stream(
        "SendStreamingMessage",
        {"request": {"message": {"parts": [{"text": "3"}]}, "metadata": {"skillId": "count"}}},
    )
    assert len([each for each in events if "artifactUpdate" in each.data]) == 3
    assert events[-1].kind == "end"


def test_other_agents_are_not_called() -> None:
    """An interface that the app does not serve is shown, and never called."""
    agent = Agent("public", "Has another address.", url="https://agent.example")
    agent.add("echo", lambda ctx: ctx.text)
    with serve_on_socket(create_app(agent, settings=Settings(explorer=True))) as http:
        page = ExplorerPage(http, "~", {"x-a2a-explorer": ""})
        described = page.describe()
        assert described["card"]["supportedInterfaces"][0]["url"] == "https://agent.example"
        assert (
            find_text(page.send("hi")["result"]) == "hi"
        )  # in this process, under its public address


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"x-a2a-explorer": None}, id="no header of the page"),
        pytest.param({"origin": "https://evil.example"}, id="another origin"),
        pytest.param({"sec-fetch-site": "cross-site"}, id="another site"),
        pytest.param(
            {"host": "evil.example", "user-agent": "Mozilla/5.0"}, id="another name for this host"
        ),
    ],
)
def test_requests_of_other_pages_are_refused(
    http: httpx.Client, headers: dict[str, str | None]
) -> None:
    """A request from a foreign page is refused and reaches no agent."""
    given = {
        name: value
        for name, value in {"x-a2a-explorer": "", **headers}.items()
        if value is not None
    }
    assert http.get("/explorer/api/agents", headers=given).status_code == 403
    assert (
        http.post(
            "/explorer/api/agents/~/operations/ListTasks", headers=given, json={"request": {}}
        ).status_code
        == 403
    )


def test_only_the_two_paths_are_free(http: httpx.Client) -> None:
    """No other path that begins like them is."""
    assert http.get("/explorerx").status_code in (404, 405)
    assert http.get("/explorer/api/agents").status_code == 403
    assert http.post("/explorerx/message:send", json={}).status_code != 200


def test_the_page_at_the_root(http: httpx.Client) -> None:
    """A browser gets a page about the agents whose cards are public; machines get what they always
    got.
    """
    response = http.get("/", headers=BROWSER)
    assert (response.status_code, response.headers["vary"]) == (200, "Accept")
    assert [
        text
        for text in (
            "busy",
            "Does all there is.",
            "echo",
            "/explorer/",
            "agent-card.json",
            "guarded",
        )
        if text not in response.text
    ] == []
    assert "secret" not in response.text
    assert "unsafe" not in response.headers["content-security-policy"]
    assert http.get("/").status_code == 405
    assert http.get("/", headers={"accept": "application/json"}).status_code == 405


def test_off() -> None:
    """By default there is no explorer, and the page at the root does not mention it; an agent below
    a path has that page too.
    """
    agent = Agent("<b>bold</b>", "<script>alert(1)</script>")
    agent.add("echo", lambda ctx: ctx.text)
    with serve_on_socket(create_app(Surface(agent, "/agent"))) as http:
        assert http.get("/explorer/").status_code == 404
        assert http.get("/explorer/api/agents", headers={"x-a2a-explorer": ""}).status_code == 404
        page = http.get("/", headers=BROWSER)
        assert (
            page.status_code,
            "explorer" in page.text,
            "<script>" in page.text,
            "<b>" in page.text,
        ) == (200, False, False, False)
        assert http.get("/").status_code == 404


class KnownUsers(AbstractAuthenticationMiddleware):
    """Authentication of a host, by a cookie."""

    async def authenticate_request(
        self, connection: ASGIConnection[Any, Any, Any, Any]
    ) -> AuthenticationResult:
        """Let those with the cookie in."""
        if connection.cookies.get("user") != "ada":
            raise NotAuthorizedException
        return AuthenticationResult(user="ada", auth=None)


def test_an_app_that_authenticates_its_users() -> None:
    """Only the page is free there; a user is known to the agents by the cookie that the browser
    sends.
    """
    agent = Agent("hosted", "Says who asks.")
    agent.add("who", lambda ctx: ctx.caller.subject)
    plugin = A2APlugin(agent, caller=host_user(), settings=Settings(explorer=True), store="memory")
    with serve_on_socket(
        Litestar(plugins=[plugin], middleware=[DefineMiddleware(KnownUsers)])
    ) as http:
        assert http.get("/explorer/").status_code == 200
        assert http.get("/explorer/api/agents", headers={"x-a2a-explorer": ""}).status_code == 401
        page = ExplorerPage(http, "agent", {"x-a2a-explorer": "", "cookie": "user=ada"})
        assert [each["name"] for each in page.get("agents").json()["agents"]] == ["hosted"]
        sent = page.send("hi")
        assert find_text(sent["result"]) == "ada"
        assert ["cookie", "user=ada"] not in sent["exchanges"][0]["requestHeaders"]

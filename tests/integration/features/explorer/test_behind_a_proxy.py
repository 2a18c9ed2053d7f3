"""The explorer in an app behind a reverse proxy: a visitor is who the proxy says, whatever they
enter on the page.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from integration.features.explorer.explorer_page import ExplorerPage, find_text
from integration.outcome_agent import serve_on_socket

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Credentials, Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    KeyLocation,
    MtlsAuthenticator,
    digest_key,
)
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

FORGED_CERTIFICATE = {"X-SSL-Client-Verify": "SUCCESS", "X-SSL-Client-S-DN": "CN=admin"}
FORGED_USER = {"X-Forwarded-User": "admin", "X-Auth-User": "admin", "Authorization": "Bearer admin"}
KEY = "k" * 40


def read_user(connection: Credentials) -> Identity | None:
    """Read whom the proxy reports, under any of the usual names."""
    names = ("x-forwarded-user", "x-auth-user", "authorization")
    found = next((value for name in names if (value := connection.get(name))), None)
    if found:
        return Identity(found)
    return None


def build_agent(name: str) -> Agent:
    """Build an agent that says who calls."""
    agent = Agent(name, "Says who calls.")
    agent.add("who", lambda ctx: ctx.caller.subject)
    return agent


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """A client of the proxy in front of an app with agents that trust it, and with one that wants a
    key in a cookie.
    """
    proxy_gate = AuthGate(MtlsAuthenticator(["127.0.0.1"]))
    keys = ApiKeyAuthenticator({digest_key(KEY): Identity("holder")}, "key", KeyLocation.COOKIE)
    app = create_app(
        Surface(build_agent("certified"), "/certified", gate=proxy_gate),
        Surface(build_agent("hosted"), "/hosted", caller=read_user),
        Surface(build_agent("keyed"), "/keyed", gate=AuthGate(keys)),
        Surface(build_agent("hidden"), "/hidden", gate=proxy_gate, public_card=False),
        settings=Settings(explorer=True),
        store="memory",
    )
    program = Path(__file__).with_name("reverse_proxy.py")
    with serve_on_socket(app) as behind:
        command = [sys.executable, str(program), str(behind.base_url.port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as proxy:
            assert proxy.stdout is not None
            port = proxy.stdout.readline().strip()
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False
            ) as client:
                yield client
            proxy.terminate()


def visit(
    http: httpx.Client, agent: str, subject: str | None, entered: dict[str, str]
) -> ExplorerPage:
    """Open the page with a certificate, or without one, and enter some headers as credentials."""
    own = {"x-a2a-explorer": "", **({"test-certificate": subject} if subject else {})}
    return ExplorerPage(http, agent, own).with_credentials(entered)


@pytest.mark.parametrize(
    "entered", [FORGED_CERTIFICATE, FORGED_USER, {}], ids=["certificate", "user", "nothing"]
)
@pytest.mark.parametrize("agent", ["certified", "hosted"])
def test_a_visitor_without_an_identity_at_the_proxy_has_none(
    http: httpx.Client, agent: str, entered: dict[str, str]
) -> None:
    """Headers that the page sends as credentials do not reach an agent that no security scheme
    names them for.
    """
    answer = visit(http, agent, None, entered).send("hi")
    assert answer["error"]["name"] == "UnauthenticatedError", answer


@pytest.mark.parametrize(
    "entered", [FORGED_CERTIFICATE, FORGED_USER, {}], ids=["certificate", "user", "nothing"]
)
@pytest.mark.parametrize(("agent", "subject"), [("certified", "CN=ada"), ("hosted", "ada")])
def test_a_visitor_is_who_the_proxy_says(
    http: httpx.Client, agent: str, subject: str, entered: dict[str, str]
) -> None:
    """The proxy's report about the visitor's own request is passed on, and nothing that was entered
    replaces it.
    """
    sent = visit(http, agent, "CN=ada", entered).send("hi")
    assert find_text(sent["result"]) == subject


def test_an_agent_with_a_private_card_is_listed_for_those_whom_the_proxy_names(
    http: httpx.Client,
) -> None:
    """Forged headers do not open the list either."""
    own = visit(http, "~", "CN=ada", {}).get("agents").json()["agents"]
    forged = visit(http, "~", None, FORGED_CERTIFICATE).get("agents").json()["agents"]
    assert {each["name"] for each in own} - {each["name"] for each in forged} == {"hidden"}


def test_a_cookie_that_a_scheme_names_is_entered_beside_those_of_the_visitor(
    http: httpx.Client,
) -> None:
    """Other cookies of what was entered are left out, and the visitor's own stay."""
    page = ExplorerPage(http, "keyed", {"x-a2a-explorer": "", "cookie": "theme=dark; key=old"})
    assert page.send("hi")["error"]["name"] == "UnauthenticatedError"
    entered = page.with_credentials({"Cookie": f"key={KEY}; session=forged"})
    assert find_text(entered.send("hi")["result"]) == "holder"

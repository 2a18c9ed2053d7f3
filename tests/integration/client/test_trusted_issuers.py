"""Tokens of the issuer that an agent names: agents and authorization servers over sockets, and
metadata of agents that are not to be believed.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import httpx
import pytest
from integration.client.test_on_behalf_of import AuthorizationServer
from integration.outcome_agent import serve_on_socket

from a2a_contract.errors import UnauthenticatedError
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth import ApiKeyAuthenticator, AuthGate, Identity, digest_key
from a2a_runtime.client import (
    HTTP_JSON,
    JSONRPC,
    A2AClient,
    ClientOptions,
    MissingCredentialsError,
    Pin,
    TokenError,
    TrustedIssuers,
)
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator, JwtValidation
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.ports import find_free_port

pytestmark = pytest.mark.anyio
ANY = Pin()
KEYS = ApiKeyAuthenticator({digest_key("k" * 32): Identity("nightly")})
METADATA = "/.well-known/oauth-protected-resource"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Servers of a test."""
    with ExitStack() as servers:
        yield servers


def serve_issuer(stack: ExitStack) -> AuthorizationServer:
    """Serve an authorization server, which knows the client ``front``."""
    server = AuthorizationServer()
    server.url = server.issuer.name = str(
        stack.enter_context(serve_on_socket(server.build_app())).base_url
    )
    return server


def build_gate(server: AuthorizationServer, *others: ApiKeyAuthenticator) -> AuthGate:
    """Build a gate for the tokens of a server."""
    tokens = JwtAuthenticator(server.issuer.keys(), JwtValidation(server.url, "back", ("ES256",)))
    return AuthGate(tokens, *others, require=None if others else [{"bearer": []}])


def build_agent() -> Agent:
    """Build an agent that names its caller."""
    agent = Agent("who", capabilities=Capabilities(streaming=True))

    @agent.skill("who")
    async def who(ctx: TaskContext) -> str:
        return ctx.caller.subject

    return agent


def serve_agent(stack: ExitStack, *gates: AuthGate) -> list[str]:
    """Serve an agent for each gate, in one app, and return their URLs."""
    surfaces = [
        Surface(build_agent(), f"/agents/{number}", gate=gate) for number, gate in enumerate(gates)
    ]
    base = str(
        stack.enter_context(serve_on_socket(create_app(*surfaces, settings=FAST_SETTINGS))).base_url
    )
    return [base + each.path for each in surfaces]


async def ask(url: str, auth: object, pin: Pin = ANY) -> str:
    """Ask an agent as whom it sees us."""
    async with A2AClient(url, auth=auth, options=ClientOptions(pin=pin)) as client:  # type: ignore[arg-type]  # of any kind
        task = await client.send("x")
        assert isinstance(task, Task)
        assert len([event async for event in client.stream("x")]) > 1
        return (task.artifacts or [])[0].parts[0].text or ""


@pytest.mark.parametrize(
    "pin", [Pin(None, JSONRPC), Pin(None, HTTP_JSON)], ids=["JSON-RPC", "HTTP+JSON"]
)
async def test_an_agent_names_its_issuer(stack: ExitStack, pin: Pin) -> None:
    """One of those that are given gets the credentials, once for all requests to this agent;
    another agent gets a token of its own.
    """
    server = serve_issuer(stack)
    other = serve_issuer(stack)
    first, second = serve_agent(stack, build_gate(server), build_gate(server))
    auth = TrustedIssuers(
        {other.url: ("front", "wr0ng"), f"{server.url}/": ("front", "s3cret")}, scopes=["a", "b"]
    )
    for _ in range(2):
        assert await ask(first, auth, pin) == "front"
    assert [(form["resource"], form["scope"]) for form in server.forms] == [(first, "a b")]
    assert await ask(second, auth, pin) == "front"
    assert [form["resource"] for form in server.forms] == [first, second]
    assert other.forms == []
    assert "s3cret" not in repr(auth)


async def test_an_issuer_that_is_not_given_gets_nothing(stack: ExitStack) -> None:
    """The error names the issuers of the agent and those of the caller."""
    server = serve_issuer(stack)
    other = serve_issuer(stack)
    (url,) = serve_agent(stack, build_gate(server))
    with pytest.raises(
        MissingCredentialsError,
        match=(
            f"{url}: its tokens come from {server.url}; given are credentials at {other.url}; "
            "add one"
        ),
    ):
        await ask(url, TrustedIssuers({other.url: ("front", "s3cret")}))
    assert server.forms == other.forms == []


async def test_a_card_may_require_such_a_token(stack: ExitStack) -> None:
    """Among credentials by the names of schemes."""
    server = serve_issuer(stack)
    (url,) = serve_agent(stack, build_gate(server, KEYS))
    issuers = TrustedIssuers({server.url: ("front", "s3cret")})
    assert "front" in await ask(url, {"bearer": issuers})
    assert "nightly" in await ask(url, {"apiKey": "k" * 32})
    assert len(server.forms) == 1


async def test_an_agent_may_change_its_issuer(stack: ExitStack) -> None:
    """A token that is refused twice is forgotten, and the next request finds the new issuer."""
    old = serve_issuer(stack)
    new = serve_issuer(stack)
    auth = TrustedIssuers({each.url: ("front", "s3cret") for each in (old, new)})
    address = ("127.0.0.1", find_free_port())
    url = f"http://127.0.0.1:{address[1]}"

    def serve(server: AuthorizationServer) -> AbstractContextManager[object]:
        app = create_app(Surface(build_agent(), gate=build_gate(server)), settings=FAST_SETTINGS)
        return serve_on_socket(app, listening_socket=socket.create_server(address))

    with serve(old):
        assert await ask(url, auth) == "front"
    with serve(new):
        with pytest.raises(UnauthenticatedError):
            await ask(url, auth)
        assert await ask(url, auth) == "front"
    assert (len(old.forms), len(new.forms)) == (2, 1)


AGENT = "https://agent.example/a"
ISSUER = "https://id.example"
CHALLENGE = f'Bearer resource_metadata="https://agent.example{METADATA}/a"'
DOCUMENT = {"resource": AGENT, "authorization_servers": [ISSUER]}


def respond(
    document: object, challenge: str, status: int = 200
) -> Callable[[httpx.Request], httpx.Response]:
    """Build an agent that refuses everything, with its metadata."""

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "agent.example", f"a request to {request.url}"
        if request.url.path.startswith(METADATA):
            if document is not None:
                return httpx.Response(status, json=document)
            return httpx.Response(status, text="<html>")
        return httpx.Response(401, headers={"www-authenticate": challenge})

    return answer


WRONG = {
    "another host": (
        respond(DOCUMENT, 'Bearer resource_metadata="https://evil.example/m"'),
        "its metadata would be at evil.example, another origin",
    ),
    "no TLS": (
        respond(DOCUMENT, 'Bearer resource_metadata="http://agent.example/m"'),
        "another origin",
    ),
    "no URL": (
        respond(DOCUMENT, 'Bearer resource_metadata="https://agent.example:port/m"'),
        "the metadata that it names is at no URL",
    ),
    "not found": (
        respond(DOCUMENT, CHALLENGE, 404),
        r"no metadata of a protected resource \(404\)",
    ),
    "a page": (respond(None, CHALLENGE), "no metadata of a protected resource"),
    "a list": (respond([], CHALLENGE), "no metadata of a protected resource"),
    "another path": (
        respond({**DOCUMENT, "resource": f"{AGENT}b"}, CHALLENGE),
        f"the metadata is of '{AGENT}b', not of {AGENT}/message:send; pass",
    ),
    "another resource": (
        respond({**DOCUMENT, "resource": "https://bank.example/a"}, CHALLENGE),
        "the metadata is of 'https://bank.example/a'",
    ),
    "no resource": (
        respond({**DOCUMENT, "resource": "https://[x"}, CHALLENGE),
        "the metadata is of",
    ),
    "no list of issuers": (
        respond({**DOCUMENT, "authorization_servers": ISSUER}, CHALLENGE),
        "its tokens come from no server",
    ),
    "no trusted issuer": (
        respond({**DOCUMENT, "authorization_servers": [1, "https://o.example"]}, CHALLENGE),
        "come from https://o.example",
    ),
}


@pytest.mark.parametrize(("answer", "problem"), WRONG.values(), ids=WRONG)
async def test_metadata_are_read_with_care(
    answer: Callable[[httpx.Request], httpx.Response], problem: str
) -> None:
    """Only those of the agent itself, about the URL that is called; no secret leaves for anything
    else.
    """
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(answer), auth=TrustedIssuers({ISSUER: ("me", "s3cret")})
    ) as client:
        with pytest.raises((TokenError, MissingCredentialsError), match=problem) as raised:
            await client.post(f"{AGENT}/message:send?x=1", json={})
    assert "s3cret" not in str(raised.value)


async def test_a_refusal_without_metadata_stays_what_it_is() -> None:
    """A refusal without metadata is returned unchanged, and no token is requested."""
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(respond(DOCUMENT, "Basic")),
        auth=TrustedIssuers({ISSUER: ("me", "x")}),
    ) as client:
        assert (await client.get(AGENT)).status_code == 401


def test_what_could_never_work_is_refused_at_once() -> None:
    """No issuer, one to which secrets would go in the open, and a client without a loop."""
    with pytest.raises(ValueError, match="TrustedIssuers: no issuer given; pass at least one"):
        TrustedIssuers({})
    with pytest.raises(ValueError, match="not https"):
        TrustedIssuers({"http://id.example": ("me", "x")})
    with (
        httpx.Client(auth=TrustedIssuers({ISSUER: ("me", "x")})) as client,
        pytest.raises(RuntimeError, match=r"use httpx\.AsyncClient"),
    ):
        client.get(AGENT)

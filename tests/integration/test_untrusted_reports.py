"""Reports that a server or a registry makes and that nothing vouches for: forwarded addresses, URLs
for cards, names of this machine.
"""

from __future__ import annotations

import time

import httpx
import pytest
from integration.outcome_agent import ALL_CAPABILITIES, build_test_agent, serve_on_socket

from a2a_contract.dialects import MESH, V1_0
from a2a_contract.errors import UnauthenticatedError
from a2a_contract.jsonrpc import serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Credentials, Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    MtlsAuthenticator,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate, Gate
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.heartbeat.registration import MeshConfig
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message
from a2a_runtime.testing.registry import FakeRegistry

KEYS = ApiKeyAuthenticator({digest_key("k"): Identity("ada")})


def test_a_forwarded_address_is_no_trusted_proxy() -> None:
    """Uvicorn takes the address from X-Forwarded-For of any client on its machine: certificates in
    headers do not rest on such an address.
    """
    gate = AuthGate(MtlsAuthenticator(["10.0.0.0/28", "127.0.0.1"]))
    certificate = {"X-SSL-Client-Verify": "SUCCESS", "X-SSL-Client-S-DN": "CN=ada"}
    with serve_on_socket(
        create_app(Surface(build_test_agent(), gate=gate), store="memory", settings=FAST_SETTINGS)
    ) as client:
        forged = client.get("/tasks", headers={**certificate, "X-Forwarded-For": "10.0.0.1"})
        assert (forged.status_code, "trusted proxy" in forged.text) == (401, True)
        assert client.get("/tasks", headers=certificate).status_code == 200


@pytest.mark.parametrize(
    "prefix",
    [
        "javascript:alert(1)//x",
        "https://x\r\nset-cookie: a",
        f"https://{'a' * 100_000}",
        "https://user:password@x",
        "//x",
        "https://",
    ],
)
def test_a_registry_puts_only_urls_on_a_card(prefix: str) -> None:
    """A public URL that is none leaves the card with the URL of the request."""
    agent = Agent("one")
    agent.add("one", lambda ctx: ctx.text)
    registry = FakeRegistry(prefix=prefix)
    with serve_on_socket(registry) as registry_client:
        mesh = MeshConfig(str(registry_client.base_url), http_host="127.0.0.1")
        surface = Surface(agent, "/agents/one", frozenset((MESH.name,)))
        with serve_on_socket(
            create_app(surface, store="memory", settings=FAST_SETTINGS, mesh=mesh)
        ) as client:
            until = time.monotonic() + 30
            while not registry.agents and time.monotonic() < until:
                time.sleep(0.02)
            assert registry.agents
            client.get("/livez")  # a round trip after the registration
            card = client.get("/agents/one/.well-known/agent.json").json()
            assert card["url"] == f"{client.base_url}/agents/one".replace("//agents", "/agents")


@pytest.mark.parametrize(
    "url",
    [
        "https://localhost/",
        "https://app.localhost:8443/x",
        "https://127.0.0.1/",
        "https://[::1]/",
        "http://10.0.0.1/",
        "file:///etc",
    ],
)
def test_a_webhook_of_this_machine_is_refused_when_it_is_set(url: str) -> None:
    """With the message that would set it, and for a task that is there; the error names the
    member.
    """
    agent = build_test_agent(capabilities=ALL_CAPABILITIES)
    with serve_on_socket(
        create_app(Surface(agent), store="memory", settings=FAST_SETTINGS)
    ) as client:
        message = {"message": build_user_message("x").to_dict()}
        task = client.post("/message:send", json=message).json()["task"]["id"]
        config = {"configuration": {"taskPushNotificationConfig": {"url": url}}}
        for path, body in (
            ("/message:send", {**message, **config}),
            (f"/tasks/{task}/pushNotificationConfigs", {"url": url}),
        ):
            refused = client.post(path, json=body, headers={"A2A-Version": "1.0"})
            assert refused.status_code == httpx.codes.BAD_REQUEST
            assert "url" in refused.text


class OwnGate:
    """A gate that knows no challenge."""

    def admit(self, credentials: Credentials) -> Caller:
        """Refuse every request."""
        raise UnauthenticatedError(f"No {credentials.get('x-none', 'badge')}")


GATES: dict[str, tuple[Gate | None, str]] = {
    "own gate": (OwnGate(), "Bearer"),
    "no gate": (None, "Bearer"),
    "optional keys": (
        AuthGate(KEYS, require=[{"apiKey": []}, {}]),
        'ApiKey in="header", name="X-API-Key"',
    ),
    "optional passwords": (
        AuthGate(
            BasicAuthenticator({"ada": User(hash_password("x"), Identity("ada"))}),
            require=[{"basic": []}, {}],
        ),
        'Basic realm="agent", charset="UTF-8"',
    ),
}


@pytest.mark.parametrize(("gate", "challenge"), GATES.values(), ids=GATES.keys())
def test_every_401_has_a_challenge(gate: Gate | None, challenge: str) -> None:
    """Also that of the extended card, which an anonymous caller may not read where everything else
    is open.
    """
    agent = build_test_agent(capabilities=ALL_CAPABILITIES)
    agent.add("hidden", lambda ctx: ctx.text, only_extended=True)
    name = next(
        name
        for name, each in METHODS[V1_0.name].items()
        if each.operation is GET_EXTENDED_AGENT_CARD
    )
    with serve_on_socket(
        create_app(Surface(agent, gate=gate), store="memory", settings=FAST_SETTINGS)
    ) as client:
        for response in (
            client.get("/extendedAgentCard", headers={"A2A-Version": "1.0"}),
            client.get("/v1/card"),
            client.post("/", content=serialize_call(name, "1", {}), headers={"A2A-Version": "1.0"}),
        ):
            assert (response.status_code, response.headers.get("www-authenticate")) == (
                httpx.codes.UNAUTHORIZED,
                challenge,
            )

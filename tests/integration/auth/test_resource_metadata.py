"""Protected-resource metadata (RFC 9728) of surfaces, and the challenges that name it, over a
socket.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from integration.outcome_agent import serve_on_socket
from litestar import Litestar

from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.auth import (
    ApiKeyAuthenticator,
    AuthGate,
    Identity,
    JwtAuthenticator,
    OpenGate,
    digest_key,
)
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.service.cards.declarations import METADATA_PATH
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.token_issuer import TokenIssuer

ISSUER = TokenIssuer()
TOKENS = JwtAuthenticator(ISSUER.keys(), ISSUER.validation())
KEYS = ApiKeyAuthenticator({digest_key("k" * 32): Identity("nightly")})


def build_surface(path: str, gate: AuthGate | OpenGate) -> Surface:
    """Build a surface with an agent of its own."""
    agent = Agent("reports", capabilities=Capabilities(extended_agent_card=True))
    agent.add("write", lambda ctx: ctx.text)
    agent.add("secret", lambda ctx: ctx.text, only_extended=True)
    return Surface(agent, path, gate=gate)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an app with tokens at one path, tokens or keys at another, and an open agent."""
    surfaces = [
        build_surface("/agent", AuthGate(TOKENS, require=[{"bearer": ["reports"]}])),
        build_surface("/both", AuthGate(KEYS, TOKENS)),
        build_surface("/keys", AuthGate(KEYS)),
        build_surface("/open", OpenGate()),
    ]
    with serve_on_socket(
        Litestar(plugins=[A2APlugin(*surfaces, settings=FAST_SETTINGS)], logging_config=None)
    ) as client:
        yield client


def test_a_challenge_leads_to_the_metadata(client: httpx.Client) -> None:
    """On every binding, with and without a wrong token; the document names the same resource."""
    url = f"{client.base_url}{METADATA_PATH}/agent"
    parameter = f'Bearer resource_metadata="{url}"'
    assert client.get("/agent/tasks").headers["www-authenticate"] == parameter
    wrong = client.post("/agent", json={}, headers={"authorization": "Bearer x.y.z"}).headers[
        "www-authenticate"
    ]
    assert wrong.startswith(f'{parameter}, error="invalid_token", error_description="')
    document = client.get(url)
    assert document.json() == {
        "resource": f"{client.base_url}/agent",
        "resource_name": "reports",
        "authorization_servers": [ISSUER.name],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["reports"],
    }
    assert document.headers["content-type"] == "application/json"


def test_other_challenges_stay_as_they_are(client: httpx.Client) -> None:
    """Keys have no issuer; beside them, only the bearer challenge names the metadata.

    A missing scope is no question of where tokens come from.
    """
    both = client.get("/both/tasks").headers["www-authenticate"]
    assert both == (
        'ApiKey in="header", name="X-API-Key", Bearer '
        f'resource_metadata="{client.base_url}{METADATA_PATH}/both"'
    )
    assert "resource_metadata" not in client.get("/keys/tasks").headers["www-authenticate"]
    token = {"authorization": f"Bearer {ISSUER.issue_token()}"}
    assert (
        "resource_metadata"
        not in client.get("/agent/tasks", headers=token).headers["www-authenticate"]
    )


@pytest.mark.parametrize("path", ["", "/", "/keys", "/open", "/nothing", "/agent/x"])
def test_there_is_no_metadata_of_what_needs_no_token(client: httpx.Client, path: str) -> None:
    """Metadata of an open surface is the 404 of the host, as for unknown paths."""
    assert client.get(METADATA_PATH + path).json() == {"status_code": 404, "detail": "Not Found"}

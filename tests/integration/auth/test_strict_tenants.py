"""Tenants of requests whose credentials have none: the client's word, or refused."""

from __future__ import annotations

import pytest
from litestar.testing import TestClient

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

KEYS = {digest_key("b" * 40): Identity("bob"), digest_key("a" * 40): Identity("ada", tenant="t1")}
MESSAGE = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}


@pytest.mark.parametrize(
    ("is_strict", "key", "tenant", "status"),
    [
        (False, "b", "t1", 200),
        (True, "b", "t1", 403),
        (True, "b", "", 200),
        (True, "a", "t1", 200),
        (True, "a", "t2", 403),
        (False, "a", "t2", 403),
    ],
)
def test_a_gate_may_want_credentials_to_name_the_tenant(
    is_strict: bool,  # noqa: FBT001 - of the test
    key: str,
    tenant: str,
    status: int,
) -> None:
    """A handler that picks a customer by its tenant then has the word of the credentials."""
    agent = Agent("tenants", description="Says whose it is.")
    agent.add("whose", lambda ctx: ctx.tenant or "none")
    gate = AuthGate(ApiKeyAuthenticator(KEYS), strict_tenants=is_strict)
    with TestClient(
        create_app(Surface(agent, gate=gate), store="memory", settings=FAST_SETTINGS)
    ) as client:
        headers = {"X-API-Key": key * 40, "A2A-Version": "1.0"}
        answer = client.post(
            f"/{tenant}/message:send" if tenant else "/message:send", json=MESSAGE, headers=headers
        )
    assert answer.status_code == status, answer.text

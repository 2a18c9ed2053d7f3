"""Callers: tokens, keys and authenticators of others, identities for modules, rules of access,
protected skills.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

import jwt
import pytest
from integration.features.apcore.world import (
    Add,
    AgentUnderTest,
    Delete,
    Remember,
    apcore,
    build_registry,
    read_data,
    run_agent,
)

from a2a_runtime.auth.authentication import Authenticator, Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.features.apcore import JWTAuthenticator

pytestmark = pytest.mark.anyio
KEY = "a secret of more than 32 bytes, for tests"
AUTH = JWTAuthenticator(key=KEY, issuer="https://id.example", audience="tools")


def bearer(key: str = KEY, **claims: object) -> dict[str, str]:
    """Build the header of a token."""
    known = {"sub": "ada", "iss": "https://id.example", "aud": "tools", "exp": time.time() + 60}
    return {"authorization": f"Bearer {jwt.encode({**known, **claims}, key)}"}


async def status(agent: AgentUnderTest, headers: Mapping[str, str]) -> tuple[int, str]:
    """Send a request, and return its status and challenge."""
    response = await agent.http.post(
        "/", json={"jsonrpc": "2.0", "id": 1, "method": "tasks/list", "params": {}}, headers=headers
    )
    assert KEY not in response.text
    return response.status_code, response.headers.get("www-authenticate", "")


@pytest.mark.requirement("apcore", "FR-AUT-001", "FR-AUT-002", "FR-EXE-003")
async def test_a_token_is_the_identity_of_the_call() -> None:
    """A valid token brings the identity with all claims; any other token is refused."""
    async with run_agent(build_registry(memory__show=Remember()), auth=AUTH) as agent:
        claims = {
            "email": "ada@example.com",
            "name": "Ada",
            "roles": ["dev", "ops"],
            "team": {"id": 7},
        }
        identity = read_data(
            await agent.call("memory.show", {"number": 1}, headers=bearer(**claims))
        )["identity"]
        assert (identity["id"], identity["roles"]) == ("ada", ["dev", "ops"])
        assert claims.items() <= identity["attrs"].items()
        code, challenge = await status(agent, {})
        assert (code, challenge.split()[0]) == (401, "Bearer")
        wrong = ({"exp": time.time() - 60}, {"iss": "https://other.example"}, {"aud": "other"})
        for headers in (
            bearer("another key of more than 32 bytes, too"),
            *(bearer(**each) for each in wrong),
            {"authorization": "Bearer x.y.z"},
        ):
            code, challenge = await status(agent, headers)
            assert (code, challenge.startswith("Bearer")) == (401, True)
            assert headers["authorization"].removeprefix("Bearer ") not in challenge


@pytest.mark.requirement("apcore", "FR-EXE-003")
async def test_without_authentication_there_is_no_identity() -> None:
    """A token that is sent anyway is not looked at."""
    async with run_agent(build_registry(memory__show=Remember())) as agent:
        assert (
            read_data(await agent.call("memory.show", {"number": 1}, headers=bearer()))["identity"]
            is None
        )


def build_protected() -> Any:
    """Build an executor whose rules let only developers add, and every caller see."""
    rules = [
        apcore.ACLRule(
            callers=["@external"], targets=["math.*"], effect="allow", conditions={"roles": ["dev"]}
        ),
        apcore.ACLRule(
            callers=["@external"], targets=["memory.show", "data.delete"], effect="allow"
        ),
    ]
    registry = build_registry(math__add=Add(), memory__show=Remember(), data__delete=Delete())
    return apcore.Executor(registry, acl=apcore.ACL(rules=rules, default_effect="deny"))


@pytest.mark.requirement("apcore", "FR-ERR-003", "FR-AUT-002", "NFR-SEC-001")
async def test_a_denied_call_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It looks like a task that is not there, and the log has the truth; with the role the call is
    made.
    """
    async with run_agent(build_protected(), auth=AUTH) as agent:
        error = await agent.fail("math.add", {"a": 1, "b": 2}, headers=bearer())
        assert (error["code"], error["message"], error["data"]["type"]) == (
            -32001,
            "Task not found",
            "TaskNotFoundError",
        )
        assert not any(
            secret in str(error).lower() for secret in ("acl", "denied", "math", "ada", "external")
        )
        assert any(
            each.levelno == logging.WARNING and "math.add" in each.getMessage()
            for each in caplog.records
        )
        invalid = await agent.fail("math.add", {"a": "x"}, headers=bearer())
        assert invalid["code"] == -32001
        assert read_data(
            await agent.call("math.add", {"a": 1, "b": 2}, headers=bearer(roles=["dev"]))
        ) == {"total": 3}
        assert (await agent.rpc("tasks/list", {}, **bearer()))["result"]["totalSize"] == 1


@pytest.mark.requirement("apcore", "FR-AGC-004")
async def test_protected_skills_are_on_the_extended_card_only() -> None:
    """Those that need an approval, and those that anonymous callers may not call."""
    async with run_agent(build_protected(), auth=AUTH) as agent:
        assert await agent.skills() == ["memory.show"]
        extended = await agent.rpc("agent/getAuthenticatedExtendedCard", {}, **bearer())
        assert [each["id"] for each in extended["result"]["skills"]] == [
            "data.delete",
            "math.add",
            "memory.show",
        ]
        assert extended["result"]["securitySchemes"] == {
            "bearerAuth": {"type": "http", "scheme": "bearer"}
        }
        refused = await agent.http.post(
            "/", json={"jsonrpc": "2.0", "id": 1, "method": "agent/getAuthenticatedExtendedCard"}
        )
        assert refused.status_code == 401
    async with run_agent(build_protected()) as agent:
        assert await agent.skills() == ["data.delete", "math.add", "memory.show"]


@pytest.mark.requirement("apcore", "FR-AUT-003")
async def test_the_card_names_the_schemes() -> None:
    """A bearer token, an API key, or nothing."""
    registry = build_registry(math__add=Add())
    keys = ApiKeyAuthenticator({digest_key("k" * 40): Identity("ada")})
    for auth, expected in (
        (AUTH, {"bearerAuth": {"type": "http", "scheme": "bearer"}}),
        (keys, {"apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}),
        (None, {}),
    ):
        async with run_agent(registry, auth=auth) as agent:
            assert (await agent.card()).get("securitySchemes", {}) == expected


class Badges:
    """An authenticator of others: an identity of the framework for a header."""

    def authenticate(self, headers: dict[str, str]) -> Any:
        """Read the badge."""
        name = headers.get("x-badge")
        if name:
            return apcore.Identity(id=name, type="service", roles=("dev",), attrs={"badge": name})
        return None


class AsyncBadges(Badges):
    """The same, as a coroutine, with a scheme for the card."""

    async def authenticate(self, headers: dict[str, str]) -> Any:  # type: ignore[override]
        """Read the badge."""
        return Badges.authenticate(self, headers)

    def security_schemes(self) -> dict[str, object]:
        """Describe the header."""
        return {"badge": {"type": "apiKey", "in": "header", "name": "X-Badge"}}


@pytest.mark.requirement("apcore", "FR-AUT-004", "FR-SRV-002")
async def test_any_authenticator_will_do() -> None:
    """An authenticator is known by its method; without an identity the caller is refused."""
    assert isinstance(AUTH, Authenticator)
    registry = build_registry(memory__show=Remember())
    for auth in (Badges(), AsyncBadges(), [AUTH, AsyncBadges()]):
        async with run_agent(registry, auth=auth) as agent:
            assert (await status(agent, {}))[0] == 401
            identity = read_data(
                await agent.call("memory.show", {"number": 1}, headers={"x-badge": "turing"})
            )["identity"]
            assert identity["id"].endswith("turing")
            assert (identity["roles"], identity["attrs"]["badge"]) == (["dev"], "turing")
    async with run_agent(registry, auth=AsyncBadges()) as agent:
        assert (await agent.card())["securitySchemes"] == {
            "badge": {"type": "apiKey", "in": "header", "name": "X-Badge"}
        }
    with pytest.raises(
        TypeError,
        match=r"auth: str is not an authenticator; give it a method authenticate\(headers\)",
    ):
        async with run_agent(registry, auth="secret"):
            pass

"""Calls of a run to another agent in the name of its caller: two agents, and an authorization
server that exchanges tokens, over sockets.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import jwt
import pytest
from integration.outcome_agent import serve_on_socket
from litestar import Litestar, Request, Response, get, post

from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth import AuthGate, Credentials, host_user
from a2a_runtime.base.caller import Caller
from a2a_runtime.client import (
    A2AClient,
    ClientCredentials,
    FileToken,
    JwtAssertion,
    MissingCredentialsError,
    OnBehalfOf,
    PrivateKeyJwt,
    TokenError,
)
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator, JwtValidation
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.token_issuer import TokenIssuer

KEY = SigningKey.generate()
GRANT = "urn:ietf:params:oauth:grant-type:"


class AuthorizationServer:
    """Gives tokens to the client ``front`` for its own proof, for an assertion, or in exchange for
    the token of a caller.
    """

    def __init__(self) -> None:
        self.issuer = TokenIssuer()
        self.url = ""
        self.forms: list[Mapping[str, str]] = []
        self.workload = "token of the platform"

    def build_app(self) -> Litestar:
        """Build its app: discovery of RFC 8414, and the token endpoint."""

        @get("/.well-known/oauth-authorization-server")
        async def metadata() -> Mapping[str, str]:
            return {"issuer": self.url, "token_endpoint": f"{self.url}/token"}

        @post("/token", status_code=200)
        async def token(request: Request[Any, Any, Any]) -> Response[Mapping[str, object]]:
            form = {
                name: values[0]
                for name, values in parse_qs((await request.body()).decode()).items()
            }
            self.forms.append(form)
            given = (
                self._issue(form)
                if self._is_proven(form, request.headers.get("authorization"))
                else None
            )
            if given is None:
                return Response({"error": "invalid_client"}, status_code=401)
            return Response({"access_token": given, "expires_in": 60})

        return Litestar([metadata, token], logging_config=None)

    def _is_proven(self, form: Mapping[str, str], header: str | None) -> bool:
        if form["grant_type"].endswith("jwt-bearer"):
            return form["assertion"] == self.workload or self._verify(
                form["assertion"], f"{self.url}/token"
            )
        proof = form.get("client_assertion")
        if proof is None:
            return header == httpx.BasicAuth("front", "s3cret")._auth_header
        return form["client_id"] == "front" and (
            proof == self.workload or self._verify(proof, self.url)
        )

    def _verify(self, assertion: str, audience: str) -> bool:
        key = jwt.PyJWK(KEY.to_jwk())
        try:
            claims = jwt.decode(
                assertion,
                key,
                ["ES256"],
                audience=audience,
                issuer="front",
                options={"require": ["jti", "exp", "iat", "sub"]},
            )
        except jwt.InvalidTokenError:
            return False
        return bool(claims["sub"] == "front" and claims["exp"] <= time.time() + 61)

    def _issue(self, form: Mapping[str, str]) -> str | None:
        if not form["grant_type"].endswith("token-exchange"):
            return self.issuer.issue_token("front", aud="back")
        subject = jwt.decode(form["subject_token"], options={"verify_signature": False})
        actor = {"sub": "front", **({"act": subject["act"]} if "act" in subject else {})}
        return self.issuer.issue_token(
            subject["sub"], aud=form["audience"], act=actor, scope=form.get("scope", "")
        )

    def build_gate(self, audience: str, *, keep_token: bool = False) -> AuthGate:
        """Build the gate of an agent that takes tokens for an audience."""
        validation = JwtValidation(self.issuer.name, audience, ("ES256",))
        return AuthGate(JwtAuthenticator(self.issuer.keys(), validation, keep_token=keep_token))


class World:
    """The agent ``front``, which asks the agent ``back`` for its caller."""

    def __init__(self, stack: ExitStack, **settings: Any) -> None:  # noqa: ANN401 - of OnBehalfOf
        self.server = AuthorizationServer()
        self.server.url = str(
            stack.enter_context(serve_on_socket(self.server.build_app())).base_url
        )
        back = Agent("back")

        @back.skill("who")
        async def who(ctx: TaskContext) -> dict[str, object]:
            return {
                "subject": ctx.caller.subject,
                "actors": ctx.caller.actors,
                "token": ctx.caller.token,
                "scopes": sorted(ctx.caller.scopes),
            }

        gate = self.server.build_gate("back")
        url = str(
            stack.enter_context(
                serve_on_socket(create_app(Surface(back, gate=gate), settings=FAST_SETTINGS))
            ).base_url
        )
        partner = OnBehalfOf(
            self.server.url, "back", "front", **({"client_secret": "s3cret"} | settings)
        )
        front = Agent("front")

        @front.skill("ask")
        async def ask(ctx: TaskContext) -> object:
            async with A2AClient(url, auth=partner.for_caller(ctx.caller)) as client:
                answers = [await client.send("who?") for _ in range(2)]
            assert all(isinstance(each, Task) for each in answers)
            return str(answers[-1])

        surface = Surface(front, gate=self.server.build_gate("front", keep_token=True))
        self.front = stack.enter_context(
            serve_on_socket(create_app(surface, settings=FAST_SETTINGS))
        )

    def ask(self, **claims: object) -> str:
        """Let Ada ask."""
        token = self.server.issuer.issue_token("ada", aud="front", **claims)
        message = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
        return self.front.post(
            "/message:send", json=message, headers={"authorization": f"Bearer {token}"}
        ).text


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Servers of a test."""
    with ExitStack() as servers:
        yield servers


PROOFS = {"secret": "s3cret", "private key": PrivateKeyJwt(KEY)}


@pytest.mark.parametrize("proof", PROOFS.values(), ids=PROOFS)
def test_another_agent_knows_the_caller_and_the_actors(
    stack: ExitStack, proof: str | PrivateKeyJwt
) -> None:
    """The exchanged token is for that agent alone, and one exchange serves all calls of a run; the
    next run has its own.
    """
    world = World(stack, client_secret=proof, scopes=["ask"])
    said = world.ask()
    assert "'subject': 'ada'" in said
    assert "front" in said
    assert "'scopes': ['ask']" in said
    (form,) = world.server.forms
    assert form["grant_type"] == f"{GRANT}token-exchange"
    assert form["audience"] == "back"
    assert jwt.decode(form["subject_token"], options={"verify_signature": False})["sub"] == "ada"
    assert "s3cret" not in str(form)
    assert "portal" in world.ask(act={"sub": "portal"})
    assert len(world.server.forms) == 2


def test_a_token_is_in_no_representation_and_kept_by_request_only(stack: ExitStack) -> None:
    """The second agent keeps none; a caller's token is in no representation."""
    assert "'token': ''" in World(stack).ask()
    with_token = Caller("ada", token="eyJ…")  # noqa: S106 - of a test
    assert "eyJ" not in repr(with_token)
    assert with_token == Caller("ada")


def test_a_platform_proves_the_client_and_the_actor(stack: ExitStack, tmp_path: Path) -> None:
    """By a token in a file, which is read for each request, because the platform renews it."""
    path = tmp_path / "token"
    path.write_text("an old one")
    world = World(stack, client_secret=FileToken(path), actor=FileToken(path))
    assert "invalid_client" in world.ask() or "TASK_STATE_FAILED" in world.ask()
    path.write_text(world.server.workload + "\n")
    assert "'subject': 'ada'" in world.ask()
    assert world.server.forms[-1]["actor_token"] == world.server.workload


@pytest.mark.anyio
async def test_a_client_gets_its_own_token_by_each_proof(stack: ExitStack, tmp_path: Path) -> None:
    """A secret, a signature, a workload token; or for an assertion alone."""
    server = AuthorizationServer()
    server.url = str(stack.enter_context(serve_on_socket(server.build_app())).base_url)
    path = tmp_path / "token"
    path.write_text(server.workload)
    ways = [
        ClientCredentials.from_issuer(server.url, "front", "s3cret"),
        ClientCredentials.from_issuer(server.url, "front", PrivateKeyJwt(KEY)),
        ClientCredentials(f"{server.url}/token", "front", PrivateKeyJwt(KEY, audience=server.url)),
        ClientCredentials.from_issuer(server.url, "front", FileToken(path)),
        JwtAssertion(f"{server.url}/token", FileToken(path), scopes=["a"]),
        JwtAssertion(f"{server.url}/token", PrivateKeyJwt(KEY), subject="front"),
    ]
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200)

    for way in ways:
        mounts = {server.url: httpx.AsyncHTTPTransport()}
        async with httpx.AsyncClient(
            transport=httpx.MockTransport(answer), mounts=mounts, auth=way, trust_env=False
        ) as client:
            assert (await client.get("https://back.example/")).status_code == 200
        claims = jwt.decode(seen[-1].removeprefix("Bearer "), options={"verify_signature": False})
        assert claims["sub"] == "front"
    assert server.forms[-2]["scope"] == "a"
    wrong = ClientCredentials.from_issuer(server.url, "front", "wrong")
    async with httpx.AsyncClient(auth=wrong, trust_env=False) as client:
        with pytest.raises(TokenError, match="invalid_client") as raised:
            await client.get("https://back.example/")
    assert "wrong" not in str(raised.value) + repr(wrong)


@pytest.mark.anyio
async def test_a_token_in_a_file_is_sent_as_it_is_now(tmp_path: Path) -> None:
    """As the credentials of a client; a missing or empty file is an error with its cure."""
    path = tmp_path / "token"
    auth = FileToken(path)
    echo = httpx.MockTransport(
        lambda request: httpx.Response(200, text=request.headers["authorization"])
    )
    async with httpx.AsyncClient(transport=echo, auth=auth) as client:
        for token in ("one", "two"):
            path.write_text(f"{token}\n")
            assert (await client.get("https://agent.example")).text == f"Bearer {token}"
        path.write_text("")
        with pytest.raises(TokenError, match=r"empty file.*platform writes it"):
            await client.get("https://agent.example")
        path.unlink()
        with pytest.raises(TokenError, match=r"No such file.*platform mounts it"):
            await client.get("https://agent.example")


def test_a_run_without_a_token_is_an_error_with_its_cure() -> None:
    """As one that goes on after a question; another credential may take its place."""
    partner = OnBehalfOf("https://id.example", "back", "front", "s3cret")
    own = ClientCredentials("https://id.example/token", "front", "s3cret")
    with pytest.raises(
        MissingCredentialsError, match=r"keep_token=True.*tokens are not stored; pass otherwise="
    ):
        partner.for_caller(Caller("ada"))
    assert partner.for_caller(Caller("ada"), otherwise=own) is own
    assert "s3cret" not in repr(partner)


def test_an_exchange_says_for_whom_and_where() -> None:
    """A token for any audience, or a server that is not safe, is refused where it is configured."""
    with pytest.raises(ValueError, match="no audience given"):
        OnBehalfOf("https://id.example", "", "front", "s3cret")
    with pytest.raises(ValueError, match="https only"):
        OnBehalfOf("http://id.example", "back", "front", "s3cret")
    with pytest.raises(ValueError, match="pass subject="):
        JwtAssertion("https://id.example/token", PrivateKeyJwt(KEY))


def test_actors_are_a_chain() -> None:
    """The present one first; what is no chain ends it."""
    assert Caller("ada", claims={"act": {"sub": "b", "act": {"sub": "a"}}}).actors == ("b", "a")
    assert Caller("ada", claims={"act": "b"}).actors == ()
    assert Caller("ada", claims={"act": {"act": {"sub": "a"}}}).actors == ("", "a")
    assert Caller("ada").actors == ()
    deep: dict[str, object] = {}
    for _ in range(1000):
        deep = {"sub": "x", "act": deep}
    assert len(Caller("ada", claims={"act": deep}).actors) == 16


def test_the_token_of_a_user_of_the_host_can_be_kept() -> None:
    """Only if it is asked for."""
    scope: Any = {
        "type": "http",
        "headers": [(b"authorization", b"Bearer abc")],
        "user": "ada",
        "query_string": b"",
    }
    for keep, token in ((True, "abc"), (False, "")):
        identity = host_user(keep_token=keep)(Credentials(scope))
        assert getattr(identity, "token", None) == token
    assert json.dumps("abc") not in repr(host_user(keep_token=True)(Credentials(scope)))

"""Apps whose surfaces are guarded, and people who have tokens for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from tempfile import NamedTemporaryFile
from typing import Any

from integration.dialect_client import DialectClient
from integration.outcome_agent import build_test_agent, echo
from litestar import Litestar, get
from litestar.config.app import AppConfig
from litestar.plugins import InitPlugin

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate, Gate, PresenceGate
from a2a_runtime.auth.rate_limit import ANY_OPERATION, RateLimit, RateLimiter
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.keys.jwt_tokens import ClaimNames, JwtAuthenticator
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import TypedSchema
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.token_issuer import TokenIssuer

ISSUER = TokenIssuer()
HOST_PATH = "/health"
WORD: TypedSchema[str] = TypedSchema(
    str, {"$id": "https://example.org/word.json", "type": "string"}
)


def build_gate() -> Gate:
    """Make a gate that knows the issuer, and the tenants that its tokens name."""
    return AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(tenant="org")))


def build_combined_gate() -> Gate:
    """Make a gate that takes a token, a key, or a name with a password."""
    keys = ApiKeyAuthenticator({digest_key("k"): Identity("box")})
    people = BasicAuthenticator({"ada": User(hash_password("s3cret-word"), Identity("ada"))})
    return AuthGate(
        JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(tenant="org")), keys, people
    )


async def recall(ctx: TaskContext) -> str:
    """Say what is remembered of the conversation, and remember what was said."""
    before = [
        part.text for message in await ctx.conversation() for part in message.parts if part.text
    ]
    state = dict(await ctx.state.load())
    referenced = [task.id for task in await ctx.referenced_tasks()]
    await ctx.state.update({"secret": ctx.text})
    return f"{before} {state} {referenced}"


async def act(ctx: TaskContext) -> str:
    """Do one of several things: where a surface has one skill, it can do everything that is tried
    here.
    """
    if ctx.text == "ask":
        return (await ctx.ask("What?")).text
    if ctx.text == "wait":
        await ctx.status("at it")
        await asyncio.Event().wait()
    return await recall(ctx)


def build_guarded_agent() -> Agent:
    """Make an agent with a skill for every way in which a task can go, and one that remembers."""
    agent = build_test_agent()
    agent.add("act", act)
    agent.add("shout", echo, contract=SkillContract("shout", WORD, WORD))
    agent.add("hidden", echo, contract=SkillContract("hidden", WORD, WORD), only_extended=True)
    return agent


@get(HOST_PATH)
async def health() -> str:
    """Respond without a gate: a route of the host."""
    return "fine"


class RouteExplorer(InitPlugin):
    """A plugin of the host with public pages beside the agent."""

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Add a page."""

        @get("/explorer")
        async def explorer() -> str:
            return "look"

        app_config.route_handlers.append(explorer)
        return app_config


def _build_host() -> Litestar:
    surfaces = (
        Surface(build_guarded_agent(), "/agents/a", gate=build_gate()),
        Surface(build_guarded_agent(), "/agents/b", gate=PresenceGate()),
    )
    return Litestar(
        [health],
        plugins=[A2APlugin(*surfaces, store="memory", settings=FAST_SETTINGS), RouteExplorer()],
        logging_config=None,
    )


def _beside_the_host() -> Litestar:
    plugin = A2APlugin(
        Surface(build_guarded_agent(), gate=build_gate()), store="memory", settings=FAST_SETTINGS
    )
    return Litestar([health], plugins=[plugin, RouteExplorer()], logging_config=None)


def _with_keys() -> Litestar:
    with NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(SigningKey.generate().to_pem())
        file.flush()
        surface = Surface(
            build_guarded_agent(), gate=build_gate(), public_url="https://guarded.example"
        )
        return create_app(
            surface, store="memory", settings=replace(FAST_SETTINGS, signing_keys=(file.name,))
        )


APPS: Mapping[str, Callable[[], Litestar]] = {
    "root": lambda: create_app(
        Surface(build_guarded_agent(), gate=build_gate()), store="memory", settings=FAST_SETTINGS
    ),
    "1.0 only": lambda: create_app(
        Surface(build_guarded_agent(), "/x", dialects=frozenset((V1_0.name,)), gate=build_gate()),
        store="memory",
        settings=FAST_SETTINGS,
    ),
    "0.3 only": lambda: create_app(
        Surface(build_guarded_agent(), "/x", dialects=frozenset((V0_3.name,)), gate=build_gate()),
        store="memory",
        settings=FAST_SETTINGS,
    ),
    "presence": lambda: create_app(
        Surface(build_guarded_agent(), gate=PresenceGate()), store="memory", settings=FAST_SETTINGS
    ),
    "surfaces within surfaces": lambda: create_app(
        *(
            Surface(build_guarded_agent(), path, gate=build_gate())
            for path in ("", "/v1x", "/a", "/a/b")
        ),
        store="memory",
        settings=FAST_SETTINGS,
    ),
    "mesh": lambda: create_app(
        Surface(
            build_guarded_agent(),
            "/agents/m",
            dialects=frozenset((V1_0.name, V0_3.name, MESH.name)),
            only=frozenset(("shout",)),
            gate=build_gate(),
        ),
        store="memory",
        settings=FAST_SETTINGS,
    ),
    "with keys of its own": _with_keys,
    "for browsers": lambda: create_app(
        Surface(build_guarded_agent(), gate=build_gate()),
        store="memory",
        settings=replace(FAST_SETTINGS, cors_origins=("https://app.example",), hsts_seconds=60),
    ),
    "with several proofs, rates, room and a policy": lambda: create_app(
        Surface(
            build_guarded_agent(),
            "/x",
            gate=build_combined_gate(),
            rate_limiter=RateLimiter({ANY_OPERATION: RateLimit(10**6, 60)}),
            limits=Limits(concurrency=100),
            policy=lambda *_: True,
        ),
        store="memory",
        settings=FAST_SETTINGS,
    ),
    "beside a host": _beside_the_host,
    "hosted": _build_host,
}
"""Every kind of app that can be built, with guarded surfaces only."""


@dataclass(frozen=True)
class AuthenticatedClient(DialectClient):
    """A client with a token, for one dialect and binding."""

    token: str = ""

    def build_request(
        self, operation: Operation, request: WireModel, **headers: str
    ) -> tuple[str, str, dict[str, Any]]:
        """Build a request with the token."""
        method, url, options = super().build_request(operation, request, **headers)
        if self.token:
            options["headers"]["authorization"] = f"Bearer {self.token}"
        return method, url, options

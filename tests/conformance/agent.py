"""The agent under test, its callers, and the surfaces that it is mounted at."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence

from integration.grpc_overlay import find_free_address
from integration.outcome_agent import ALL_CAPABILITIES, EXTENSION, build_test_agent
from litestar import Litestar

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import PermissionDeniedError
from a2a_contract.v1_0 import (
    AgentExtension,
    Artifact,
    HTTPAuthSecurityScheme,
    Message,
    Part,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.auth.gate import ChallengeError
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

SCHEME = "token"
ADA = {"Authorization": "Bearer ada"}
BOB = {"Authorization": "Bearer bob"}


class NameGate:
    """A gate that accepts a name as a token; eve has no permissions."""

    def admit(self, credentials: Credentials) -> Caller:
        """Take the token for the name."""
        kind, _, name = (credentials.get("authorization") or "").partition(" ")
        if kind != "Bearer" or name not in {"ada", "bob", "carl", "eve"}:
            raise ChallengeError("Bearer", "Bring a token")
        if name == "eve":
            raise PermissionDeniedError("scope tasks:write is missing")
        return Caller(name, schemes={SCHEME: frozenset()})

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the token."""
        return {
            SCHEME: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer")
            )
        }

    def security_requirements(self) -> Sequence[SecurityRequirement]:
        """Say that the token is needed."""
        return [SecurityRequirement(schemes={SCHEME: StringList()})]


async def mirror(ctx: TaskContext) -> Artifact:
    """Give back what was sent."""
    return Artifact(artifact_id="mirror", name="mirror", parts=ctx.message.parts)


async def permit(ctx: TaskContext) -> str:
    """Ask to be authorized."""
    return f"Authorized: {(await ctx.require_auth('Sign in at https://example.org')).text}"


async def refuse(ctx: TaskContext) -> None:
    """Do nothing of the kind."""
    ctx.reject("Not for me")


async def recall(ctx: TaskContext) -> str:
    """Tell what the tasks that the message refers to have been about."""
    return ", ".join(
        part.text or ""
        for task in await ctx.referenced_tasks()
        for part in (task.history or ())[0].parts
    )


async def several(_ctx: TaskContext) -> AsyncGenerator[Artifact, None]:
    """Give two artifacts, piece by piece."""
    for name in ("one", "two"):
        for text in ("a", "b"):
            yield Artifact(artifact_id=name, parts=[Part(text=text)])


released = threading.Event()


async def release(ctx: TaskContext) -> AsyncGenerator[str, None]:
    """Yield chunks once a test releases them."""
    assert await asyncio.to_thread(released.wait, 30)
    for number in range(int(ctx.text)):
        yield str(number)


async def comment(ctx: TaskContext) -> Message:
    """Finish with words instead of a result."""
    return ctx.reply("Done")


def agent_under_test(capabilities: Capabilities = ALL_CAPABILITIES) -> Agent:
    """Make an agent with a skill for every way in which a task can go."""
    agent = build_test_agent(capabilities=capabilities)
    agent.add("mirror", mirror, input_modes=("*/*",), output_modes=("*/*",))
    for handler in (permit, refuse, recall, several, release, comment):
        agent.add(handler.__name__, handler)
    agent.add("secret", mirror, only_extended=True)
    return agent


def plain_agent(capabilities: Capabilities) -> Agent:
    """Build an agent whose card is the same for every caller."""
    return build_test_agent(capabilities=capabilities)


LIMIT = 100_000
STRICT = "https://example.org/extensions/strict/v2"


RELEASED = frozenset((V1_0.name, V0_3.name))


def app_under_test(
    store: Store | str | None = None,
    settings: Settings = FAST_SETTINGS,
    dialects: frozenset[str] = RELEASED,
) -> Litestar:
    """Mount the agent: with everything, without what is optional, with a card that is missing, and
    with an extension that is required.

    Each of these surfaces has a port for gRPC.
    """
    agent = agent_under_test()
    gate = NameGate()
    required = Capabilities(
        extensions=(AgentExtension(uri=EXTENSION), AgentExtension(uri=STRICT, required=True))
    )
    return create_app(
        Surface(
            agent,
            dialects=dialects,
            gate=gate,
            limits=Limits(body_bytes=LIMIT),
            grpc=GrpcOptions(find_free_address()),
        ),
        Surface(agent, "/kind", gate=gate, default_v0_3_form=V0_3.name),
        Surface(
            plain_agent(Capabilities(streaming=False)),
            "/plain",
            dialects,
            grpc=GrpcOptions(find_free_address()),
        ),
        Surface(
            plain_agent(ALL_CAPABILITIES),
            "/promised",
            dialects,
            gate=gate,
            grpc=GrpcOptions(find_free_address()),
        ),
        Surface(plain_agent(required), "/strict", dialects, grpc=GrpcOptions(find_free_address())),
        store=store,
        settings=settings,
    )

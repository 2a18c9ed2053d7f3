"""Authorization within a task: requested by the agent, granted by a message or elsewhere."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest
from conformance.security.guarded_apps import ISSUER, AuthenticatedClient, build_gate
from integration.dialect_client import DIALECT_BINDINGS, CallError, DialectBinding
from litestar import Litestar, get
from litestar.exceptions import NotFoundException
from litestar.params import FromQuery
from litestar.testing import TestClient

from a2a_contract.v1_0 import TaskState
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, artifact_texts, build_user_message

ADA = ISSUER.issue_token("ada", org="acme")
EVE = ISSUER.issue_token("eve", org="acme")


@dataclass
class TokenBank:
    """An agent that needs a permission of another authorization server, and the page that it
    redirects to.
    """

    waiting: dict[str, tuple[TaskScope, str]] = field(default_factory=dict)

    async def pay(self, ctx: TaskContext) -> str:
        """Request permission, and pay."""
        ticket = await ctx.once("ticket", self._ticket)
        self.waiting[ticket] = ctx.scope, ctx.task_id
        answer = await ctx.require_auth(
            f"Please permit it at https://bank.example/permit?ticket={ticket}"
        )
        return f"paid with {answer.text}"

    @staticmethod
    async def _ticket() -> str:
        return secrets.token_urlsafe(16)

    def app(self) -> Litestar:
        """Build the app."""
        agent = Agent("bank")
        agent.add("pay", self.pay)
        plugin = A2APlugin(
            Surface(agent, "/bank", gate=build_gate()), store="memory", settings=FAST_SETTINGS
        )

        @get("/permitted")
        async def permitted(ticket: FromQuery[str]) -> str:
            if ticket not in self.waiting or plugin.runtime is None:
                raise NotFoundException
            scope, task_id = self.waiting.pop(ticket)
            await plugin.runtime.engine.send_message(
                scope, task_id, build_user_message("a permission from elsewhere")
            )
            return "thank you"

        return Litestar([permitted], plugins=[plugin], logging_config=None)


@pytest.fixture
def bank() -> TokenBank:
    """A bank."""
    return TokenBank()


@pytest.fixture
def client(bank: TokenBank) -> Iterator[httpx.Client]:
    """A client of the bank."""
    with TestClient(bank.app()) as client:
        yield client


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def binding(request: pytest.FixtureRequest) -> DialectBinding:
    """A dialect over a binding."""
    binding: DialectBinding = request.param
    return binding


def test_a_message_grants_the_permission(client: httpx.Client, binding: DialectBinding) -> None:
    """Only of the caller that owns the task."""
    ada, eve = (AuthenticatedClient(client, binding, "/bank", token) for token in (ADA, EVE))
    task = ada.task("100")
    assert task.status.state == TaskState.AUTH_REQUIRED
    assert task.status.message is not None
    with pytest.raises(CallError):
        eve.task("mine", task_id=task.id)
    assert artifact_texts(ada.task("a code", task_id=task.id)) == {"result": ["paid with a code"]}


def test_a_callback_grants_the_permission(
    client: httpx.Client, bank: TokenBank, binding: DialectBinding
) -> None:
    """The task continues without another message, and only once."""
    ada = AuthenticatedClient(client, binding, "/bank", ADA)
    task = ada.task("100")
    (ticket,) = bank.waiting
    assert client.get("/permitted", params={"ticket": "guessed"}).status_code == 404
    assert client.get("/permitted", params={"ticket": ticket}).status_code == 200
    reader = AuthenticatedClient(client, DIALECT_BINDINGS[0], "/bank", ADA)
    done = next(
        each
        for _ in range(100)
        if (each := reader.get(task.id)).status.state == TaskState.COMPLETED
    )
    assert artifact_texts(done) == {"result": ["paid with a permission from elsewhere"]}

"""Callers in runs that go on after a question: what later runs know of them, in this process or
another, is stored with the task.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.outcome_agent import serve_on_socket

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth import ApiKeyAuthenticator, AuthGate, Identity, digest_key
from a2a_runtime.base.caller import Caller, TaskScope
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

CALLERS = {
    "plain": Identity("ada"),
    "rich": Identity(
        "ada",
        "acme",
        frozenset(("a", "b")),
        frozenset(("boss",)),
        claims={"email": "ada@example.org", "act": {"sub": "portal"}},
    ),
    "team": Identity("ada", team="sales", token="eyJ…"),  # noqa: S106 - of a test
}


def build_agent() -> Agent:
    """Build an agent that says before and after a question who its caller is."""
    agent = Agent("who")

    @agent.skill("who")
    async def who(ctx: TaskContext) -> dict[str, object]:
        await ctx.ask("go on?")
        caller = ctx.caller
        names = {
            "subject": caller.subject,
            "tenant": caller.tenant,
            "team": caller.team,
            "owner": caller.owner,
            "token": caller.token,
        }
        return {
            **names,
            "scopes": sorted(caller.scopes),
            "roles": sorted(caller.roles),
            "claims": dict(caller.claims),
            "actors": caller.actors,
        }

    return agent


def send(client: httpx.Client, text: str, task_id: str | None = None) -> Any:  # noqa: ANN401 - JSON
    """Send a message."""
    message = {
        "messageId": text,
        "role": "ROLE_USER",
        "parts": [{"text": text}],
        **({"taskId": task_id} if task_id else {}),
    }
    return client.post(
        "/message:send", json={"message": message}, headers={"X-API-Key": "k" * 32}
    ).json()["task"]


@pytest.mark.parametrize("name", CALLERS)
def test_a_later_run_knows_the_caller(name: str, tmp_path: Path) -> None:
    """With scopes, roles, team and claims, also after a restart; without a token, which is never
    stored.
    """
    identity = CALLERS[name]
    store = f"sqlite:///{tmp_path}/tasks.db"

    def build_app() -> object:
        gate = AuthGate(ApiKeyAuthenticator({digest_key("k" * 32): identity}))
        return create_app(Surface(build_agent(), gate=gate), store=store, settings=FAST_SETTINGS)

    with serve_on_socket(build_app()) as client:
        task_id = send(client, "hi")["id"]
    with serve_on_socket(build_app()) as client:
        said = send(client, "yes", task_id)["artifacts"][0]["parts"][0]["data"]
    assert said == {
        "subject": "ada",
        "tenant": identity.tenant,
        "team": identity.team,
        "owner": "team:sales" if identity.team else "ada",
        "token": "",
        "scopes": sorted(identity.scopes),
        "roles": sorted(identity.roles),
        "claims": identity.claims,
        "actors": ["portal"] if identity.claims else [],
    }
    assert b"eyJ" not in Path(f"{tmp_path}/tasks.db").read_bytes()


def test_claims_that_are_no_json_are_left_out() -> None:
    """As objects of a host; what is left is the same in every process."""
    caller = Caller(
        "ada",
        claims={
            "day": date(2026, 1, 1),
            "list": [1, object()],
            "name": "Ada",
            "deep": {"x": [None, 1.5]},
        },
    )
    stored = caller.to_json()
    assert stored["claims"] == {"name": "Ada", "deep": {"x": [None, 1.5]}}
    assert Caller.from_json(stored, TaskScope("/", "acme", "ada")) == Caller("ada", "acme")
    assert Caller("ada", "acme").to_json() == {}

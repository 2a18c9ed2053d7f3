"""Values that the agent never issued: each is refused with its path on every store, and none is an
internal error.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conformance.security.guarded_apps import (
    ISSUER,
    AuthenticatedClient,
    build_gate,
    build_guarded_agent,
)
from integration.dialect_client import DialectBinding
from litestar.testing import TestClient

from a2a_contract.dialects import V1_0
from a2a_contract.operations import (
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    LIST_TASKS,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import (
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity, InvalidCredentialsError
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

RPC = DialectBinding(V1_0.name, is_jsonrpc=True)
NUMBERS = {"too long to be read": "9" * 5000, "too large to be kept": str(2**63)}
TEXTS = {
    "a number too large to be kept": f"{2**63}",
    "half a character": r'"\ud800"',
    "no character": r'"\u0000"',
    "deep": "[" * 50_000 + "]" * 50_000,
}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a guarded agent on a store."""
    where = {"memory": "memory", "sqlite": f"sqlite:///{tmp_path}/tasks.db"}
    store = where.get(request.param) or request.getfixturevalue("postgres_url")
    with TestClient(
        create_app(
            Surface(build_guarded_agent(), gate=build_gate()), store=store, settings=FAST_SETTINGS
        )
    ) as client:
        yield client


def ada(client: httpx.Client) -> AuthenticatedClient:
    """Build a client with a token of ada."""
    return AuthenticatedClient(client, RPC, token=ISSUER.issue_token("ada", org="acme"))


def alter_token(token: str, *place: str) -> str:
    """Make another token of a list of one that was given out."""
    mark = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))[0]
    return base64.urlsafe_b64encode(f'["{mark}",{",".join(place)}]'.encode()).decode().rstrip("=")


def make_waiting_tasks(client: httpx.Client) -> Task:
    """Let there be two tasks that wait, and two webhooks."""
    ada(client).task("x", skill="ask")
    task = ada(client).task("x", skill="ask", message_id="m-2")
    for name in "ab":
        hook = TaskPushNotificationConfig(
            id=name, task_id=task.id, url="https://hooks.example.org/"
        )
        ada(client).call(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, hook)
    return task


def test_a_page_token_that_was_changed(client: httpx.Client) -> None:
    """A changed page token of tasks or of webhooks is refused."""
    task = make_waiting_tasks(client)
    tasks = ada(client).list(page_size=1).next_page_token
    listing = ListTaskPushNotificationConfigsRequest(task_id=task.id, page_size=1)
    hooks = (
        ada(client)
        .call_raw(LIST_TASK_PUSH_NOTIFICATION_CONFIGS, listing)
        .json()["result"]["nextPageToken"]
    )
    for each in TEXTS.values():
        for made_up in (alter_token(tasks, each, '"k"'), alter_token(tasks, "1", each)):
            answer = ada(client).call_raw(LIST_TASKS, ListTasksRequest(page_token=made_up)).json()
            assert (answer["error"]["code"], "pageToken" in str(answer)) == (-32602, True)
        refused = (
            ada(client)
            .call_raw(
                LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
                listing.model_copy(update={"page_token": alter_token(hooks, each)}),
            )
            .json()
        )
        assert (refused["error"]["code"], "pageToken" in str(refused)) == (-32602, True)


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS.keys())
def test_an_event_that_no_task_can_have(client: httpx.Client, number: str) -> None:
    """An impossible number as the last event seen is refused."""
    answer = (
        ada(client)
        .call_raw(
            SUBSCRIBE_TO_TASK,
            SubscribeToTaskRequest(id=make_waiting_tasks(client).id),
            last_event_id=number,
        )
        .json()
    )
    assert (answer["error"]["code"], "Last-Event-ID" in str(answer)) == (-32602, True)


@pytest.mark.parametrize(
    "claims",
    [{"subject": "a\ud800", "org": "acme"}, {"subject": "ada", "org": "a\udfff"}],
    ids=["a subject", "a tenant"],
)
def test_a_name_that_can_be_written_nowhere(client: httpx.Client, claims: dict[str, str]) -> None:
    """A valid token with a name that no store can write is refused."""
    answer = AuthenticatedClient(client, RPC, token=ISSUER.issue_token(**claims)).call_raw(
        LIST_TASKS, ListTasksRequest()
    )
    assert (answer.status_code, "do not name a valid caller" in answer.text) == (401, True)


def test_a_team_that_no_store_can_write_is_refused() -> None:
    """A team with half a surrogate pair makes an identity invalid, whatever the token."""
    with pytest.raises(InvalidCredentialsError):
        Identity("ada", team="\ud800")

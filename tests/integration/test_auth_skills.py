"""Skills with requirements: their visibility, their use, and access to their tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from integration.dialect_client import DIALECT_BINDINGS, CallError, DialectBinding, DialectClient, build_send_request
from integration.test_auth import ABLE, guarded, person, who
from litestar.testing import TestClient

from a2a_contract.operations import CANCEL_TASK, GET_TASK, LIST_TASKS, SEND_MESSAGE, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest, TaskState
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate, Gate, OpenGate
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import TypedSchema
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.parametrize("binding", DIALECT_BINDINGS, ids=str)

ABOUT = ((GET_TASK, GetTaskRequest), (CANCEL_TASK, CancelTaskRequest), (SUBSCRIBE_TO_TASK, SubscribeToTaskRequest))
"""What may be done with a task, and what asks for it."""


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an agent with a public skill, one that needs a scope, and a hidden one."""
    with TestClient(create_app(guarded(), store="memory", settings=FAST_SETTINGS)) as client:
        yield client


@pytest.mark.parametrize(
    "gate",
    [None, OpenGate(), AuthGate(ApiKeyAuthenticator({digest_key("k"): Identity("box")}), require=[{"apiKey": []}, {}])],
    ids=["none", "open", "optional-key"],
)
def test_a_hidden_skill_does_not_exist_for_anonymous_callers(binding: DialectBinding, gate: Gate | None) -> None:
    """On an open surface an anonymous caller reaches no hidden skill: not by its name, not as the first skill, not over plain HTTP."""
    agent = Agent("open", capabilities=ABLE)
    word: TypedSchema[str] = TypedSchema(str, {"$id": "https://example.org/word.json", "type": "string"})
    agent.add("hidden", who, contract=SkillContract("hidden", word, word), only_extended=True)
    agent.add("who", lambda _: "the one for all")
    with TestClient(create_app(Surface(agent, gate=gate), store="memory", settings=FAST_SETTINGS)) as client:
        anonymous = DialectClient(client, binding)
        refused = [anonymous.call_raw(SEND_MESSAGE, build_send_request("x", skill=name, message_id="m")) for name in ("hidden", "nope!")]
        assert refused[0].text.replace("hidden", "…") == refused[1].text.replace("nope!", "…")
        assert "the one for all" in str(anonymous.task("x").artifacts)
        assert client.post("/skills/hidden", json="x").text == client.post("/skills/nope", json="x").text
        assert client.get("/schemas/hidden/input.json").status_code == 404
        if isinstance(gate, AuthGate):
            client.headers["x-api-key"] = "k"
            assert anonymous.task("x", skill="hidden").status.state == TaskState.COMPLETED
            assert client.post("/skills/hidden", json="x").status_code == 200


def test_tasks_need_the_permissions_of_their_skill(client: httpx.Client, binding: DialectBinding) -> None:
    """A token without the permission of a skill cannot use its tasks, even of the same owner; without visibility it finds none."""
    rich, poor = person(client, binding, "tasks pay audit"), person(client, binding)
    paid, audited, plain = (rich.task("x", skill=name, message_id=name) for name in ("pay", "audit", "who"))
    for operation, request in ABOUT:
        refused = poor.call_raw(operation, request(id=paid.id))
        assert (refused.status_code, "pay" in refused.headers["www-authenticate"]) == (403, True)
        unknown = poor.call_raw(operation, request(id="nope"))
        assert poor.call_raw(operation, request(id=audited.id)).text.replace(audited.id, "nope") == unknown.text
    assert all(plain.id in each.call_raw(GET_TASK, GetTaskRequest(id=plain.id)).text for each in (poor, rich))
    assert all(rich.call_raw(GET_TASK, GetTaskRequest(id=each.id)).is_success for each in (paid, audited))
    if binding.has(LIST_TASKS):
        mine = {each.id for each in poor.list(page_size=100).tasks}
        assert (plain.id in mine, paid.id in mine, audited.id in mine) == (True, False, False)
        assert {paid.id, audited.id, plain.id} <= {each.id for each in rich.list(page_size=100).tasks}
    referring = poor.task("x", skill="who", message_id="m-9", reference_task_ids=[paid.id, plain.id])
    kept = [each for message in referring.history or () for each in message.reference_task_ids or ()]
    assert kept in ([plain.id], [])  # HTTP+JSON of 0.3 shows no references


def test_a_conversation_needs_what_its_skills_need(binding: DialectBinding) -> None:
    """A handler reads the whole conversation and its state, so a token without access to a skill sends nothing there, also after it is deleted."""
    store = MemoryStore(StoreOptions(retention_seconds=0))
    with TestClient(create_app(guarded(), store=store, settings=replace(FAST_SETTINGS, cleanup_interval=3600))) as client:
        rich, poor = person(client, binding, "tasks pay audit"), person(client, binding)
        for skill in ("pay", "audit"):
            said = rich.task("my secret", skill=skill, message_id=skill)
            with pytest.raises(CallError):
                poor.task("x", skill="who", message_id="m-1", context_id=said.context_id)
            asyncio.run(store.delete_expired())
            with pytest.raises(CallError):
                poor.task("x", skill="who", message_id="m-2", context_id=said.context_id)
            assert rich.task("x", skill="who", message_id="m-3", context_id=said.context_id).status.state == TaskState.COMPLETED
        own = poor.task("x", skill="who", message_id="m-4")
        assert poor.task("x", skill="who", message_id="m-5", context_id=own.context_id).status.state == TaskState.COMPLETED

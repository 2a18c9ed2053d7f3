"""Skills with requirements: their visibility, their use, and access to their tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from integration.auth.test_auth import ABLE, ISSUER, build_guarded_surface, person, who
from integration.dialect_client import (
    DIALECT_BINDINGS,
    CallError,
    DialectBinding,
    DialectClient,
    build_send_request,
)
from litestar.testing import TestClient

from a2a_contract.operations import (
    CANCEL_TASK,
    GET_TASK,
    LIST_TASKS,
    SEND_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    GetTaskRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate, Gate, OpenGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import TypedSchema
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.parametrize("binding", DIALECT_BINDINGS, ids=str)

ABOUT = (
    (GET_TASK, GetTaskRequest),
    (CANCEL_TASK, CancelTaskRequest),
    (SUBSCRIBE_TO_TASK, SubscribeToTaskRequest),
)
"""What may be done with a task, and what asks for it."""


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an agent with a public skill, one that needs a scope, and a hidden one."""
    with TestClient(
        create_app(build_guarded_surface(), store="memory", settings=FAST_SETTINGS)
    ) as client:
        yield client


@pytest.mark.parametrize(
    "gate",
    [
        None,
        OpenGate(),
        AuthGate(
            ApiKeyAuthenticator({digest_key("k"): Identity("box")}), require=[{"apiKey": []}, {}]
        ),
    ],
    ids=["none", "open", "optional-key"],
)
def test_a_hidden_skill_does_not_exist_for_anonymous_callers(
    binding: DialectBinding, gate: Gate | None
) -> None:
    """On an open surface an anonymous caller reaches no hidden skill: not by its name, not as the
    first skill, not over plain HTTP.
    """
    agent = Agent("open", capabilities=ABLE)
    word: TypedSchema[str] = TypedSchema(
        str, {"$id": "https://example.org/word.json", "type": "string"}
    )
    agent.add("hidden", who, contract=SkillContract("hidden", word, word), only_extended=True)
    agent.add("who", lambda _: "the one for all")
    with TestClient(
        create_app(Surface(agent, gate=gate), store="memory", settings=FAST_SETTINGS)
    ) as client:
        anonymous = DialectClient(client, binding)
        refused = [
            anonymous.call_raw(SEND_MESSAGE, build_send_request("x", skill=name, message_id="m"))
            for name in ("hidden", "nope!")
        ]
        assert refused[0].text.replace("hidden", "…") == refused[1].text.replace("nope!", "…")
        assert "the one for all" in str(anonymous.task("x").artifacts)
        assert (
            client.post("/skills/hidden", json="x").text
            == client.post("/skills/nope", json="x").text
        )
        assert client.get("/schemas/hidden/input.json").status_code == 404
        if isinstance(gate, AuthGate):
            client.headers["x-api-key"] = "k"
            assert anonymous.task("x", skill="hidden").status.state == TaskState.COMPLETED
            assert client.post("/skills/hidden", json="x").status_code == 200


def test_tasks_need_the_permissions_of_their_skill(
    client: httpx.Client, binding: DialectBinding
) -> None:
    """A token without the permission of a skill cannot use its tasks, even of the same owner;
    without visibility it finds none.
    """
    rich = person(client, binding, "tasks pay audit")
    poor = person(client, binding)
    paid, audited, plain = (
        rich.task("x", skill=name, message_id=name) for name in ("pay", "audit", "who")
    )
    for operation, request in ABOUT:
        refused = poor.call_raw(operation, request(id=paid.id))
        assert (refused.status_code, "pay" in refused.headers["www-authenticate"]) == (403, True)
        unknown = poor.call_raw(operation, request(id="nope"))
        assert (
            poor.call_raw(operation, request(id=audited.id)).text.replace(audited.id, "nope")
            == unknown.text
        )
    assert all(
        plain.id in each.call_raw(GET_TASK, GetTaskRequest(id=plain.id)).text
        for each in (poor, rich)
    )
    assert all(
        rich.call_raw(GET_TASK, GetTaskRequest(id=each.id)).is_success for each in (paid, audited)
    )
    if binding.has(LIST_TASKS):
        mine = {each.id for each in poor.list(page_size=100).tasks}
        assert (plain.id in mine, paid.id in mine, audited.id in mine) == (True, False, False)
        assert {paid.id, audited.id, plain.id} <= {
            each.id for each in rich.list(page_size=100).tasks
        }
    referring = poor.task(
        "x", skill="who", message_id="m-9", reference_task_ids=[paid.id, plain.id]
    )
    kept = [
        each for message in referring.history or () for each in message.reference_task_ids or ()
    ]
    assert kept in ([plain.id], [])  # HTTP+JSON of 0.3 shows no references


@pytest.mark.requirement("1.0", "3.1.4h")
@pytest.mark.requirement("0.3", "7.4d")
def test_a_hidden_skill_does_not_change_the_total_of_a_list(
    client: httpx.Client, binding: DialectBinding
) -> None:
    """The tasks that the caller may read are counted, whatever the page; those of the skill that it
    may not use are not.
    """
    if not binding.has(LIST_TASKS):
        pytest.skip(f"{binding} has no {LIST_TASKS.name}")
    context_id = f"c-{binding}"
    rich = person(client, binding, "tasks pay audit")
    poor = person(client, binding)
    for number in range(9):
        skill = ("who", "pay", "who", "audit")[number % 4]
        rich.task("x", skill=skill, message_id=f"m-{number}", context_id=context_id)
    for caller, total in ((rich, 9), (poor, 5)):
        for page_size in (2, 5, 50):
            pages = [caller.list(page_size=page_size, context_id=context_id)]
            while pages[-1].next_page_token:
                pages.append(
                    caller.list(
                        page_size=page_size,
                        context_id=context_id,
                        page_token=pages[-1].next_page_token,
                    )
                )
            assert [page.total_size for page in pages] == [total] * -(-total // page_size)
            assert len({task.id for page in pages for task in page.tasks}) == total


async def note(ctx: TaskContext) -> str:
    """Keep a message in the state of the conversation."""
    await ctx.state.update({**await ctx.state.load(), str(len(await ctx.state.load())): ctx.text})
    return f"noted {ctx.text}"


async def recall(ctx: TaskContext) -> str:
    """Ask if told to, and return all that a handler can read of the conversation."""
    if ctx.text == "ask":
        await ctx.ask("Go on?")
    texts = [part.text for message in await ctx.conversation() for part in message.parts]
    return f"{texts} {dict(await ctx.state.load())}"


def build_conversing_agent() -> Surface:
    """Build an agent whose skills write and read a conversation, two of them for callers with a
    scope only.
    """
    agent = Agent("conversing", capabilities=ABLE)
    agent.add("recall", recall)
    agent.add("note", note)
    agent.add("pay", note, require=[{"bearer": ["pay"]}])
    agent.add("audit", note, require=[{"bearer": ["audit"]}], only_extended=True)
    return Surface(
        agent,
        gate=AuthGate(
            JwtAuthenticator(ISSUER.keys(), ISSUER.validation()), require=[{"bearer": ["tasks"]}]
        ),
    )


def text_of(task: Task) -> str:
    """Return the text of the only artifact."""
    ((part,),) = [each.parts for each in task.artifacts or ()]
    return part.text or ""


def test_a_handler_reads_of_a_conversation_what_its_caller_may_read(
    binding: DialectBinding,
) -> None:
    """Messages and state of skills that the caller may not use are hidden, also when their tasks
    have expired.
    """
    store = MemoryStore(StoreOptions(retention_seconds=0))
    with TestClient(
        create_app(
            build_conversing_agent(),
            store=store,
            settings=replace(FAST_SETTINGS, cleanup_interval=3600),
        )
    ) as client:
        rich = person(client, binding, "tasks pay audit")
        poor = person(client, binding)
        for skill in ("pay", "audit"):
            context_id = rich.task("my secret", skill=skill, message_id=skill).context_id
            for has_expired in (False, True):
                number = f"{skill}-{has_expired}"
                seen = text_of(
                    poor.task(
                        "hello", skill="recall", message_id=f"m-1-{number}", context_id=context_id
                    )
                )
                assert ("hello" in seen, "secret" in seen) == (True, False)
                assert "my secret" in text_of(
                    rich.task(
                        "x", skill="recall", message_id=f"m-2-{number}", context_id=context_id
                    )
                )
                failed = poor.task(
                    "x", skill="note", message_id=f"m-3-{number}", context_id=context_id
                )
                assert (
                    failed.status.state == TaskState.FAILED
                )  # it would replace a state that it has not read
                asyncio.run(store.delete_expired())
            assert "my secret" in text_of(
                rich.task("x", skill="recall", message_id=f"m-4-{skill}", context_id=context_id)
            )
        own = poor.task("mine", skill="note", message_id="m-5")
        assert "{'0': 'mine'}" in text_of(
            poor.task("x", skill="recall", message_id="m-6", context_id=own.context_id)
        )


def test_an_answer_shows_its_sender_no_more_than_it_may_read(binding: DialectBinding) -> None:
    """A run after an answer reads what the one before it could.

    A sender who may read less of it is refused.
    """
    with TestClient(
        create_app(build_conversing_agent(), store="memory", settings=FAST_SETTINGS)
    ) as client:
        rich = person(client, binding, "tasks pay audit")
        poor = person(client, binding)
        harmless = rich.task("ask", skill="recall", message_id="m-0")
        assert (
            poor.task(
                "yes", message_id="m-1", task_id=harmless.id, context_id=harmless.context_id
            ).status.state
            == TaskState.COMPLETED
        )
        secret = rich.task("my secret", skill="pay", message_id="m-2")
        suspended = [
            each.task("ask", skill="recall", message_id=f"m-3-{n}", context_id=secret.context_id)
            for n, each in enumerate((rich, poor))
        ]
        with pytest.raises(CallError):
            poor.task(
                "yes", message_id="m-4", task_id=suspended[0].id, context_id=secret.context_id
            )
        assert "secret" not in text_of(
            poor.task(
                "yes", message_id="m-5", task_id=suspended[1].id, context_id=secret.context_id
            )
        )
        assert "my secret" in text_of(
            rich.task(
                "yes", message_id="m-6", task_id=suspended[0].id, context_id=secret.context_id
            )
        )

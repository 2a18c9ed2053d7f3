"""A policy of the host: what callers may do with what is theirs, or their team's."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator

import httpx
import pytest
from conformance.security.guarded_apps import ISSUER, AuthenticatedClient, build_guarded_agent
from conformance.security.test_ownership import ATTACKS, HOOK
from integration.dialect_client import (
    DIALECT_BINDINGS,
    CallError,
    DialectBinding,
    DialectClient,
    build_send_request,
)
from litestar.testing import TestClient

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import MESH, V1_0
from a2a_contract.operations import (
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_TASK,
    LIST_TASKS,
    SEND_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import GetTaskRequest, Task, TaskPushNotificationConfig
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import AuthGate, OpenGate
from a2a_runtime.base.caller import Caller, TaskScope
from a2a_runtime.features.keys.jwt_tokens import ClaimNames, JwtAuthenticator
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.store_contract.case import build_new_task, create_task
from a2a_runtime.testing.token_issuer import TokenIssuer

RPC = DialectBinding(V1_0.name, is_jsonrpc=True)
READS = {"get", "subscribe", "read a webhook", "list webhooks"}


async def permit_by_role(caller: Caller, action: str, task: Task | None) -> bool:
    """Permit everything to the boss, reading to readers, and starting tasks to every caller."""
    await asyncio.sleep(0)
    if "boss" in caller.roles:
        return True
    if "reader" in caller.roles:
        return action.startswith(("Get", "List", "Subscribe"))
    return action in {SEND_MESSAGE.name, LIST_TASKS.name} and task is None


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an agent on which a team works."""
    gate = AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(team="team")))
    with TestClient(
        create_app(
            Surface(build_guarded_agent(), gate=gate, policy=permit_by_role),
            store="memory",
            settings=FAST_SETTINGS,
        )
    ) as client:
        yield client


def member(
    client: httpx.Client,
    name: str,
    *roles: str,
    binding: DialectBinding = RPC,
    team: str | None = "blue",
) -> AuthenticatedClient:
    """Build a client with a token of a team member."""
    return AuthenticatedClient(
        client, binding, token=ISSUER.issue_token(name, team=team, roles=list(roles))
    )


def waiting_task(client: httpx.Client) -> Task:
    """Let the boss have a task that waits, with a webhook."""
    boss = member(client, "ada", "boss")
    task = boss.task("x", skill="ask")
    boss.call(
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        TaskPushNotificationConfig(id="hook", task_id=task.id, url=HOOK),
    )
    return task


def test_a_team_shares_its_tasks(client: httpx.Client) -> None:
    """A colleague reads and changes tasks of the team; others see nothing."""
    task = waiting_task(client)
    assert member(client, "bob", "boss").get(task.id).id == task.id
    for other in (
        member(client, "bob", "boss", team="red"),
        member(client, "ada", "boss", team=None),
        member(client, "blue", "boss", team=None),
    ):
        with pytest.raises(CallError) as refused:
            other.get(task.id)
        assert "not found" in str(refused.value)


@pytest.mark.parametrize("same_people", [False, True], ids=["two companies", "one company"])
def test_a_team_of_another_issuer_is_another_team(
    same_people: bool,  # noqa: FBT001 - a table
) -> None:
    """Issuers with equal team names do not share tasks, unless the project declares the subjects as
    shared.
    """
    partner = TokenIssuer("https://partner.example")
    staff, theirs = (
        JwtAuthenticator(each.keys(), each.validation(), ClaimNames(team="team"), scheme=each.name)
        for each in (ISSUER, partner)
    )
    surface = Surface(
        build_guarded_agent(), gate=AuthGate(staff, theirs, shared_subjects=same_people)
    )
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        task = member(client, "ada").task("x")
        other = AuthenticatedClient(client, RPC, token=partner.issue_token("ada", team="blue"))
        assert (
            other.call_raw(GET_TASK, GetTaskRequest(id=task.id)).json().get("result") is not None
        ) is same_people
        assert bool(other.list().tasks) is same_people
        mate = member(client, "bob")
        assert mate.get(task.id).id == task.id


@pytest.mark.parametrize("binding", DIALECT_BINDINGS, ids=str)
@pytest.mark.parametrize("attempt", ATTACKS)
def test_a_policy_takes_away(client: httpx.Client, binding: DialectBinding, attempt: str) -> None:
    """A reader reads and is denied the rest; for a caller without read permission the task does not
    exist.
    """
    operation, request = ATTACKS[attempt]
    if not binding.has(operation):
        pytest.skip(f"{binding} has no {operation.name}")
    task = waiting_task(client)
    if operation is not SUBSCRIBE_TO_TASK:  # a reader would follow it for ever
        assert (
            status_of(member(client, "bob", "reader", binding=binding), operation, request(task.id))
            == 403
        ) is (attempt not in READS)
    nobody = member(client, "eve", binding=binding)
    unknown = nobody.call_raw(operation, request("nope")).text.replace("nope", "…")
    assert nobody.call_raw(operation, request(task.id)).text.replace(task.id, "…") == unknown
    assert member(client, "ada", "boss").get(task.id).status.state == task.status.state


def status_of(who: AuthenticatedClient, operation: Operation, request: WireModel) -> int:
    """Try something."""
    return who.call_raw(operation, request).status_code


def test_a_hidden_denial_is_in_the_audit_log(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A caller without read permission gets a not-found error; the audit log has the denial."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    task = waiting_task(client)
    assert member(client, "eve").call_raw(GET_TASK, GetTaskRequest(id=task.id)).status_code == 200
    (line,) = [
        json.loads(each.getMessage()) for each in caplog.records if each.name == "a2a_runtime.audit"
    ]
    assert (line["event"], line["caller"], line["action"], line["task"]) == (
        "denied",
        "team:blue",
        GET_TASK.name,
        task.id,
    )


def test_unreadable_tasks_are_not_listed(client: httpx.Client) -> None:
    """A caller without permission to read sees neither the task nor its count."""
    waiting_task(client)
    nobody = member(client, "eve")
    assert nobody.task("x", skill="echo").id
    page = nobody.list(page_size=100)
    assert (page.tasks, page.total_size) == ([], 0)
    assert member(client, "bob", "reader").list(page_size=100).tasks


@pytest.mark.requirement("1.0", "3.1.4h")
@pytest.mark.parametrize("page_size", [2, 5, 50])
def test_a_total_counts_what_the_policy_permits(page_size: int) -> None:
    """Of all tasks of the list, on each of its pages, and not of the page alone."""

    def is_even(_caller: Caller, _action: str, task: Task | None) -> bool:
        """Permit every second task."""
        return task is None or int((task.history or ())[0].parts[0].text or "") % 2 == 0

    surface = Surface(build_guarded_agent(), gate=OpenGate(), policy=is_even)
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        ada = DialectClient(client, RPC)
        for number in range(11):
            ada.send(str(number), message_id=f"m-{number}")
        found = list[str]()
        token = ""
        while True:
            page = ada.list(page_size=page_size, page_token=token)
            assert page.total_size == 6
            found += [task.id for task in page.tasks]
            token = page.next_page_token
            if not token:
                break
        assert len(found) == len(set(found)) == 6


def test_the_newest_thousand_tasks_are_counted_under_a_policy() -> None:
    """Of a longer list the total is a lower bound: the policy is not called for all of it, on any
    page.
    """
    calls = list[Task]()

    def count_call(_caller: Caller, _action: str, task: Task | None) -> bool:
        if task is not None:
            calls.append(task)
        return task is None or len(calls) % 2 == 0

    async def fill(scope: TaskScope) -> None:
        for _ in range(1_010):
            await create_task(store, build_new_task(), scope)

    store = MemoryStore()
    surface = Surface(build_guarded_agent(), gate=OpenGate(), policy=count_call)
    asyncio.run(fill(Caller().task_scope(surface.storage_key)))
    with TestClient(create_app(surface, store=store, settings=FAST_SETTINGS)) as client:
        anybody = DialectClient(client, RPC)
        first = anybody.list(page_size=20)
        assert (len(first.tasks), first.total_size, len(calls)) == (10, 500, 1_000)
        following = anybody.list(page_size=20, page_token=first.next_page_token)
        assert (len(following.tasks), following.total_size, len(calls)) == (10, 500, 1_020)


def private(caller: Caller, _action: str, task: Task | None) -> bool:
    """Permit only ada to use tasks with a secret."""
    return task is None or caller.subject == "ada" or "SECRET" not in task.to_json().decode()


@pytest.fixture
def shared_tasks() -> Iterator[tuple[AuthenticatedClient, AuthenticatedClient]]:
    """Two of a team, of whom one has secrets."""
    gate = AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(team="team")))
    surface = Surface(build_guarded_agent(), gate=gate, policy=private, deduplicate_messages=True)
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        yield member(client, "ada"), member(client, "bob")


def test_a_handler_sees_only_readable_tasks(
    shared_tasks: tuple[AuthenticatedClient, AuthenticatedClient],
) -> None:
    """Neither by the context of a message nor by its references; readable tasks stay visible."""
    ada, bob = shared_tasks
    secret = ada.task("SECRET", skill="act")
    plain = ada.task("plain", skill="act", message_id="m-2")
    for send in (bob.send, bob.stream):
        with pytest.raises(CallError) as refused:
            send("x", skill="act", message_id="m-3", context_id=secret.context_id)
        assert refused.value.status == 403
    said = bob.task(
        "x",
        skill="act",
        message_id="m-4",
        reference_task_ids=[secret.id, "nope", plain.id],
        context_id=plain.context_id,
    )
    assert "SECRET" not in str(said)
    assert f"['{plain.id}']" in str(said)
    assert [
        each for message in said.history or () for each in message.reference_task_ids or ()
    ] == [plain.id]
    assert "SECRET" in str(
        ada.task(
            "y",
            skill="act",
            message_id="m-5",
            context_id=secret.context_id,
            reference_task_ids=[secret.id],
        )
    )


def test_an_idempotency_key_belongs_to_its_sender(
    shared_tasks: tuple[AuthenticatedClient, AuthenticatedClient],
) -> None:
    """The same key or message id of a colleague is another message; of the same sender it is the
    same message.
    """
    ada, bob = shared_tasks
    secret = ada.task("SECRET", skill="echo")
    request = build_send_request("SECRET", skill="echo")
    assert bob.call_raw(SEND_MESSAGE, request).json()["result"]["task"]["id"] != secret.id
    assert ada.call_raw(SEND_MESSAGE, request).json()["result"]["task"]["id"] == secret.id
    keyed = [
        each.call_raw(SEND_MESSAGE, request, idempotency_key="k").json()["result"]["task"]["id"]
        for each in (ada, bob, ada)
    ]
    assert keyed[0] == keyed[2] != keyed[1]


def test_a_repeated_message_needs_read_permission() -> None:
    """A repeated message returns its task only while the policy permits its sender to read it."""
    tokens = JwtAuthenticator(ISSUER.keys(), ISSUER.validation())
    surface = Surface(
        build_guarded_agent(),
        gate=AuthGate(tokens),
        policy=lambda caller, _, task: task is None or "boss" in caller.roles,
    )
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        answers = [
            AuthenticatedClient(client, RPC, token=ISSUER.issue_token(roles=roles)).call_raw(
                SEND_MESSAGE, build_send_request("x"), idempotency_key="k"
            )
            for roles in (["boss"], [])
        ]
    assert ["result" in each.json() for each in answers] == [True, False]


def test_messages_of_deleted_tasks_need_permission() -> None:
    """The policy decides by the remaining messages."""
    clock = FakeClock()
    store = MemoryStore(StoreOptions(clock, retention_seconds=60))
    gate = AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(team="team")))
    with TestClient(
        create_app(
            Surface(build_guarded_agent(), gate=gate, policy=private),
            store=store,
            settings=FAST_SETTINGS,
        )
    ) as client:
        ada = member(client, "ada")
        bob = member(client, "bob")
        secret = ada.task("SECRET", skill="echo")
        clock.advance(61)
        asyncio.run(store.delete_expired())
        with pytest.raises(CallError, match="not found"):
            ada.get(secret.id)
        assert (
            bob.call_raw(
                SEND_MESSAGE, build_send_request("x", skill="act", context_id=secret.context_id)
            ).status_code
            == 403
        )
        assert "SECRET" in str(ada.task("x", skill="act", context_id=secret.context_id))


def test_a_policy_applies_in_mesh() -> None:
    """In mesh the sender names a task that does not exist yet."""
    mesh = frozenset((V1_0.name, MESH.name))
    surface = Surface(
        build_guarded_agent(), dialects=mesh, only=frozenset(("echo",)), policy=lambda *_: False
    )
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        refused = DialectClient(client, DialectBinding(MESH.name, is_jsonrpc=True)).call_raw(
            SEND_MESSAGE, build_send_request("x", task_id="t-1")
        )
    assert refused.status_code == 403


def test_a_plain_function_is_a_policy_too() -> None:
    """A policy may be a function that is not async."""
    decisions: list[tuple[str, str | None]] = []

    def never(_caller: Caller, action: str, task: Task | None) -> bool:
        decisions.append((action, None if task is None else task.id))
        return False

    with TestClient(
        create_app(
            Surface(build_guarded_agent(), policy=never), store="memory", settings=FAST_SETTINGS
        )
    ) as client:
        talker = AuthenticatedClient(client, RPC)
        with pytest.raises(CallError) as refused:
            talker.task("x")
        assert refused.value.status == 403
    assert decisions == [(SEND_MESSAGE.name, None)]

"""A policy of the host: what callers may do with what is theirs, or their team's."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator

import httpx
import pytest
from conformance.security.guarded_apps import ISSUER, AuthenticatedClient, guarded_agent
from conformance.security.test_ownership import ATTACKS, HOOK
from integration.dialect_client import DIALECT_BINDINGS, CallError, DialectBinding, DialectClient, build_send_request
from litestar.testing import TestClient

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import MESH, V1_0
from a2a_contract.operations import CREATE_TASK_PUSH_NOTIFICATION_CONFIG, GET_TASK, LIST_TASKS, SEND_MESSAGE, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import GetTaskRequest, Task, TaskPushNotificationConfig
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.auth.jwt_tokens import ClaimNames, JwtAuthenticator
from a2a_runtime.caller import Caller
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.token_issuer import TokenIssuer

RPC = DialectBinding(V1_0.name, is_jsonrpc=True)
READS = {"get", "subscribe", "read a webhook", "list webhooks"}


async def may(caller: Caller, action: str, task: Task | None) -> bool:
    """Let the boss do everything, readers read, and everybody else only begin tasks."""
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
    with TestClient(create_app(Surface(guarded_agent(), gate=gate, policy=may), store="memory", settings=FAST_SETTINGS)) as client:
        yield client


def person(client: httpx.Client, name: str, *roles: str, voice: DialectBinding = RPC, team: str | None = "blue") -> AuthenticatedClient:
    """Make somebody of the team."""
    return AuthenticatedClient(client, voice, token=ISSUER.issue_token(name, team=team, roles=list(roles)))


def waiting_task(client: httpx.Client) -> Task:
    """Let the boss have a task that waits, with a webhook."""
    boss = person(client, "ada", "boss")
    task = boss.task("x", skill="ask")
    boss.call(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, TaskPushNotificationConfig(id="hook", task_id=task.id, url=HOOK))
    return task


def test_a_team_shares_its_tasks(client: httpx.Client) -> None:
    """A colleague sees and does what anybody of the team could; others see nothing."""
    task = waiting_task(client)
    assert person(client, "bob", "boss").get(task.id).id == task.id
    for stranger in (person(client, "bob", "boss", team="red"), person(client, "ada", "boss", team=None), person(client, "blue", "boss", team=None)):
        with pytest.raises(CallError) as refused:
            stranger.get(task.id)
        assert "not found" in str(refused.value)


@pytest.mark.parametrize("same_people", [False, True], ids=["two companies", "one company"])
def test_a_team_of_another_issuer_is_another_team(same_people: bool) -> None:  # noqa: FBT001 - a table
    """Whoever may name the teams of their own people gets at nobody else's, unless a name is said to mean the same everywhere."""
    partner = TokenIssuer("https://partner.example")
    staff, theirs = (JwtAuthenticator(each.keys(), each.validation(), ClaimNames(team="team"), scheme=each.name) for each in (ISSUER, partner))
    surface = Surface(guarded_agent(), gate=AuthGate(staff, theirs, shared_subjects=same_people))
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        task = person(client, "ada").task("x")
        stranger = AuthenticatedClient(client, RPC, token=partner.issue_token("ada", team="blue"))
        assert (stranger.call_raw(GET_TASK, GetTaskRequest(id=task.id)).json().get("result") is not None) is same_people
        assert bool(stranger.list().tasks) is same_people
        mate = person(client, "bob")
        assert mate.get(task.id).id == task.id


@pytest.mark.parametrize("voice", DIALECT_BINDINGS, ids=str)
@pytest.mark.parametrize("attempt", ATTACKS)
def test_a_policy_takes_away(client: httpx.Client, voice: DialectBinding, attempt: str) -> None:
    """A reader reads and is denied the rest; for somebody who may not read, the task does not exist."""
    operation, request = ATTACKS[attempt]
    if not voice.has(operation):
        pytest.skip(f"{voice} has no {operation.name}")
    task = waiting_task(client)
    if operation is not SUBSCRIBE_TO_TASK:  # a reader would follow it for ever
        assert (status_of(person(client, "bob", "reader", voice=voice), operation, request(task.id)) == 403) is (attempt not in READS)
    nobody = person(client, "eve", voice=voice)
    unknown = nobody.call_raw(operation, request("nope")).text.replace("nope", "…")
    assert nobody.call_raw(operation, request(task.id)).text.replace(task.id, "…") == unknown
    assert person(client, "ada", "boss").get(task.id).status.state == task.status.state


def status_of(who: AuthenticatedClient, operation: Operation, request: WireModel) -> int:
    """Try something."""
    return who.call_raw(operation, request).status_code


def test_a_denial_is_on_record_also_where_nobody_is_told(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever hears that a task does not exist, because they may not see it, was denied something."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    task = waiting_task(client)
    assert person(client, "eve").call_raw(GET_TASK, GetTaskRequest(id=task.id)).status_code == 200
    (line,) = [json.loads(each.getMessage()) for each in caplog.records if each.name == "a2a_runtime.audit"]
    assert (line["event"], line["caller"], line["action"], line["task"]) == ("denied", "team:blue", GET_TASK.name, task.id)


def test_what_may_not_be_read_is_in_no_list(client: httpx.Client) -> None:
    """Nor is it counted."""
    waiting_task(client)
    nobody = person(client, "eve")
    assert nobody.task("x", skill="echo").id
    page = nobody.list(page_size=100)
    assert (page.tasks, page.total_size) == ([], 0)
    assert person(client, "bob", "reader").list(page_size=100).tasks


def private(caller: Caller, _action: str, task: Task | None) -> bool:
    """Let nobody but ada near what is secret."""
    return task is None or caller.subject == "ada" or "SECRET" not in task.to_json().decode()


@pytest.fixture
def shared() -> Iterator[tuple[AuthenticatedClient, AuthenticatedClient]]:
    """Two of a team, of whom one has secrets."""
    gate = AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(team="team")))
    surface = Surface(guarded_agent(), gate=gate, policy=private, deduplicate_messages=True)
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        yield person(client, "ada"), person(client, "bob")


def test_a_handler_tells_nobody_what_they_may_not_read(shared: tuple[AuthenticatedClient, AuthenticatedClient]) -> None:
    """Neither by the conversation that a message goes on with, nor by the tasks that it refers to; what may be read still is."""
    ada, bob = shared
    secret, plain = ada.task("SECRET", skill="act"), ada.task("plain", skill="act", message_id="m-2")
    for voice_of in (bob.send, bob.stream):
        with pytest.raises(CallError) as refused:
            voice_of("x", skill="act", message_id="m-3", context_id=secret.context_id)
        assert refused.value.status == 403
    said = bob.task("x", skill="act", message_id="m-4", reference_task_ids=[secret.id, "nope", plain.id], context_id=plain.context_id)
    assert "SECRET" not in str(said)
    assert f"['{plain.id}']" in str(said)
    assert [each for message in said.history or () for each in message.reference_task_ids or ()] == [plain.id]
    assert "SECRET" in str(ada.task("y", skill="act", message_id="m-5", context_id=secret.context_id, reference_task_ids=[secret.id]))


def test_nobody_is_answered_for_a_colleague(shared: tuple[AuthenticatedClient, AuthenticatedClient]) -> None:
    """The same key, or the same id of a message, means another message from somebody else; from the same one it is the same still."""
    ada, bob = shared
    secret = ada.task("SECRET", skill="echo")
    request = build_send_request("SECRET", skill="echo")
    assert bob.call_raw(SEND_MESSAGE, request).json()["result"]["task"]["id"] != secret.id
    assert ada.call_raw(SEND_MESSAGE, request).json()["result"]["task"]["id"] == secret.id
    keyed = [each.call_raw(SEND_MESSAGE, request, idempotency_key="k").json()["result"]["task"]["id"] for each in (ada, bob, ada)]
    assert keyed[0] == keyed[2] != keyed[1]


def test_who_may_not_read_any_more_gets_no_old_answer() -> None:
    """A message that comes again is answered with its task only as long as the policy lets its sender read it."""
    tokens = JwtAuthenticator(ISSUER.keys(), ISSUER.validation())
    surface = Surface(guarded_agent(), gate=AuthGate(tokens), policy=lambda caller, _, task: task is None or "boss" in caller.roles)
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        answers = [
            AuthenticatedClient(client, RPC, token=ISSUER.issue_token(roles=roles)).call_raw(
                SEND_MESSAGE, build_send_request("x"), idempotency_key="k"
            )
            for roles in (["boss"], [])
        ]
    assert ["result" in each.json() for each in answers] == [True, False]


def test_what_has_outlived_its_task_is_asked_about_too() -> None:
    """By the messages that are left of it."""
    clock = FakeClock()
    store = MemoryStore(StoreOptions(clock, retention_seconds=60))
    gate = AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(team="team")))
    with TestClient(create_app(Surface(guarded_agent(), gate=gate, policy=private), store=store, settings=FAST_SETTINGS)) as client:
        ada, bob = person(client, "ada"), person(client, "bob")
        secret = ada.task("SECRET", skill="echo")
        clock.advance(61)
        asyncio.run(store.delete_expired())
        with pytest.raises(CallError, match="not found"):
            ada.get(secret.id)
        assert bob.call_raw(SEND_MESSAGE, build_send_request("x", skill="act", context_id=secret.context_id)).status_code == 403
        assert "SECRET" in str(ada.task("x", skill="act", context_id=secret.context_id))


def test_a_policy_is_asked_in_mesh_too() -> None:
    """There the sender names the task that is to be, which is none yet."""
    mesh = frozenset((V1_0.name, MESH.name))
    surface = Surface(guarded_agent(), dialects=mesh, only=frozenset(("echo",)), policy=lambda *_: False)
    with TestClient(create_app(surface, store="memory", settings=FAST_SETTINGS)) as client:
        refused = DialectClient(client, DialectBinding(MESH.name, is_jsonrpc=True)).call_raw(SEND_MESSAGE, build_send_request("x", task_id="t-1"))
    assert refused.status_code == 403


def test_a_plain_function_is_a_policy_too() -> None:
    """One that is not async."""
    asked: list[tuple[str, str | None]] = []

    def never(_caller: Caller, action: str, task: Task | None) -> bool:
        asked.append((action, None if task is None else task.id))
        return False

    with TestClient(create_app(Surface(guarded_agent(), policy=never), store="memory", settings=FAST_SETTINGS)) as client:
        talker = AuthenticatedClient(client, RPC)
        with pytest.raises(CallError) as refused:
            talker.task("x")
        assert refused.value.status == 403
    assert asked == [(SEND_MESSAGE.name, None)]

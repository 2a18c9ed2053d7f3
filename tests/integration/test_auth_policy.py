"""A policy of the host: what callers may do with what is theirs, or their team's."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator

import httpx
import pytest
from conformance.security.guarded import ISSUER, Person, guarded_agent
from conformance.security.test_ownership import ATTACKS, HOOK
from integration.talking import VOICES, RefusedError, Voice
from litestar.testing import TestClient

from a2a_contract.base import WireModel
from a2a_contract.dialects import V1_0
from a2a_contract.operation import Operation
from a2a_contract.operations import CREATE_TASK_PUSH_NOTIFICATION_CONFIG, GET_TASK, LIST_TASKS, SEND_MESSAGE, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import GetTaskRequest, Task, TaskPushNotificationConfig
from a2a_runtime.app import create_app
from a2a_runtime.auth.checkpoint import Checkpoint
from a2a_runtime.auth.tokens import Claims, JwtAuthenticator
from a2a_runtime.caller import Caller
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import QUICK
from a2a_runtime.testing.issuer import Issuer

RPC = Voice(V1_0.name, is_jsonrpc=True)
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
    gate = Checkpoint(JwtAuthenticator(ISSUER.keys(), ISSUER.expected(), Claims(team="team")))
    with TestClient(create_app(Surface(guarded_agent(), gate=gate, policy=may), store="memory", settings=QUICK)) as client:
        yield client


def person(client: httpx.Client, name: str, *roles: str, voice: Voice = RPC, team: str | None = "blue") -> Person:
    """Make somebody of the team."""
    return Person(client, voice, token=ISSUER.token(name, team=team, roles=list(roles)))


def waiting_task(client: httpx.Client) -> Task:
    """Let the boss have a task that waits, with a webhook."""
    boss = person(client, "ada", "boss")
    task = boss.task("x", skill="ask")
    boss.ask(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, TaskPushNotificationConfig(id="hook", task_id=task.id, url=HOOK))
    return task


def test_a_team_shares_its_tasks(client: httpx.Client) -> None:
    """A colleague sees and does what anybody of the team could; others see nothing."""
    task = waiting_task(client)
    assert person(client, "bob", "boss").get(task.id).id == task.id
    for stranger in (person(client, "bob", "boss", team="red"), person(client, "ada", "boss", team=None), person(client, "blue", "boss", team=None)):
        with pytest.raises(RefusedError) as refused:
            stranger.get(task.id)
        assert "not found" in str(refused.value)


@pytest.mark.parametrize("same_people", [False, True], ids=["two companies", "one company"])
def test_a_team_of_another_issuer_is_another_team(same_people: bool) -> None:  # noqa: FBT001 - a table
    """Whoever may name the teams of their own people gets at nobody else's, unless a name is said to mean the same everywhere."""
    partner = Issuer("https://partner.example")
    staff, theirs = (JwtAuthenticator(each.keys(), each.expected(), Claims(team="team"), scheme=each.name) for each in (ISSUER, partner))
    surface = Surface(guarded_agent(), gate=Checkpoint(staff, theirs, same_people=same_people))
    with TestClient(create_app(surface, store="memory", settings=QUICK)) as client:
        task = person(client, "ada").task("x")
        stranger = Person(client, RPC, token=partner.token("ada", team="blue"))
        assert (stranger.raw(GET_TASK, GetTaskRequest(id=task.id)).json().get("result") is not None) is same_people
        assert bool(stranger.list().tasks) is same_people
        mate = person(client, "bob")
        assert mate.get(task.id).id == task.id


@pytest.mark.parametrize("voice", VOICES, ids=str)
@pytest.mark.parametrize("attempt", ATTACKS)
def test_a_policy_takes_away(client: httpx.Client, voice: Voice, attempt: str) -> None:
    """A reader reads and is denied the rest; for somebody who may not read, the task does not exist."""
    operation, request = ATTACKS[attempt]
    if not voice.has(operation):
        pytest.skip(f"{voice} has no {operation.name}")
    task = waiting_task(client)
    if operation is not SUBSCRIBE_TO_TASK:  # a reader would follow it for ever
        assert (status_of(person(client, "bob", "reader", voice=voice), operation, request(task.id)) == 403) is (attempt not in READS)
    nobody = person(client, "eve", voice=voice)
    unknown = nobody.raw(operation, request("nope")).text.replace("nope", "…")
    assert nobody.raw(operation, request(task.id)).text.replace(task.id, "…") == unknown
    assert person(client, "ada", "boss").get(task.id).status.state == task.status.state


def status_of(who: Person, operation: Operation, request: WireModel) -> int:
    """Try something."""
    return who.raw(operation, request).status_code


def test_a_denial_is_on_record_also_where_nobody_is_told(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever hears that a task does not exist, because they may not see it, was denied something."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    task = waiting_task(client)
    assert person(client, "eve").raw(GET_TASK, GetTaskRequest(id=task.id)).status_code == 200
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


def test_a_plain_function_is_a_policy_too() -> None:
    """One that is not async."""
    asked: list[tuple[str, str | None]] = []

    def never(_caller: Caller, action: str, task: Task | None) -> bool:
        asked.append((action, None if task is None else task.id))
        return False

    with TestClient(create_app(Surface(guarded_agent(), policy=never), store="memory", settings=QUICK)) as client:
        talker = Person(client, RPC)
        with pytest.raises(RefusedError) as refused:
            talker.task("x")
        assert refused.value.status == 403
    assert asked == [(SEND_MESSAGE.name, None)]

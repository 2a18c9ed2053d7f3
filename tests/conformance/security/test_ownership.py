"""Two users and two tenants on each other's tasks: nothing is seen, nothing is changed, whatever they try and in whichever words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from typing import Any

import httpx
import pytest
from conformance.security.guarded import ISSUER, Person, checkpoint, guarded_agent
from integration.talking import VOICES, RefusedError, Voice, request_of
from litestar.testing import TestClient

from a2a_contract.base import WireModel
from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.operation import Operation
from a2a_contract.operations import (
    CANCEL_TASK,
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_TASK,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a_runtime.app import create_app
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import QUICK

HOOK = "https://hooks.example.org/a2a"
ADA = ISSUER.token("ada", org="acme")
INTRUDERS = {
    "another user": ISSUER.token("eve", org="acme"),
    "another tenant": ISSUER.token("ada", org="umbrella"),
    "a name that begins alike": ISSUER.token("ada ", org="acme"),
    "a name with their tenant": ISSUER.token("acme", org="ada"),
}
FORMS = {V0_3.name: "/kind"}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of a guarded agent; below /kind, requests without a body mean the documented form of 0.3."""
    surfaces = (Surface(guarded_agent(), path, gate=checkpoint(), bare_form=form) for path, form in (("", "v0_3_proto"), ("/kind", V0_3.name)))
    with TestClient(create_app(*surfaces, store="memory", settings=QUICK)) as client:
        yield client


@dataclass(frozen=True)
class Victim:
    """What Ada has: a task that has ended, one that waits, one that runs; a webhook on each; and how she sees them."""

    ada: Person
    tasks: tuple[Task, ...]

    @classmethod
    def at(cls, client: httpx.Client, path: str) -> Victim:
        """Let Ada do some things."""
        ada = Person(client, Voice(V1_0.name, is_jsonrpc=True), path, ADA)
        skills = {"recall": {}, "ask": {}, "wait": {"return_immediately": True}}
        tasks = tuple(ada.task("secret", skill=skill, configuration=said or None) for skill, said in skills.items())
        for task in tasks:
            ada.ask(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, TaskPushNotificationConfig(id="hook", task_id=task.id, url=HOOK, token="t"))  # noqa: S106
        return cls(ada, tasks)

    def seen(self) -> list[object]:
        """See everything, as Ada does; only when a status was written may change while a task runs."""
        found: list[object] = []
        for task in self.tasks:
            now = self.ada.get(task.id)
            found += [now.status.state, now.status.message, len(now.history or ()), now.artifacts]
            found.append(self.ada.ask(LIST_TASK_PUSH_NOTIFICATION_CONFIGS, ListTaskPushNotificationConfigsRequest(task_id=task.id)))
        return [*found, sorted(task.id for task in self.ada.list(page_size=100).tasks)]


@pytest.fixture(params=VOICES, ids=str)
def voice(request: pytest.FixtureRequest) -> Voice:
    """A dialect over a binding."""
    voice: Voice = request.param
    return voice


def path_of(voice: Voice) -> str:
    """Say where a voice is understood."""
    return "" if voice.is_jsonrpc else FORMS.get(voice.dialect, "")


ATTACKS: dict[str, tuple[Operation, Callable[[str], WireModel]]] = {
    "get": (GET_TASK, lambda task_id: GetTaskRequest(id=task_id)),
    "cancel": (CANCEL_TASK, lambda task_id: CancelTaskRequest(id=task_id)),
    "subscribe": (SUBSCRIBE_TO_TASK, lambda task_id: SubscribeToTaskRequest(id=task_id)),
    "answer": (SEND_MESSAGE, lambda task_id: request_of("mine", task_id=task_id)),
    "answer and follow": (SEND_STREAMING_MESSAGE, lambda task_id: request_of("mine", task_id=task_id)),
    "answer with a webhook": (
        SEND_MESSAGE,
        lambda task_id: request_of("mine", task_id=task_id, configuration={"task_push_notification_config": {"url": HOOK}}),
    ),
    "add a webhook": (CREATE_TASK_PUSH_NOTIFICATION_CONFIG, lambda task_id: TaskPushNotificationConfig(id="evil", task_id=task_id, url=HOOK)),
    "change a webhook": (CREATE_TASK_PUSH_NOTIFICATION_CONFIG, lambda task_id: TaskPushNotificationConfig(id="hook", task_id=task_id, url=HOOK)),
    "read a webhook": (GET_TASK_PUSH_NOTIFICATION_CONFIG, lambda task_id: GetTaskPushNotificationConfigRequest(id="hook", task_id=task_id)),
    "list webhooks": (LIST_TASK_PUSH_NOTIFICATION_CONFIGS, lambda task_id: ListTaskPushNotificationConfigsRequest(task_id=task_id)),
    "delete a webhook": (DELETE_TASK_PUSH_NOTIFICATION_CONFIG, lambda task_id: DeleteTaskPushNotificationConfigRequest(id="hook", task_id=task_id)),
}


def tried(intruder: Person, operation: Operation, request: WireModel, task_id: str) -> tuple[int, object]:
    """Try something, and give what came back with the id taken out."""
    answer = intruder.raw(operation, request)
    return answer.status_code, json.loads(answer.text.replace(task_id, "…"))


@pytest.mark.parametrize("token", INTRUDERS.values(), ids=INTRUDERS.keys())
@pytest.mark.parametrize(("operation", "request_"), ATTACKS.values(), ids=ATTACKS.keys())
def test_a_foreign_task_is_one_that_does_not_exist(
    client: httpx.Client, voice: Voice, token: str, operation: Operation, request_: Callable[[str], WireModel]
) -> None:
    """In every state, every operation answers as for an id that nobody has, and leaves everything as it was."""
    if not voice.has(operation):
        pytest.skip(f"{voice} has no {operation.name}")
    victim = Victim.at(client, path_of(voice))
    intruder = Person(client, voice, path_of(voice), token)
    before = victim.seen()
    for task in victim.tasks:
        nowhere = tried(intruder, operation, request_("no-such-task"), "no-such-task")
        assert tried(intruder, operation, request_(task.id), task.id) == nowhere
        assert nowhere[0] != 200 or "error" in str(nowhere[1])
    assert victim.seen() == before


@pytest.mark.parametrize("token", INTRUDERS.values(), ids=INTRUDERS.keys())
def test_a_foreign_conversation_is_an_empty_one(client: httpx.Client, voice: Voice, token: str) -> None:
    """Who names the conversation of somebody else begins one of their own, and reads nothing of the other one, not even by reference."""
    victim = Victim.at(client, path_of(voice))
    intruder = Person(client, voice, path_of(voice), token)
    first = victim.tasks[0]
    before = victim.seen()
    task = intruder.task("mine", skill="recall", context_id=first.context_id, reference_task_ids=[first.id])
    said = [part.text for artifact in task.artifacts or () for part in artifact.parts]
    assert said == ["['mine'] {} []"]
    if voice.has(LIST_TASKS):
        mine = intruder.list(context_id=first.context_id)
        assert ([each.id for each in mine.tasks], mine.total_size) == ([task.id], 1)
        assert first.id not in {each.id for each in intruder.list(page_size=100).tasks}
    assert victim.seen() == before


@pytest.mark.parametrize("token", INTRUDERS.values(), ids=INTRUDERS.keys())
def test_an_idempotency_key_is_good_for_its_owner_only(client: httpx.Client, voice: Voice, token: str) -> None:
    """The same key and the same request of somebody else make another task."""
    if not voice.has(SEND_MESSAGE):
        pytest.skip("no messages")
    path, request = path_of(voice), request_of("secret", skill="echo", message_id="m-1")
    ids = []
    for who in (ADA, token):
        answer = Person(client, voice, path, who).raw(SEND_MESSAGE, request, idempotency_key="k")
        assert answer.status_code == 200
        ids.append(str(answer.json()))
    assert ids[0] != ids[1]


def test_a_page_token_opens_no_foreign_list(client: httpx.Client) -> None:
    """Whoever has somebody's token for the next page gets a page of their own tasks with it, or none."""
    victim = Victim.at(client, "")
    page = victim.ada.list(page_size=1)
    assert page.next_page_token
    for token in INTRUDERS.values():
        intruder = Person(client, victim.ada.voice, "", token)
        try:
            found = intruder.ask(LIST_TASKS, ListTasksRequest(page_size=100, page_token=page.next_page_token))
        except RefusedError:
            continue
        assert not {task.id for task in found.tasks} & {task.id for task in victim.tasks}  # type: ignore[union-attr]  # a list is what is answered


@pytest.mark.parametrize("operation", ["get", "cancel", "subscribe"])
def test_a_tenant_is_what_the_token_says(client: httpx.Client, operation: str) -> None:
    """Whoever names another tenant than their own, in the request or in the path, is denied."""
    victim = Victim.at(client, "")
    asked, request = ATTACKS[operation]
    before = victim.seen()
    for is_jsonrpc in (True, False):
        same_name = Person(client, Voice(V1_0.name, is_jsonrpc=is_jsonrpc), "", INTRUDERS["another tenant"])
        for task in victim.tasks:
            with_tenant = request(task.id).model_copy(update={"tenant": "acme"})
            answer = same_name.raw(asked, with_tenant)
            assert answer.status_code == 403
            assert task.id not in answer.text
    assert victim.seen() == before


class WatchedStore(MemoryStore):
    """A store that remembers what it was asked to do."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - whatever a store has
        found = super().__getattribute__(name)
        if not name.startswith("_") and iscoroutinefunction(found):
            self.asked.append(name)
        return found


@pytest.mark.parametrize("attempt", ATTACKS)
def test_a_foreign_task_takes_as_long_as_one_that_does_not_exist(voice: Voice, attempt: str) -> None:
    """The store is asked the same things in the same order: how long that takes says nothing."""
    operation, request = ATTACKS[attempt]
    if not voice.has(operation):
        pytest.skip(f"{voice} has no {operation.name}")
    store = WatchedStore()
    surfaces = (Surface(guarded_agent(), path, gate=checkpoint(), bare_form=form) for path, form in (("", "v0_3_proto"), ("/kind", V0_3.name)))
    with TestClient(create_app(*surfaces, store=store, settings=replace(QUICK, beat=60, sweep=60, retention_sweep=60, push_poll=60))) as client:
        task = Person(client, Voice(V1_0.name, is_jsonrpc=True), path_of(voice), ADA).task("secret", skill="ask")
        intruder = Person(client, voice, path_of(voice), INTRUDERS["another user"])
        asked = []
        for task_id in ("no-such-task", task.id):
            store.asked.clear()
            intruder.raw(operation, request(task_id))
            asked.append([name for name in store.asked if name != "due"])
    assert asked[0] == asked[1]
    assert asked[0]

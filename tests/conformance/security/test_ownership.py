"""Two users and two tenants on each other's tasks: nothing is seen, nothing is changed, whatever
they try and in whichever words.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import httpx
import pytest
from conformance.security.guarded_apps import (
    ISSUER,
    AuthenticatedClient,
    build_gate,
    build_guarded_agent,
)
from integration.dialect_client import (
    DIALECT_BINDINGS,
    CallError,
    DialectBinding,
    build_send_request,
)
from litestar import Litestar
from litestar.testing import TestClient

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import MESH, V0_3, V1_0
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
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import AuthorizationPolicy, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.embedded_postgres import DatabaseFactory

pytestmark = pytest.mark.requirement("1.0", "13.1")

HOOK = "https://hooks.example.org/a2a"
ADA_TOKEN = ISSUER.issue_token("ada", org="acme")
INTRUDERS = {
    "another user": ISSUER.issue_token("eve", org="acme"),
    "another tenant": ISSUER.issue_token("ada", org="umbrella"),
    "a name that begins alike": ISSUER.issue_token("ada ", org="acme"),
    "a name with their tenant": ISSUER.issue_token("acme", org="ada"),
}
SENDS = (SEND_MESSAGE, SEND_STREAMING_MESSAGE)
MESH_BINDING = DialectBinding(MESH.name, is_jsonrpc=True)
EVERY_INTRUDER = pytest.mark.parametrize("token", INTRUDERS.values(), ids=INTRUDERS.keys())
EVERY_BINDING = pytest.mark.parametrize("binding", [*DIALECT_BINDINGS, MESH_BINDING], ids=str)
TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)")


def app(
    store: Store | str,
    settings: Settings = FAST_SETTINGS,
    policy: AuthorizationPolicy | None = None,
) -> Litestar:
    """Serve a guarded agent; below /kind, requests without a body mean the documented form of 0.3,
    below /mesh one skill is for all dialects.
    """
    surface = Surface(build_guarded_agent(), gate=build_gate(), policy=policy)
    documented = replace(surface, path="/kind", default_v0_3_form=V0_3.name)
    mesh = replace(
        surface,
        path="/mesh",
        dialects=frozenset((V1_0.name, V0_3.name, MESH.name)),
        only=frozenset(("act",)),
    )
    return create_app(surface, documented, mesh, store=store, settings=settings)


def surface_path(binding: DialectBinding) -> str:
    """Return the path of the surface for a binding."""
    if binding is MESH_BINDING:
        return "/mesh"
    if binding == DialectBinding(V0_3.name, is_jsonrpc=False):
        return "/kind"
    return ""


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the store."""
    match request.param:
        case "sqlite":
            return f"sqlite:///{tmp_path_factory.mktemp('store')}/tasks.db"
        case "postgres":
            databases: DatabaseFactory = request.getfixturevalue("postgres_databases")
            return asyncio.run(databases.create())
        case _:
            return "memory"


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    """A client of a guarded agent."""
    with TestClient(app(address)) as client:
        yield client


@dataclass
class VictimTask:
    """The tasks of the owner: completed, suspended and running, each with a push config; and their
    state as the owner reads it.
    """

    ada: AuthenticatedClient
    tasks: tuple[Task, ...]

    @classmethod
    def at(cls, client: httpx.Client, path: str) -> VictimTask:
        """Let Ada do some things."""
        ada = AuthenticatedClient(
            client, DialectBinding(V1_0.name, is_jsonrpc=True), path, ADA_TOKEN
        )
        done = {"recall": {}, "ask": {}, "wait": {"return_immediately": True}}
        tasks = tuple(
            ada.task(text, skill="act", configuration=said or None) for text, said in done.items()
        )
        while ada.get(tasks[-1].id).status.message is None:  # it is at it soon
            pass
        for task in tasks:
            ada.call(
                CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
                TaskPushNotificationConfig(id="hook", task_id=task.id, url=HOOK, token="t"),  # noqa: S106
            )
        return cls(ada, tasks)

    def read_everything(self) -> list[object]:
        """See everything, as Ada does; only when a status was written may change while a task
        runs.
        """
        found: list[object] = []
        for task in self.tasks:
            now = self.ada.get(task.id)
            found += [now.status.state, now.status.message, len(now.history or ()), now.artifacts]
            found.append(
                self.ada.call(
                    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
                    ListTaskPushNotificationConfigsRequest(task_id=task.id),
                )
            )
        return [
            *found,
            *(self.ada.list(context_id=task.context_id).total_size for task in self.tasks),
        ]


ATTACKS: dict[str, tuple[Operation, Callable[[str], WireModel]]] = {
    "get": (GET_TASK, lambda task_id: GetTaskRequest(id=task_id)),
    "cancel": (CANCEL_TASK, lambda task_id: CancelTaskRequest(id=task_id)),
    "subscribe": (SUBSCRIBE_TO_TASK, lambda task_id: SubscribeToTaskRequest(id=task_id)),
    "answer": (SEND_MESSAGE, lambda task_id: build_send_request("mine", task_id=task_id)),
    "answer and follow": (
        SEND_STREAMING_MESSAGE,
        lambda task_id: build_send_request("mine", task_id=task_id),
    ),
    "answer with a webhook": (
        SEND_MESSAGE,
        lambda task_id: build_send_request(
            "mine", task_id=task_id, configuration={"task_push_notification_config": {"url": HOOK}}
        ),
    ),
    "add a webhook": (
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        lambda task_id: TaskPushNotificationConfig(id="evil", task_id=task_id, url=HOOK),
    ),
    "change a webhook": (
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        lambda task_id: TaskPushNotificationConfig(id="hook", task_id=task_id, url=HOOK),
    ),
    "read a webhook": (
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        lambda task_id: GetTaskPushNotificationConfigRequest(id="hook", task_id=task_id),
    ),
    "list webhooks": (
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        lambda task_id: ListTaskPushNotificationConfigsRequest(task_id=task_id),
    ),
    "delete a webhook": (
        DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
        lambda task_id: DeleteTaskPushNotificationConfigRequest(id="hook", task_id=task_id),
    ),
}


def attempt(
    intruder: AuthenticatedClient, operation: Operation, request: WireModel, task_id: str
) -> tuple[int, str]:
    """Try something, and give what came back with the id and the time taken out."""
    answer = intruder.call_raw(operation, request)
    return answer.status_code, TIMES.sub("…", answer.text.replace(task_id, "…"))


@EVERY_INTRUDER
@EVERY_BINDING
def test_a_foreign_task_is_one_that_does_not_exist(
    client: httpx.Client, binding: DialectBinding, token: str
) -> None:
    """In every state, every operation responds as for an unknown id and changes nothing.

    In the mesh dialect clients choose the ids of new tasks: there a message for a foreign task
    begins one of the same name.
    """
    path = surface_path(binding)
    intruder = AuthenticatedClient(client, binding, path, token)
    victim = VictimTask.at(client, path)
    before = victim.read_everything()
    for name, (operation, request) in ATTACKS.items():
        if not binding.has(operation):
            continue
        begins = binding is MESH_BINDING and operation in SENDS
        if begins:  # a name that was not tried before
            victim = VictimTask.at(client, path)
            before = victim.read_everything()
        for task in victim.tasks:
            nobodys = f"nobodys-{task.id}"
            nowhere = attempt(intruder, operation, request(nobodys), nobodys)
            assert attempt(intruder, operation, request(task.id), task.id) == nowhere, name
            assert begins or nowhere[0] != 200 or "error" in nowhere[1], name
            assert not begins or "['mine'] {} []" in nowhere[1]
        if begins:
            assert victim.read_everything() == before, name
    assert victim.read_everything() == before


@EVERY_INTRUDER
@EVERY_BINDING
def test_a_foreign_conversation_is_an_empty_one(
    client: httpx.Client, binding: DialectBinding, token: str
) -> None:
    """A caller that sends the context id of another owner starts a new context and reads nothing of
    the other one, not even by reference.
    """
    victim = VictimTask.at(client, surface_path(binding))
    intruder = AuthenticatedClient(client, binding, surface_path(binding), token)
    first = victim.tasks[0]
    before = victim.read_everything()
    task_id = f"mine-{first.id}" if binding is MESH_BINDING else None
    task = intruder.task(
        "mine",
        skill="act",
        task_id=task_id,
        context_id=first.context_id,
        reference_task_ids=[first.id],
    )
    said = [part.text for artifact in task.artifacts or () for part in artifact.parts]
    assert said == ["['mine'] {} []"]
    if binding.has(LIST_TASKS):
        mine = intruder.list(context_id=first.context_id)
        assert ([each.id for each in mine.tasks], mine.total_size) == ([task.id], 1)
        assert first.id not in {each.id for each in intruder.list(page_size=100).tasks}
    assert victim.read_everything() == before


@EVERY_INTRUDER
@pytest.mark.parametrize("binding", DIALECT_BINDINGS, ids=str)
def test_an_idempotency_key_is_good_for_its_owner_only(
    client: httpx.Client, binding: DialectBinding, token: str
) -> None:
    """The same key and the same request of another owner create another task."""
    path = surface_path(binding)
    request = build_send_request("secret", skill="echo", message_id="m-1")
    answers = [
        AuthenticatedClient(client, binding, path, who).call_raw(
            SEND_MESSAGE, request, idempotency_key="k"
        )
        for who in (ADA_TOKEN, token)
    ]
    assert [each.status_code for each in answers] == [200, 200]
    assert answers[0].text != answers[1].text


def test_a_page_token_opens_no_foreign_list(client: httpx.Client) -> None:
    """With the page token of another owner a caller reads only tasks of their own."""
    victim = VictimTask.at(client, "")
    page = victim.ada.list(page_size=1)
    assert page.next_page_token
    for token in INTRUDERS.values():
        intruder = AuthenticatedClient(client, victim.ada.dialect_binding, "", token)
        try:
            found = intruder.call(
                LIST_TASKS, ListTasksRequest(page_size=100, page_token=page.next_page_token)
            )
        except CallError:
            continue
        assert not {task.id for task in found.tasks} & {task.id for task in victim.tasks}  # type: ignore[union-attr]  # a list is what is answered


@pytest.mark.parametrize("operation", ["get", "cancel", "subscribe"])
def test_the_tenant_comes_from_the_token(client: httpx.Client, operation: str) -> None:
    """Another tenant in the request or in the path is denied."""
    victim = VictimTask.at(client, "")
    response, request = ATTACKS[operation]
    before = victim.read_everything()
    for is_jsonrpc in (True, False):
        same_name = AuthenticatedClient(
            client,
            DialectBinding(V1_0.name, is_jsonrpc=is_jsonrpc),
            "",
            INTRUDERS["another tenant"],
        )
        for task in victim.tasks:
            with_tenant = request(task.id).model_copy(update={"tenant": "acme"})
            answer = same_name.call_raw(response, with_tenant)
            assert answer.status_code == 403
            assert task.id not in answer.text
    assert victim.read_everything() == before

"""Rules of a storage, as tests."""

# ruff: noqa: S101 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, Task
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import ConcurrencyError, TaskTerminalError
from a2a_runtime.features.simple_stores import SimpleStore
from a2a_runtime.features.simple_stores.codec import StorageCalls, StorageCodec, to_store_error
from a2a_runtime.stores.models import TaskQuery
from a2a_runtime.testing.agent import artifact_texts, run_agent

_TIMEOUT_SECONDS = 30


class TestedStorage:
    """A storage, called with canonical models."""

    __test__ = False

    def __init__(self, storage: Any) -> None:  # noqa: ANN401 - any object with the methods
        self.codec = StorageCodec(storage)
        self._calls: StorageCalls = storage

    # typed as Any: a result of another library
    async def call(self, name: str, *args: object, **options: object) -> Any:  # noqa: ANN401
        """Call a method; its errors become those of the runtime."""
        try:
            return await getattr(self._calls, name)(*args, **options)
        except Exception as error:
            raise to_store_error(error, name) from error

    def require(self, *names: str) -> None:
        """Skip a test of methods that the storage lacks."""
        if not self.codec.has(*names):
            pytest.skip(f"the storage has no {' and '.join(names)}")

    async def create(
        self, text: str = "hello", context_id: str = "c-1", key: str | None = None
    ) -> Task:
        """Create a task."""
        message = Message(
            message_id=f"m-{uuid.uuid4()}",
            context_id=context_id,
            role=Role.USER,
            parts=[Part(text=text)],
        )
        return self.codec.read_task(
            await self.call(
                "create_task", context_id, self.codec.to_message(message), idempotency_key=key
            )
        )

    async def update(
        self,
        task: Task,
        state: State | None = None,
        *,
        artifacts: Any = None,  # noqa: ANN401 - pairs
        **options: object,
    ) -> int:
        """Update a task; artifacts are pairs of an artifact and whether it is appended."""
        writes = [
            self.codec.to_artifact_write(artifact, append=append)
            for artifact, append in artifacts or ()
        ]
        own_state = None if state is None else self.codec.to_state(state)
        version: int = await self.call(
            "update_task", task.id, own_state, artifacts=writes or None, **options
        )
        return version

    async def find(self, task_id: str, *args: object, **options: object) -> Task | None:
        """Load a task."""
        found = await self.call("load_task", task_id, *args, **options)
        if found is None:
            return None
        return self.codec.read_task(found)

    async def load(self, task: Task, *args: object, **options: object) -> Task:
        """Load a task that exists."""
        found = await self.find(task.id, *args, **options)
        assert found is not None
        return found

    async def list(self, **filters: Any) -> list[str]:  # noqa: ANN401 - fields of a query
        """List the ids of tasks, page by page, two at a time."""
        found: list[str] = []
        token = ""
        while True:
            page = await self.call(
                "list_tasks", self.codec.to_query(TaskQuery(**filters), 2, token)
            )
            found += [each.id for each in page.tasks]
            token = page.next_page_token
            if not token:
                return found


def _reply(task: Task, text: str) -> Message:
    return Message(
        message_id=f"m-{text}",
        task_id=task.id,
        context_id=task.context_id,
        role=Role.AGENT,
        parts=[Part(text=text)],
    )


def _artifact(artifact_id: str, *texts: str) -> Artifact:
    return Artifact(artifact_id=artifact_id, parts=[Part(text=text) for text in texts])


def _texts(messages: list[Message] | None) -> list[str | None]:
    return [message.parts[0].text for message in messages or []]


class StorageContract:
    """Rules of a storage; a subclass provides the fixture ``storage``."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio, as the runtime does."""
        return "asyncio"

    @pytest.fixture
    def storage(self) -> Any:  # noqa: ANN401 - any object with the methods
        """Provide the storage under test, empty."""
        raise NotImplementedError(
            "Subclasses of StorageContract hand in their storage with a fixture `storage`"
        )

    @pytest.fixture
    def tested(self, storage: Any) -> TestedStorage:  # noqa: ANN401 - as above
        """Wrap the storage."""
        return TestedStorage(storage)

    async def test_a_new_task_is_submitted_and_holds_its_message(
        self, tested: TestedStorage
    ) -> None:
        """The message has the ids of the task."""
        created = await tested.create("hello")
        task = await tested.load(created)
        message = (task.history or [])[0]
        assert State(task.status.state) is State.SUBMITTED
        assert (message.task_id, message.context_id, message.parts[0].text) == (
            created.id,
            "c-1",
            "hello",
        )

    @pytest.mark.parametrize(
        "task_id",
        ["nothing", str(uuid.UUID(int=0)), "'; --", "ü", "x" * 300],
        ids=["word", "uuid", "quote", "no ascii", "long"],
    )
    async def test_an_unknown_task_is_nothing(self, tested: TestedStorage, task_id: str) -> None:
        """An id of any form may come from a client."""
        assert await tested.find(task_id) is None
        with pytest.raises(TaskNotFoundError):
            await tested.call("update_task", task_id, task_metadata={"k": 1})

    async def test_a_message_is_not_changed(self, tested: TestedStorage) -> None:
        """The storage keeps a copy."""
        message = tested.codec.to_message(
            Message(message_id="m-1", context_id="c-1", role=Role.USER, parts=[Part(text="hello")])
        )
        before = repr(message)
        await tested.call("create_task", "c-1", message)
        assert repr(message) == before

    async def test_one_change_has_a_state_messages_artifacts_and_metadata(
        self, tested: TestedStorage
    ) -> None:
        """All of it is visible to the next read."""
        task = await tested.create()
        reply = tested.codec.to_message(_reply(task, "1"))
        status = tested.codec.to_message(_reply(task, "2"))
        artifacts = [(_artifact("a", "x"), False)]
        await tested.update(
            task,
            State.WORKING,
            artifacts=artifacts,
            messages=[reply],
            status_message=status,
            task_metadata={"k": {"n": 1}},
        )
        found = await tested.load(task)
        assert found.status.message is not None
        assert (State(found.status.state), found.status.message.parts[0].text) == (
            State.WORKING,
            "2",
        )
        assert (_texts(found.history), artifact_texts(found)) == (["hello", "1"], {"a": ["x"]})
        assert (found.metadata or {})["k"] == {"n": 1}

    async def test_without_a_state_the_state_stays(self, tested: TestedStorage) -> None:
        """Metadata is merged key by key, not in depth."""
        task = await tested.create()
        await tested.update(task, State.WORKING, task_metadata={"kept": 1, "replaced": {"a": 1}})
        await tested.update(task, task_metadata={"replaced": {"b": 2}})
        found = await tested.load(task)
        assert State(found.status.state) is State.WORKING
        assert {name: (found.metadata or {})[name] for name in ("kept", "replaced")} == {
            "kept": 1,
            "replaced": {"b": 2},
        }

    async def test_artifacts_are_appended_and_replaced(self, tested: TestedStorage) -> None:
        """One call may do both."""
        task = await tested.create()
        await tested.update(
            task,
            State.WORKING,
            artifacts=[(_artifact("a", "1"), False), (_artifact("b", "1"), False)],
        )
        await tested.update(
            task,
            artifacts=[
                (_artifact("a", "2"), True),
                (_artifact("b", "2"), False),
                (_artifact("c", "1"), True),
            ],
        )
        assert artifact_texts(await tested.load(task)) == {"a": ["1", "2"], "b": ["2"], "c": ["1"]}

    async def test_a_history_is_read_from_its_end(self, tested: TestedStorage) -> None:
        """All of it, none of it, or the newest messages; artifacts can be left out."""
        task = await tested.create("0")
        await tested.update(
            task,
            artifacts=[(_artifact("a", "x"), False)],
            messages=[tested.codec.to_message(_reply(task, "1"))],
        )
        assert [
            _texts((await tested.load(task, length)).history) for length in (None, 0, 1, 9)
        ] == [["0", "1"], [], ["1"], ["0", "1"]]
        assert not (await tested.load(task, include_artifacts=False)).artifacts

    @pytest.mark.parametrize("end", [State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED])
    async def test_a_task_ends_once(self, tested: TestedStorage, end: State) -> None:
        """No other state follows; content without a state may."""
        task = await tested.create()
        await tested.update(task, end)
        for state in (State.WORKING, State.COMPLETED):
            with pytest.raises(TaskTerminalError):
                await tested.update(task, state, task_metadata={"late": 1})
        await tested.update(task, messages=[tested.codec.to_message(_reply(task, "late"))])
        found = await tested.load(task)
        assert (State(found.status.state), _texts(found.history)) == (end, ["hello", "late"])
        assert "late" not in (found.metadata or {})

    async def test_of_several_writers_one_ends_a_task(self, tested: TestedStorage) -> None:
        """The others get an error: the task has ended, or has changed meanwhile."""
        task = await tested.create()
        ends = [State.COMPLETED, State.FAILED, State.CANCELED] * 3
        results = await asyncio.gather(
            *(tested.update(task, end) for end in ends), return_exceptions=True
        )
        assert all(
            isinstance(result, int | TaskTerminalError | ConcurrencyError) for result in results
        )
        assert sum(isinstance(result, int) for result in results) == 1

    async def test_an_idempotency_key_gives_the_same_task(self, tested: TestedStorage) -> None:
        """In its context, also for concurrent calls; in another context it is another key."""
        same = await asyncio.gather(*(tested.create(key="key-1") for _ in range(8)))
        other = [
            await tested.create(context_id="c-2", key="key-1"),
            await tested.create(key="key-2"),
            await tested.create(),
        ]
        assert (len({task.id for task in same}), len({task.id for task in (*same, *other)})) == (
            1,
            4,
        )

    async def test_an_expected_version_must_match(self, tested: TestedStorage) -> None:
        """A refused change leaves nothing, and concurrent writers lose no update."""
        tested.require("get_version")
        task = await tested.create()
        version = await tested.call("get_version", task.id)
        following = await tested.update(task, expected_version=version, task_metadata={"n": 1})
        assert following == await tested.call("get_version", task.id) != version
        with pytest.raises(ConcurrencyError):
            await tested.update(
                task, State.WORKING, expected_version=version, task_metadata={"n": 2}
            )
        found = await tested.load(task)
        assert (State(found.status.state), (found.metadata or {})["n"]) == (State.SUBMITTED, 1)
        writers = (
            tested.update(task, expected_version=following, task_metadata={f"w-{n}": n})
            for n in range(5)
        )
        results = await asyncio.gather(*writers, return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == [
            *["ConcurrencyError"] * 4,
            "int",
        ]

    async def test_lists_have_filters_and_pages(self, tested: TestedStorage) -> None:
        """Every task is on one page."""
        tested.require("list_tasks")
        ids = [(await tested.create(context_id=f"c-{n % 2}")).id for n in range(5)]
        await tested.call("update_task", ids[0], tested.codec.to_state(State.WORKING))
        assert sorted(await tested.list()) == sorted(ids)
        assert sorted(await tested.list(context_id="c-1")) == sorted(ids[1::2])
        assert await tested.list(state=State.WORKING) == ids[:1]

    async def test_a_deleted_task_is_gone(self, tested: TestedStorage) -> None:
        """A second deletion says so."""
        tested.require("delete_task")
        task = await tested.create()
        other = await tested.create()
        assert [await tested.call("delete_task", task.id) for _ in range(2)] == [True, False]
        assert await tested.find(task.id) is None
        assert (await tested.load(other)).id == other.id

    async def test_the_data_of_a_context_is_replaced(self, tested: TestedStorage) -> None:
        """Without any there is nothing; a context needs no task."""
        tested.require("load_context", "update_context")
        assert await tested.call("load_context", "c-1") is None
        for data in ({"a": {"b": [1, None, "ü"]}}, {"c": 2}):
            await tested.call("update_context", "c-1", data)
            assert await tested.call("load_context", "c-1") == data

    # typed as Any: any object with the methods
    async def test_an_agent_runs_on_it(self, storage: Any) -> None:  # noqa: ANN401
        """A task that waits for its caller goes on in the next process, and has nothing of the
        store's own metadata.
        """
        async with (
            run_agent(_order, store=SimpleStore(storage)) as one,
            asyncio.timeout(_TIMEOUT_SECONDS),
        ):
            task = await one.send("tea")
            assert State(task.status.state) is State.INPUT_REQUIRED
        async with (
            run_agent(_order, store=SimpleStore(storage)) as one,
            asyncio.timeout(_TIMEOUT_SECONDS),
        ):
            done = await one.answer(task, "two")
            assert artifact_texts(done) == {"result": ["two tea"]}
        async with (
            run_agent(_order, store=SimpleStore(storage)) as one,
            asyncio.timeout(_TIMEOUT_SECONDS),
        ):
            again = (await one.engine.load(one.scope, task.id)).task.model
            assert (artifact_texts(again), again.metadata) == (artifact_texts(done), None)


async def _order(ctx: TaskContext) -> str:
    """Ask how many."""
    what = ctx.text
    return f"{(await ctx.ask('How many?')).text} {what}"


__all__ = ["StorageContract", "TestedStorage"]

"""Contents of a task: round trips, merging, partial reads."""

# ruff: noqa: S101, PLR2004 - a contract suite asserts, and a number in it is the expectation

from __future__ import annotations

import json

import pytest

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import NewTask, StoredTask, TaskChange
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    StoreCase,
    append_artifact,
    build_artifact,
    build_new_task,
    build_reply,
    create_task,
    end_task,
    get_artifact_texts,
    load_task,
    replace_artifact,
    write_artifact,
)

ODD: dict[str, object] = {
    "zulu": 2**53 + 1,
    "alpha": 10**39 + 7,
    "nothing": None,
    "nested": {"b": [None, {"y": None, "x": -(10**40)}], "a": {}},
    "text": 'quote " backslash \\ line \n é \u2028 \U0001f600 "parts":[]',
    "fraction": 0.1,
}


class ContentRules(StoreCase):
    """Rules of messages, artifacts and metadata."""

    async def test_free_json_is_preserved(self, store: Store) -> None:
        """Large integers, nulls, key order and all characters survive wherever free JSON is
        stored.
        """
        part = Part.model_validate({"data": ODD, "metadata": ODD})
        first = Message.model_validate(
            {"message_id": "m", "role": Role.USER, "parts": [part], "metadata": ODD}
        )
        task = (
            await store.create_task(
                SCOPE, NewTask("c-1", first, "echo", CANONICAL.name, metadata=ODD)
            )
        ).stored
        made = build_artifact("a").model_copy(
            update={"name": ODD["text"], "parts": [part], "metadata": ODD}
        )
        reply = first.model_copy(update={"task_id": task.wire_id, "context_id": "c-1"})
        change = TaskChange(
            state=State.COMPLETED,
            status_message=reply,
            messages=[reply],
            chunks=[write_artifact(made)],
            metadata={"zulu": 1, "new": ODD},
        )
        await store.update_task(SCOPE, task.key, change)
        await store.update_context(SCOPE, "c-1", ODD)
        model = (await load_task(store, task)).task.model
        history = model.history or []
        artifacts = model.artifacts or []
        assert model.status.message is not None
        values: list[object] = [
            model.status.message.metadata,
            artifacts[0].metadata,
            await store.load_context(SCOPE, "c-1"),
        ]
        values += [
            value
            for each in history
            for value in (each.metadata, each.parts[0].data, each.parts[0].metadata)
        ]
        values += [
            artifacts[0].parts[0].data,
            artifacts[0].parts[0].metadata,
            (model.metadata or {})["new"],
        ]
        expected = json.dumps(ODD)
        assert [json.dumps(value) for value in values] == [expected] * len(values)
        assert list(model.metadata or {}) == [*ODD, "new"]
        assert artifacts[0].name == ODD["text"]

    async def test_a_null_in_a_data_part_stays_a_null(self, store: Store) -> None:
        """A part whose data is null is not a part without content."""
        task = await create_task(store)
        made = build_artifact("a").model_copy(
            update={"parts": [Part.model_validate({"data": None})]}
        )
        await store.update_task(SCOPE, task.key, TaskChange(chunks=[write_artifact(made)]))
        body = json.loads((await load_task(store, task)).task.json)
        assert body["artifacts"][0]["parts"] == [{"data": None}]

    async def test_the_json_of_a_task_is_that_of_its_model(self, store: Store) -> None:
        """Both are equal, byte by byte."""
        task = await create_task(store)
        rich = build_artifact(
            "b", "2", name="n", description="d", metadata={"k": [1]}, extensions=["urn:x"]
        )
        change = TaskChange(
            chunks=[
                replace_artifact("a", "1"),
                write_artifact(rich),
                write_artifact(build_artifact("empty")),
            ],
            metadata={"m": None},
        )
        await store.update_task(SCOPE, task.key, change)
        now = await end_task(store, task)
        assert Task.model_validate_json(now.task.json).to_json() == now.task.json

    async def test_metadata_is_merged_key_by_key(self, store: Store) -> None:
        """A key gets the new value, even null; other keys keep their position."""
        task = await create_task(store)
        await store.update_task(SCOPE, task.key, TaskChange(metadata={"b": {"x": 1}, "a": 1}))
        await store.update_task(
            SCOPE, task.key, TaskChange(metadata={"c": 3, "b": {"y": 2}, "a": None})
        )
        assert (
            json.dumps((await load_task(store, task)).task.model.metadata)
            == '{"b": {"y": 2}, "a": null, "c": 3}'
        )

    async def test_chunks_are_appended_and_replaced(self, store: Store) -> None:
        """Appending continues an artifact, replacing restarts it at its old place."""
        task = await create_task(store)
        for write in (
            replace_artifact("a", "1"),
            replace_artifact("b", "2"),
            append_artifact("a", "3", "4"),
            replace_artifact("a", "5"),
            append_artifact("a", "6"),
            append_artifact("c", "7"),
        ):
            await store.update_task(SCOPE, task.key, TaskChange(chunks=[write]))
        expected = {"a": ["5", "6"], "b": ["2"], "c": ["7"]}
        for now in (await load_task(store, task), await end_task(store, task)):
            assert get_artifact_texts(now) == expected
            assert list(get_artifact_texts(now)) == ["a", "b", "c"]

    async def test_one_call_mixes_appending_and_replacing(self, store: Store) -> None:
        """Several writes to one artifact in one call become one, in their order."""
        task = await create_task(store)
        await store.update_task(
            SCOPE,
            task.key,
            TaskChange(
                chunks=[
                    replace_artifact("a", "1"),
                    replace_artifact("b", "2"),
                    replace_artifact("c", "3"),
                ]
            ),
        )
        writes = [
            append_artifact("a", "x"),
            replace_artifact("b", "4"),
            replace_artifact("a", "5"),
            append_artifact("b", "6"),
            append_artifact("a", "7"),
            append_artifact("c", "8"),
        ]
        written = await store.update_task(SCOPE, task.key, TaskChange(chunks=writes))
        assert get_artifact_texts(await load_task(store, task)) == {
            "a": ["5", "7"],
            "b": ["4", "6"],
            "c": ["3", "8"],
        }
        assert len(written.events) == 3

    async def test_a_batch_keeps_each_write_as_an_event(self, store: Store) -> None:
        """The artifacts are as after one call for each write."""
        task = await create_task(store)
        writes = [
            replace_artifact("a", "1"),
            append_artifact("a", "2"),
            replace_artifact("b", "3"),
            write_artifact(build_artifact("a", "4", name="final"), append=True, last_chunk=True),
            replace_artifact("b", "5"),
            append_artifact("b", "6"),
        ]
        written = await store.update_task(SCOPE, task.key, TaskChange(chunks=writes, is_batch=True))
        updates = [json.loads(event.body)["artifactUpdate"] for event in written.events]
        assert [
            (each["artifact"]["parts"][0]["text"], each.get("append", False)) for each in updates
        ] == [
            ("1", False),
            ("2", True),
            ("3", False),
            ("4", True),
            ("5", False),
            ("6", True),
        ]
        assert [event.seq for event in written.events] == [2, 3, 4, 5, 6, 7]
        assert [event.body for event in await store.read_events(task.key, 1)] == [
            event.body for event in written.events
        ]
        await store.update_task(
            SCOPE,
            task.key,
            TaskChange(
                chunks=[append_artifact("a", "7"), append_artifact("b", "8")], is_batch=True
            ),
        )
        for now in (await load_task(store, task), await end_task(store, task)):
            assert get_artifact_texts(now) == {"a": ["1", "2", "4", "7"], "b": ["5", "6", "8"]}
            assert [each.name for each in now.task.model.artifacts or []] == ["final", None]

    async def test_later_chunks_update_an_artifact(self, store: Store) -> None:
        """A name, metadata and extensions may come with any chunk; metadata is merged."""
        task = await create_task(store)
        chunks = [
            build_artifact("a", "1", name="draft", metadata={"p": 1, "q": 1}),
            build_artifact("a", "2"),
            build_artifact("a", "3", name="final", metadata={"q": 2, "r": 3}, extensions=["urn:x"]),
        ]
        for n, chunk in enumerate(chunks):
            await store.update_task(
                SCOPE, task.key, TaskChange(chunks=[write_artifact(chunk, append=n > 0)])
            )
        for now in (await load_task(store, task), await end_task(store, task)):
            (whole,) = now.task.model.artifacts or []
            assert (whole.name, whole.metadata, whole.extensions) == (
                "final",
                {"p": 1, "q": 2, "r": 3},
                ["urn:x"],
            )
            assert [part.text for part in whole.parts] == ["1", "2", "3"]

    @pytest.mark.parametrize(
        ("length", "expected"),
        [
            (None, ["m-1", "m-a", "m-b"]),
            (0, []),
            (1, ["m-b"]),
            (2, ["m-a", "m-b"]),
            (9, ["m-1", "m-a", "m-b"]),
        ],
    )
    @pytest.mark.parametrize("over", [False, True], ids=["living", "ended"])
    async def test_a_history_is_read_from_its_end(
        self, store: Store, length: int | None, expected: list[str], *, over: bool
    ) -> None:
        """All messages without a length, the last ones with a length, none with 0."""
        task = await _create_with_content(store, over=over)
        found = await store.load_task(SCOPE, task.wire_id, length)
        assert found is not None
        assert [message.message_id for message in found.task.model.history or []] == expected
        assert (found.task.model.history is None) == (length == 0)

    @pytest.mark.parametrize("over", [False, True], ids=["living", "ended"])
    async def test_artifacts_can_be_left_out(self, store: Store, *, over: bool) -> None:
        """A read without artifacts has none."""
        task = await _create_with_content(store, over=over)
        found = await store.load_task(SCOPE, task.wire_id, include_artifacts=False)
        assert found is not None
        assert found.task.model.artifacts is None
        assert get_artifact_texts(await load_task(store, task)) == {"a": ["1"]}


async def _create_with_content(store: Store, *, over: bool) -> StoredTask:
    task = await create_task(store, build_new_task())
    await store.update_task(
        SCOPE,
        task.key,
        TaskChange(messages=[build_reply(task, "a")], chunks=[replace_artifact("a", "1")]),
    )
    await store.update_task(SCOPE, task.key, TaskChange(messages=[build_reply(task, "b")]))
    if over:
        return await end_task(store, task)
    return task

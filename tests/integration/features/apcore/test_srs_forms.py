"""Requests in the forms of the SRS: parts with a type, flat files and webhooks, conversations,
pages, cards.
"""

from __future__ import annotations

import pytest
from integration.features.apcore.test_auth import AUTH, bearer, build_protected
from integration.features.apcore.world import (
    Add,
    Delete,
    build_registry,
    build_world,
    read_data,
    run_agent,
)

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("apcore", "FR-CTX-001.a", "FR-MSG-003")
async def test_messages_have_parts_with_a_type() -> None:
    """Flat files, and the conversation beside the message."""
    async with run_agent(build_world()) as agent:
        data = {
            "role": "user",
            "parts": [{"type": "data", "data": {"a": 1, "b": 2}, "mediaType": "application/json"}],
        }
        params = {"message": data, "contextId": "c-1", "metadata": {"skillId": "math.add"}}
        task = (await agent.rpc("message/send", params))["result"]
        assert (task["contextId"], read_data(task)) == ("c-1", {"total": 3})
        file = {
            "role": "user",
            "parts": [
                {"type": "file", "uri": "https://x/a.png", "name": "a.png", "mimeType": "image/png"}
            ],
        }
        task = (
            await agent.rpc("message/send", {"message": file, "metadata": {"skillId": "file.open"}})
        )["result"]
        assert read_data(task) == {
            "file": {"uri": "https://x/a.png", "name": "a.png", "mimeType": "image/png"}
        }


@pytest.mark.requirement("apcore", "FR-MSG-002.a", "FR-MSG-006.a")
async def test_streams_begin_with_a_status() -> None:
    """Of a message in a form of the SRS; one in the form of 0.3 begins with its task.

    A stream of a task that has ended is its last status.
    """
    async with run_agent(build_world()) as agent:
        data = {"role": "user", "parts": [{"type": "data", "data": {"a": 1, "b": 2}}]}
        events = [
            each
            async for each in agent.follow(
                "message/stream", {"message": data, "metadata": {"skillId": "math.add"}}
            )
        ]
        assert [each["kind"] for each in events] == [
            "status-update",
            "status-update",
            "artifact-update",
            "status-update",
        ]
        assert [each.get("status", {}).get("state") for each in events] == [
            "submitted",
            "working",
            None,
            "completed",
        ]
        assert (await agent.stream("math.add", {"a": 1, "b": 2}))[0]["kind"] == "task"
        (last,) = [
            each async for each in agent.follow("tasks/resubscribe", {"id": events[0]["taskId"]})
        ]
        assert (last["kind"], last["status"]["state"], last["final"]) == (
            "status-update",
            "completed",
            True,
        )


@pytest.mark.requirement("apcore", "FR-CTX-003.a")
async def test_a_conversation_finds_the_task_that_waits() -> None:
    """An answer in a conversation continues its waiting task without a task id."""
    module = Delete()
    async with run_agent(build_registry(data__delete=module)) as agent:
        question = await agent.call("data.delete", {"number": 7})
        answer = {"role": "user", "parts": [{"type": "text", "text": "yes"}]}
        params = {
            "message": answer,
            "contextId": question["contextId"],
            "metadata": {"skillId": "data.delete"},
        }
        done = (await agent.rpc("message/send", params))["result"]
        assert (done["id"], done["status"]["state"], len(module.calls)) == (
            question["id"],
            "completed",
            1,
        )


@pytest.mark.requirement("apcore", "FR-TSK-006.a")
async def test_lists_have_a_limit_and_a_cursor() -> None:
    """A limit that is too high is lowered."""
    async with run_agent(build_registry(math__add=Add())) as agent:
        for number in range(3):
            await agent.call("math.add", {"a": number, "b": 0})
        page = (await agent.rpc("tasks/list", {"limit": 2}))["result"]
        rest = (await agent.rpc("tasks/list", {"limit": 900, "cursor": page["nextCursor"]}))[
            "result"
        ]
        assert (len(page["tasks"]), len(rest["tasks"]), rest.get("nextCursor") or None) == (
            2,
            1,
            None,
        )


@pytest.mark.requirement("apcore", "FR-PSH-001.a")
async def test_webhooks_are_flat() -> None:
    """Without webhooks the method does not exist."""
    registry = build_registry(math__add=Add())
    async with run_agent(registry, push_notifications=True, development=True) as agent:
        task = await agent.call("math.add", {"a": 1, "b": 2})
        flat = {"taskId": task["id"], "url": "http://127.0.0.1:9/hook"}
        assert (await agent.rpc("tasks/pushNotificationConfig/set", flat))["result"] == {
            **flat,
            "status": "active",
        }
        assert (await agent.rpc("tasks/pushNotificationConfig/get", {"taskId": task["id"]}))[
            "result"
        ]["url"] == flat["url"]
        assert "error" not in await agent.rpc(
            "tasks/pushNotificationConfig/delete", {"taskId": task["id"]}
        )
        assert (await agent.rpc("tasks/pushNotificationConfig/get", {"taskId": task["id"]}))[
            "error"
        ]["code"] == -32001
    async with run_agent(registry) as agent:
        assert (await agent.rpc("tasks/pushNotificationConfig/set", flat))["error"][
            "code"
        ] == -32601


@pytest.mark.requirement("apcore", "FR-AGC-004.a")
async def test_the_extended_card_has_its_path_and_method() -> None:
    """Anonymous callers get the public card by the method, and 401 at the path; without
    authentication there is none.
    """
    path = "/agent/authenticatedExtendedCard"
    everything = ["data.delete", "math.add", "memory.show"]
    async with run_agent(build_protected(), auth=AUTH) as agent:
        assert (await agent.http.get(path)).status_code == 401
        assert [
            each["id"] for each in (await agent.http.get(path, headers=bearer())).json()["skills"]
        ] == everything
        assert [
            each["id"] for each in (await agent.rpc("agentCard/get", {}))["result"]["skills"]
        ] == ["memory.show"]
        assert [
            each["id"]
            for each in (await agent.rpc("agentCard/get", {}, **bearer()))["result"]["skills"]
        ] == everything
    async with run_agent(build_protected()) as agent:
        assert (await agent.http.get(path)).status_code == 404

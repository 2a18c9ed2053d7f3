"""The checklist of producers: streams."""

from __future__ import annotations

import json
import time
from uuid import uuid4

import httpx
import pytest
from conformance.mesh.producer import (
    LINE_ENDS,
    Consumer,
    envelopes,
    job,
    message,
    released,
    summarize_event,
    text_of,
)

from a2a_contract.mesh import TaskArtifactUpdateEvent, TaskStatusUpdateEvent

BEGUN = ("working", None, None, False)
COMPLETED = ("completed", None, None, True)
REPORT = ("artifact", '{"pages": 3}')


@pytest.fixture
def report(client: httpx.Client) -> Consumer:
    """Consumer of the surface whose handler returns a job."""
    return Consumer(client, "/agents/report")


@pytest.mark.requirement("mesh", "E1", "E2", "E3", "E9", "D32")
def test_headers_and_format_of_a_stream(client: httpx.Client) -> None:
    """Caches and proxies must not buffer it; an event is one data line and an empty line."""
    with Consumer(client).open_stream("tasks/sendSubscribe", message=message("x")) as response:
        headers = {
            name: response.headers[name]
            for name in ("content-type", "cache-control", "x-accel-buffering", "connection")
        }
        body = response.read().decode()
    assert headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
        "connection": "keep-alive",
    }
    frames = body.split("\n\n")
    assert frames.pop() == ""
    assert all(frame.startswith("data: {") and "\n" not in frame for frame in frames)


@pytest.mark.requirement("mesh", "E6")
def test_a_handler_that_returns_is_an_artifact_and_the_end(client: httpx.Client) -> None:
    """Nothing says that such a task goes on; its events have its id."""
    artifact, end = Consumer(client).stream(
        "tasks/sendSubscribe", id=(task_id := str(uuid4())), message=message("x")
    )
    assert artifact == {
        "id": task_id,
        "artifact": {"name": "result", "parts": [{"type": "text", "text": "x"}], "index": 0},
    }
    assert (end["id"], end["status"]["state"], end["final"]) == (task_id, "completed", True)
    assert end["status"]["timestamp"].endswith("Z")
    TaskArtifactUpdateEvent.model_validate(artifact)
    TaskStatusUpdateEvent.model_validate(end)


@pytest.mark.requirement("mesh", "E6")
def test_a_slow_handler_has_the_events_of_a_quick_one(client: httpx.Client) -> None:
    """The start of the task is not an event."""
    events = Consumer(client, "/agents/counts").stream(
        "tasks/sendSubscribe", message=message("slow")
    )
    assert [summarize_event(event) for event in events] == [("artifact", "done"), COMPLETED]


@pytest.mark.requirement("mesh", "E5")
def test_a_handler_that_raises_is_one_event(client: httpx.Client) -> None:
    """The only event says what went wrong; the answer of HTTP is a stream all the same."""
    events = Consumer(client, "/agents/fails").stream("tasks/sendSubscribe", message=message("x"))
    assert [summarize_event(event) for event in events] == [
        ("failed", "Topic required", None, True)
    ]


@pytest.mark.requirement("mesh", "E7", "E10")
def test_a_job_yields_its_changes(report: Consumer) -> None:
    """First the working state, then every change without repetitions, then the result and the
    end.
    """
    steps = job((0.25, "a"), (0.25, "a"), (0.5, "a"), (0.5, "b"))
    events = report.stream("tasks/sendSubscribe", message=steps)
    assert [summarize_event(event) for event in events] == [
        BEGUN,
        ("working", "a", 0.25, False),
        ("working", "a", 0.5, False),
        ("working", "b", 0.5, False),
        REPORT,
        COMPLETED,
    ]


def test_a_job_that_fails_has_no_artifact(report: Consumer) -> None:
    """The end says what went wrong."""
    events = report.stream("tasks/sendSubscribe", message=job(end="fail"))
    assert [summarize_event(event) for event in events] == [
        BEGUN,
        ("failed", "No coffee left", None, True),
    ]


@pytest.mark.requirement("mesh", "E7")
def test_status_updates_of_a_handler_are_events(client: httpx.Client) -> None:
    """A status update is an event like that of a job; omitted values keep their last value."""
    events = Consumer(client, "/agents/tells").stream("tasks/sendSubscribe", message=message("x"))
    expected = [
        BEGUN,
        ("working", "half", 0.5, False),
        ("working", "half", 0.75, False),
        ("artifact", "told"),
        COMPLETED,
    ]
    assert [summarize_event(event) for event in events] == expected


@pytest.mark.requirement("mesh", "D19")
def test_a_taken_id_is_one_event(client: httpx.Client) -> None:
    """A consumer takes a plain answer for a stream without events, so that a duplicate is told on a
    stream.
    """
    echo = Consumer(client)
    echo.task("tasks/send", id="streamed", message=message("x"))
    (event,) = echo.stream("tasks/sendSubscribe", id="streamed", message=message("x"))
    assert event["id"] == "streamed"
    assert summarize_event(event) == (
        "failed",
        "A2A task id streamed is already in use",
        None,
        True,
    )


@pytest.mark.requirement("mesh", "E4")
def test_idle_streams_get_keep_alives(report: Consumer) -> None:
    """Comments tell that the connection lives while there is no news."""
    task_id = str(uuid4())
    with report.open_stream(
        "tasks/sendSubscribe", id=task_id, message=job(end="forever")
    ) as response:
        lines = response.iter_lines()
        seen = [next(lines) for _ in range(6)]
    assert summarize_event(json.loads(seen[0].removeprefix("data: "))["result"]) == BEGUN
    assert seen[1:] == ["", ": keepalive", "", ": keepalive", ""]
    report.task("tasks/cancel", id=task_id)


@pytest.mark.requirement("mesh", "E8")
def test_a_disconnect_does_not_cancel_the_task(report: Consumer) -> None:
    """The task goes on, and a new subscriber gets its later events."""
    task_id = str(uuid4())
    released.clear()
    with report.open_stream(
        "tasks/sendSubscribe", id=task_id, message=job((0.5, None), end="released")
    ) as response:
        assert summarize_event(next(envelopes(response.iter_lines()))["result"]) == BEGUN
    time.sleep(0.2)
    assert report.task("tasks/get", id=task_id)["status"]["state"] == "working"
    with report.open_stream("tasks/resubscribe", id=task_id) as response:
        events = envelopes(response.iter_lines())
        first = summarize_event(next(events)["result"])
        released.set()
        *middle, artifact, end = [summarize_event(event["result"]) for event in events]
    assert (first, artifact, end) == (BEGUN, REPORT, COMPLETED)
    assert all(event[0] == "working" and isinstance(event[2], float) for event in middle)


@pytest.mark.requirement("mesh", "R3")
def test_a_canceled_task_ends_its_streams(report: Consumer) -> None:
    """The last event says so, and nothing else."""
    task_id = str(uuid4())
    with report.open_stream(
        "tasks/sendSubscribe", id=task_id, message=job(end="forever")
    ) as response:
        events = envelopes(response.iter_lines())
        assert summarize_event(next(events)["result"]) == BEGUN
        report.task("tasks/cancel", id=task_id)
        assert [summarize_event(event["result"]) for event in events] == [
            ("canceled", None, None, True)
        ]


@pytest.mark.requirement("mesh", "R4", "D27")
def test_subscribing_to_an_ended_task(client: httpx.Client, report: Consumer) -> None:
    """The events are those of the start and the end, without the updates between them."""
    task_id = report.task("tasks/send", message=job((0.5, "half")))["id"]
    report.until(task_id, "completed")
    assert [summarize_event(event) for event in report.stream("tasks/resubscribe", id=task_id)] == [
        BEGUN,
        REPORT,
        COMPLETED,
    ]
    fails = Consumer(client, "/agents/fails")
    failed = fails.task("tasks/send", message=message("x"))["id"]
    assert [summarize_event(event) for event in fails.stream("tasks/resubscribe", id=failed)] == [
        BEGUN,
        ("failed", "Topic required", None, True),
    ]


@pytest.mark.requirement("mesh", "E3", "D28")
@pytest.mark.anyio
async def test_no_reader_cuts_an_event(client: httpx.Client) -> None:
    """Line separators of Python stay whole in the reader of real consumers."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tasks/sendSubscribe",
        "params": {"message": message("lines")},
    }
    async with (
        httpx.AsyncClient(base_url=client.base_url, trust_env=False) as reader,
        reader.stream("POST", "/agents/values", json=body) as response,
    ):
        lines = [line async for line in response.aiter_lines() if line]
    results = [json.loads(line.removeprefix("data: "))["result"] for line in lines]
    assert text_of({"artifacts": [results[0]["artifact"]]}) == LINE_ENDS
    assert summarize_event(results[1]) == COMPLETED

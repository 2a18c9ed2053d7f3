"""A2A 1.0, section 3.5: how updates are delivered, over a real socket where streams have to run
side by side.
"""

from __future__ import annotations

import threading
import time

import pytest
from conformance.agent import released
from conformance.agent_client import AgentClient
from integration.dialect_client import build_send_request

from a2a_contract.operations import SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import StreamResponse, TaskState

AT_ONCE = {"return_immediately": True}


@pytest.mark.requirement("1.0", "3.5.2a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_5_2_events_come_in_the_order_in_which_they_happened(client: AgentClient) -> None:
    """Their numbers grow by one, and so do the chunks in them."""
    events = list(client.events(SEND_STREAMING_MESSAGE, build_send_request("20", skill="count")))
    numbers = [int((event_id or "0").partition("-")[0]) for event_id, _ in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    chunks = [
        event.artifact_update.artifact.parts[0].text for _, event in events if event.artifact_update
    ]
    assert chunks == [str(number) for number in range(20)]


def _listen(
    client: AgentClient,
    task_id: str,
    events: list[tuple[str | None, StreamResponse]],
    stop_after: int | None = None,
) -> None:
    for event in client.subscribe(task_id):
        events.append(event)
        if len(events) == stop_after:
            return


@pytest.mark.requirement("1.0", "3.5.2b")
@pytest.mark.usefixtures("socket_only")
def test_v1_0_3_5_2_all_streams_of_a_task_bring_the_same(client: AgentClient) -> None:
    """The same events in the same order; one that is closed disturbs neither the others nor the
    task.
    """
    released.clear()
    task = client.task("12", skill="release", configuration=AT_ONCE)
    events: list[list[tuple[str | None, StreamResponse]]] = [[], [], []]
    threads = [
        threading.Thread(target=_listen, args=(client, task.id, each, 2 if place == 0 else None))
        for place, each in enumerate(events)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 30
    while not all(events) and time.monotonic() < end:
        time.sleep(0.01)
    released.set()
    for thread in threads:
        thread.join(30)
    one = events[1]
    other = events[2]
    common = {number for number, _ in one[1:]} & {number for number, _ in other[1:]}
    assert len(common) >= 12
    assert [each for each in one[1:] if each[0] in common] == [
        each for each in other[1:] if each[0] in common
    ]
    assert client.get(task.id).status.state == TaskState.COMPLETED


@pytest.mark.requirement("1.0", "3.5.2c")
@pytest.mark.usefixtures("socket_only")
def test_v1_0_3_5_2_a_task_outlives_its_streams(client_1_0: AgentClient) -> None:
    """The task completes without any reader."""
    for _, event in client_1_0.events(
        SEND_STREAMING_MESSAGE, build_send_request("6", skill="tick")
    ):
        assert event.task is not None
        task_id = event.task.id
        break
    end = time.monotonic() + 30
    while (
        state := client_1_0.get(task_id).status.state
    ) != TaskState.COMPLETED and time.monotonic() < end:
        time.sleep(0.05)
    assert state == TaskState.COMPLETED


@pytest.mark.requirement("1.0", "3.5.2a")
@pytest.mark.requirement("0.3", "7.10a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_5_2_a_client_that_comes_back_misses_nothing(client: AgentClient) -> None:
    """With the number of the last event that it has heard it gets exactly the rest."""
    events = list(client.events(SEND_STREAMING_MESSAGE, build_send_request("5", skill="count")))
    task = events[0][1].task
    assert task is not None
    for place in range(1, len(events) - 1):
        assert (
            list(client.subscribe(task.id, last_event_id=str(events[place][0])))
            == events[place + 1 :]
        )

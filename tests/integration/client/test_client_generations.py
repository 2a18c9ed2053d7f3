"""Our client and our server with the next version: conditions, and long polls where the agent has
no streams.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import serve_on_socket

from a2a_contract.dialects import V0_3, V1_0, V1_1_DRAFT
from a2a_contract.errors import TaskGenerationMismatchError, UnsupportedOperationError
from a2a_contract.lifecycle import State
from a2a_contract.v1_1_draft import Task
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.client import GRPC, HTTP_JSON, JSONRPC, A2AClient, ClientOptions, Pin
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

pytestmark = pytest.mark.anyio

PINS = {each.value: Pin(V1_1_DRAFT.spelling, each) for each in (JSONRPC, HTTP_JSON, GRPC)}
DIALECTS = frozenset((V1_0.name, V1_1_DRAFT.name, V0_3.name))


def build_agent(*, streaming: bool) -> Agent:
    """Build an agent with a skill that says something, asks, and returns the answer."""
    agent = Agent("numbered", capabilities=Capabilities(streaming=streaming))

    @agent.skill("ask")
    async def ask(ctx: TaskContext) -> str:
        await ctx.status("at it")
        return (await ctx.ask("Who?")).text

    return agent


@pytest.fixture(scope="module", params=[True, False], ids=["streams", "polls"])
def agent(request: pytest.FixtureRequest) -> Iterator[str]:
    """The agent on a socket, with streams and without."""
    surface = Surface(
        build_agent(streaming=request.param),
        dialects=DIALECTS,
        grpc=GrpcOptions(find_free_address()),
    )
    with serve_on_socket(create_app(surface, settings=FAST_SETTINGS)) as client:
        yield str(client.base_url)


@pytest.mark.parametrize("pin", PINS.values(), ids=PINS)
async def test_a_task_is_followed_with_streams_and_without(agent: str, pin: Pin) -> None:
    """Both show every settled state; long polls give the task, and may leave out what was over in
    the meantime.
    """
    async with A2AClient(agent, timeout=30, options=ClientOptions(pin=pin)) as client:
        stream = client.stream("hello")
        states = [str(event.status.state) async for event in stream if hasattr(event, "status")]
        assert states[-1] == State.INPUT_REQUIRED
        task = await client.get(stream.task_id or "")
        assert isinstance(task, Task)
        assert stream.generation == task.generation
        with pytest.raises(TaskGenerationMismatchError):
            await client.send("too late", task=task, if_generation=1)
        following = client.stream("Ada", task=task, if_generation=task.generation)
        assert [str(event.status.state) async for event in following if hasattr(event, "status")][
            -1
        ] == State.COMPLETED
        assert following.generation == (await client.get(task)).generation  # type: ignore[attr-defined]  # a task of the draft


async def test_a_subscription_without_streams_reads_until_the_end(agent: str) -> None:
    """It outlasts the question, as that of a stream does."""
    async with A2AClient(
        agent, timeout=30, options=ClientOptions(pin=PINS[JSONRPC.value])
    ) as client:
        question = await client.send("hello")
        assert isinstance(question, Task)
        states: list[str] = []
        async for event in client.subscribe(question):
            if hasattr(event, "status"):
                states.append(str(event.status.state))
            if states == [State.INPUT_REQUIRED]:
                await client.send("Ada", task=question, wait=False)
        assert (states[0], states[-1]) == (State.INPUT_REQUIRED, State.COMPLETED)


async def test_a_condition_needs_the_next_version(agent: str) -> None:
    """An agent of 1.0 would ignore it, so it is refused before anything is sent."""
    async with A2AClient(agent, timeout=30) as client:
        question = await client.send("hello")
        with pytest.raises(UnsupportedOperationError, match="if_generation"):
            # The question is a task.
            await client.send("Ada", task=question, if_generation=2)  # type: ignore[arg-type]

"""Dependencies of handlers: opened and closed with the process or the run, given by name, checked
when the agent is mounted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Self

import pytest

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskState
from a2a_runtime.agent import Agent
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.signals import RunStopped
from a2a_runtime.process import AgentRuntime
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import StreamingHandler, UnaryHandler
from a2a_runtime.skills.schema import TEXT
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import CALLER, FAST_SETTINGS, InProcessAgent, artifact_texts

pytestmark = pytest.mark.anyio


class Pool:
    """Something of the process."""

    def __init__(self, log: list[str], name: str = "pool") -> None:
        self._log = log
        self.name = name

    async def __aenter__(self) -> Self:
        self._log.append(f"+{self.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._log.append(f"-{self.name}")


@asynccontextmanager
async def run_agent(agent: Agent, store: Store | None = None) -> AsyncIterator[InProcessAgent]:
    """Run an agent with its dependencies, without HTTP."""
    surface = Surface(agent, "/agent")
    async with AgentRuntime([surface], store or MemoryStore(), FAST_SETTINGS) as runtime:
        yield InProcessAgent(
            runtime.engine, next(iter(agent.skills)), CALLER.task_scope(surface.storage_key), CALLER
        )


async def test_dependencies_of_the_process_are_opened_once_and_closed_in_reverse() -> None:
    """Classes, async functions, generators and context managers of both kinds, which take each
    other.
    """
    log: list[str] = []
    agent = Agent("a")

    async def make_url() -> str:
        return "db"

    async def open_client(pool: Pool) -> AsyncGenerator[str, None]:
        log.append("+client")
        yield f"client of {pool.name}"
        log.append("-client")

    @contextmanager
    def read_key(client: str) -> Iterator[str]:
        log.append("+key")
        yield f"key of {client}"
        log.append("-key")

    agent.provide(key=read_key, client=open_client, pool=lambda url: Pool(log, url), url=make_url)

    @agent.skill
    async def tell(_ctx: TaskContext, key: str, pool: Pool) -> str:
        log.append("run")
        return f"{key}, {id(pool)}"

    async with run_agent(agent) as caller:
        assert log == ["+db", "+client", "+key"]
        first, second = [artifact_texts(await caller.send("hi")) for _ in range(2)]
        assert first == second
        assert "key of client of db" in str(first)
    assert log == ["+db", "+client", "+key", "run", "run", "-key", "-client", "-db"]


async def test_a_dependency_that_cannot_be_opened_stops_the_start() -> None:
    """Dependencies that are open by then are closed."""
    log: list[str] = []
    agent = Agent("a")

    async def fail(pool: Pool) -> str:
        raise ConnectionError(f"no database for {pool.name}")

    agent.provide(pool=lambda: Pool(log), db=fail)
    agent.add("x", lambda _ctx: "x")
    with pytest.raises(ConnectionError, match="no database"):
        async with run_agent(agent):
            pass
    assert log == ["+pool", "-pool"]


async def returns(_ctx: TaskContext, session: str) -> str:
    """Return."""
    return session


async def streams(_ctx: TaskContext, *, session: str) -> AsyncGenerator[str, None]:
    """Yield."""
    yield session


def blocks(_ctx: TaskContext, session: str) -> str:
    """Return from a thread."""
    return session


async def asks(ctx: TaskContext, session: str) -> str:
    """Ask."""
    return f"{session}: {(await ctx.ask('Well?')).text}"


async def asks_in_a_group(ctx: TaskContext, session: str) -> str:
    """Ask within a task group."""
    async with asyncio.TaskGroup() as group:
        answer = group.create_task(ctx.ask(session))
    return (await answer).text


async def raises(_ctx: TaskContext, session: str) -> str:
    """Raise."""
    raise LookupError(session)


async def rejects(ctx: TaskContext, session: str) -> str:
    """Reject."""
    ctx.reject(session)


async def loses(_ctx: TaskContext, session: str) -> str:
    """Meet the signal of a lost lease, as a write does."""
    raise RunStopped(session)


async def waits(ctx: TaskContext, session: str) -> None:
    """Wait for ever."""
    await ctx.status(session)
    await asyncio.sleep(1000)


async def streams_on(_ctx: TaskContext, session: str) -> AsyncGenerator[str, None]:
    """Wait for ever after a chunk."""
    yield session
    await asyncio.sleep(1000)


def build_session_agent(log: list[str], closed: asyncio.Event | None = None) -> Agent:
    """Build an agent whose handlers end in every way, with a session for each run."""
    agent = Agent("a")

    async def open_session(ctx: TaskContext, pool: Pool) -> AsyncGenerator[str, None]:
        log.append("begin")
        try:
            yield f"session of {pool.name} for {ctx.text}"
        except BaseException as error:
            log.append(type(error).__name__)
            if closed is not None:
                closed.set()
            raise
        log.append("commit")

    agent.provide(pool=lambda: Pool([]))
    agent.provide_per_run(session=open_session)
    for handler in (
        returns,
        streams,
        blocks,
        asks,
        asks_in_a_group,
        raises,
        rejects,
        loses,
        waits,
        streams_on,
    ):
        agent.add(handler.__name__, handler)
    return agent


@pytest.mark.parametrize(
    ("skill", "state", "seen"),
    [
        ("returns", TaskState.COMPLETED, "commit"),
        ("streams", TaskState.COMPLETED, "commit"),
        ("blocks", TaskState.COMPLETED, "commit"),
        ("asks", TaskState.INPUT_REQUIRED, "commit"),
        ("asks_in_a_group", TaskState.INPUT_REQUIRED, "commit"),
        ("raises", TaskState.FAILED, "LookupError"),
        ("rejects", TaskState.REJECTED, "TaskEnded"),
    ],
)
async def test_a_generator_of_a_run_sees_how_the_run_ends(
    skill: str, state: TaskState, seen: str
) -> None:
    """Normally at the end and at a question, else with the exception."""
    log: list[str] = []
    async with run_agent(build_session_agent(log)) as caller:
        task = await caller.send("ada", skill=skill)
        assert task.status.state is state
        if state is TaskState.COMPLETED:
            assert "session of pool for ada" in str(artifact_texts(task))
        if skill == "asks":
            assert (await caller.answer(task, "fine")).status.state is TaskState.COMPLETED
            assert log == ["begin", "commit"] * 2
    assert log[:2] == ["begin", seen]


@pytest.mark.parametrize("skill", ["waits", "streams_on"])
async def test_a_generator_of_a_canceled_run_sees_a_cancellation(skill: str) -> None:
    """Also where the handler is a generator that waits after a chunk."""
    log: list[str] = []
    async with run_agent(build_session_agent(log)) as caller:
        stored = await caller.start("ada", skill=skill)
        await caller.wait_for_state(stored, State.WORKING)
        assert (await caller.engine.cancel(caller.scope, stored.wire_id)).state is State.CANCELED
    assert log == ["begin", "CancelledError"]


async def test_a_generator_of_a_run_that_was_replaced_sees_a_cancellation() -> None:
    """The signal of the runtime is none of its business; the task is left to the other run."""
    log = list[str]()
    closed = asyncio.Event()
    async with run_agent(build_session_agent(log, closed)) as caller:
        await caller.start("ada", skill="loses")
        async with asyncio.timeout(30):
            await closed.wait()
    assert log[:2] == ["begin", "CancelledError"]


async def test_an_exception_of_a_handler_passes_a_generator_that_swallows_it() -> None:
    """A task that failed is not completed by its session."""
    agent = Agent("a")

    @contextmanager
    def swallow() -> Iterator[int]:
        with suppress(LookupError):
            yield 1

    agent.provide_per_run(number=swallow)

    @agent.skill
    async def fails(_ctx: TaskContext, number: int) -> None:
        raise LookupError(number)

    async with run_agent(agent) as caller:
        assert (await caller.send("hi")).status.state is TaskState.FAILED


async def test_another_process_opens_the_dependencies_by_itself(tmp_path: Path) -> None:
    """There is no app and no request there: a task that asked a question goes on with a pool of the
    new process.
    """
    path = tmp_path / "tasks.db"
    log = list[str]()
    async with run_agent(build_session_agent(log), SqliteStore(path)) as caller:
        task = await caller.send("ada", skill="asks")
    async with run_agent(build_session_agent(log), SqliteStore(path)) as caller:
        assert "session of pool for ada: fine" in str(
            artifact_texts(await caller.answer(task, "fine"))
        )
    assert log == ["begin", "commit"] * 2


async def test_only_the_dependencies_that_a_handler_takes_are_opened_for_a_run() -> None:
    """With those that they take in turn; a parameter with a default stays as it is."""
    opened: list[str] = []
    agent = Agent("a")
    agent.provide_per_run(
        one=lambda: opened.append("one") or 1,
        two=lambda one: opened.append("two") or one + 1,
        three=lambda: opened.append("three"),
    )

    @agent.skill
    async def add(_ctx: TaskContext, two: int, other: int = 40) -> str:
        return str(two + other)

    async with run_agent(agent) as caller:
        assert "42" in str(artifact_texts(await caller.send("hi")))
    assert opened == ["one", "two"]


class Greeter:
    """A service with a life of its own."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    async def __aenter__(self) -> None:
        self._log.append("+greeter")

    async def __aexit__(self, *_: object) -> None:
        self._log.append("-greeter")

    async def greet(self, ctx: TaskContext) -> str:
        """Greet."""
        self._log.append("run")
        return f"Hello, {ctx.text}"

    async def part(self, ctx: TaskContext) -> str:
        """Say goodbye."""
        return f"Bye, {ctx.text}"


async def test_a_service_that_is_a_context_manager_is_entered_once() -> None:
    """However many of its methods are skills."""
    log: list[str] = []
    agent = Agent("a")
    greeter = Greeter(log)
    agent.add("greet", greeter.greet)
    agent.add("part", greeter.part)
    async with run_agent(agent) as caller:
        await caller.send("hi")
    assert log == ["+greeter", "run", "-greeter"]


class TypedService:
    """Methods of typed skills."""

    async def tell(self, request: str, _ctx: SkillContext, name: str) -> str:
        """Return."""
        return f"{request} {name}"

    async def spell(self, request: str, _ctx: SkillContext, *, name: str) -> AsyncIterator[str]:
        """Yield."""
        for letter in (request, name):
            yield letter


async def test_methods_of_a_service_take_dependencies_too() -> None:
    """Behind the input and the context."""
    service = TypedService()
    agent = Agent("a")
    tell = SkillContract("tell", TEXT, TEXT)
    spell = SkillContract("spell", TEXT, TEXT, streams=True)
    agent.provide(name=lambda: "Momo")
    agent.add("tell", UnaryHandler(tell, service.tell), contract=tell)
    agent.add("spell", StreamingHandler(spell, service.spell), contract=spell)
    async with run_agent(agent) as caller:
        assert artifact_texts(await caller.send("hi"))["result"] == ["hi Momo"]
        assert artifact_texts(await caller.send("hi", skill="spell"))["result"] == ["hi", "Momo"]

"""Skills on workers: placement, queues, retries, handover and the care for lost jobs.

What every runner does is in ``engine/``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.middleware import (
    AbstractAuthenticationMiddleware,
    AuthenticationResult,
    DefineMiddleware,
)
from litestar.testing import TestClient

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.agent import Agent
from a2a_runtime.auth import host_user
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.placement import RunRetryPolicy, WorkerOptions
from a2a_runtime.engine.run import HANDLER_FAILED
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.errors import UnsupportedStoreError, WorkerConfigError
from a2a_runtime.features.postgres import PostgresStore, upgrade
from a2a_runtime.features.workers.worker import WorkerPlan, run_worker, serve_jobs
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.process import AgentRuntime
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import StreamingHandler
from a2a_runtime.skills.schema import TEXT
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import Deferral, NewTask
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import (
    CALLER,
    FAST_SETTINGS,
    SURFACE,
    InProcessAgent,
    artifact_texts,
    build_user_message,
    run_agent,
)
from a2a_runtime.testing.embedded_postgres import DatabaseFactory

pytestmark = pytest.mark.anyio

OPTIONS = StoreOptions(lease_seconds=2.0)
ON_WORKERS = replace(FAST_SETTINGS, runs_on="workers")
MakeStore = Callable[[], PostgresStore]


@pytest.fixture
def make_store(postgres_url: str) -> MakeStore:
    """Make stores on one database, as processes do."""
    return lambda: PostgresStore(postgres_url, OPTIONS)


def serve_web(store: PostgresStore, *skills: Skill) -> AbstractAsyncContextManager[InProcessAgent]:
    """Run the engine of a process that serves requests and leaves all skills to workers."""
    return run_agent(
        *skills, store=store, options=EngineOptions(ON_WORKERS, notifier=store.notifier())
    )


@asynccontextmanager
async def work(store: PostgresStore, *skills: Skill, concurrency: int = 16) -> AsyncIterator[None]:
    """Run a worker."""
    registry = Skills()
    registry.add(SURFACE, *skills)
    engine = Engine(
        store, registry, EngineOptions(ON_WORKERS, notifier=store.notifier(), is_worker=True)
    )
    async with serve_jobs(engine, engine, registry, concurrency=concurrency):
        yield


async def echo(ctx: TaskContext) -> str:
    """Answer."""
    return ctx.text


async def execute(url: str, statement: str) -> None:
    """Execute a statement as an operator would."""
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


async def count_jobs(url: str) -> int:
    """Count the forged jobs in all queues."""
    connection = await asyncpg.connect(url)
    try:
        return int(
            await connection.fetchval(
                "SELECT count(*) FROM procrastinate_jobs WHERE args->>'task' LIKE 'not%'"
            )
        )
    finally:
        await connection.close()


async def test_dependencies_of_the_agent_are_opened_in_the_worker(make_store: MakeStore) -> None:
    """Those of the process and of the run, in each run of the task."""
    agent = Agent("a")
    agent.provide(greeting=lambda: "hello")
    agent.provide_per_run(attempt=lambda ctx: ctx.attempt)

    @agent.skill("tell", runs_on="workers")
    async def tell(ctx: TaskContext, greeting: str, attempt: int) -> str:
        await ctx.ask("Sure?")
        return f"{greeting} {attempt}"

    surface = Surface(agent, "/agent")
    async with (
        run_worker(AgentRuntime([surface], make_store(), FAST_SETTINGS, is_worker=True)),
        AgentRuntime([surface], make_store(), FAST_SETTINGS) as web,
        asyncio.timeout(30),
    ):
        one = InProcessAgent(web.engine, "tell", CALLER.task_scope(surface.storage_key), CALLER)
        assert artifact_texts(await one.answer(await one.send("hi"), "yes")) == {
            "result": ["hello 2"]
        }


class HeaderUser(AbstractAuthenticationMiddleware):
    """Middleware of a host that takes its user from headers."""

    async def authenticate_request(
        self, connection: ASGIConnection[Any, Any, Any, Any]
    ) -> AuthenticationResult:
        """Return the user."""
        return AuthenticationResult(
            user={"name": connection.headers.get("x-user"), "groups": ["staff"], "plan": "pro"},
            auth=None,
        )


async def test_users_of_a_host_and_typed_skills_reach_the_worker(make_store: MakeStore) -> None:
    """Over HTTP: a typed skill that asks and streams, for a user whom the middleware of the host
    knows.
    """
    agent = Agent("a")

    async def tell(topic: str, ctx: SkillContext) -> AsyncGenerator[str, None]:
        yield f"{topic} for {ctx.caller.subject}"
        yield f"{sorted(ctx.caller.roles)} {dict(ctx.caller.claims)}"

    contract = SkillContract("tell", TEXT, TEXT, streams=True)
    agent.add("tell", StreamingHandler(contract, tell), contract=contract, runs_on="workers")
    caller = host_user("name", roles="groups", claims=("plan",))
    plugin = A2APlugin(agent, caller=caller, store=make_store(), settings=FAST_SETTINGS)
    app = Litestar(plugins=[plugin], middleware=[DefineMiddleware(HeaderUser)], logging_config=None)
    message = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "tea"}]}}
    worker = A2APlugin(
        Surface(agent, "/agent", caller=caller), store=make_store(), settings=FAST_SETTINGS
    ).build_worker_runtime()

    def talk() -> None:
        with TestClient(app) as client:
            response = client.post("/agent/message:send", json=message, headers={"x-user": "ada"})
            parts = response.json()["task"]["artifacts"][0]["parts"]
            assert [part["text"] for part in parts] == ["tea for ada", "['staff'] {'plan': 'pro'}"]
            streamed = client.post("/agent/message:stream", json=message, headers={"x-user": "ada"})
            assert streamed.text.count("tea for ada") == 1
            assert "TASK_STATE_COMPLETED" in streamed.text

    async with run_worker(worker), asyncio.timeout(30):
        await asyncio.to_thread(talk)


async def test_a_task_waits_for_a_worker_and_can_be_canceled_before(make_store: MakeStore) -> None:
    """The process that accepts it runs no handler; a canceled task never runs, and its job does no
    harm.
    """
    ran = list[str]()

    async def notes(ctx: TaskContext) -> str:
        ran.append(ctx.text)
        return ctx.text

    skill = Skill("notes", notes)
    async with serve_web(make_store(), skill) as one, asyncio.timeout(30):
        first = await one.start("first")
        second = await one.start("second")
        assert (await one.engine.cancel(one.scope, second.wire_id)).state is State.CANCELED
        await asyncio.sleep(0.2)
        assert (await one.engine.load(one.scope, first.wire_id)).state is State.SUBMITTED
        async with work(make_store(), skill):
            assert artifact_texts(await one.wait_terminal(first)) == {"result": ["first"]}
    assert ran == ["first"]


async def test_a_handler_that_raises_is_retried(make_store: MakeStore) -> None:
    """The task stays working, each attempt has the next number, and what is recorded is kept; then
    it succeeds, or fails as without retries.
    """
    attempts = list[int]()
    calls = list[int]()

    async def price() -> int:
        calls.append(1)
        return 7

    async def fragile(ctx: TaskContext) -> str:
        attempts.append(ctx.attempt)
        number = await ctx.once("price", price)
        if ctx.attempt < 3 or ctx.text == "never":
            raise OSError("secret")
        return f"{number}"

    skill = Skill("fragile", fragile, worker=WorkerOptions(retry=RunRetryPolicy(2, 0.01)))
    async with (
        run_agent(skill, store=make_store(), worker_store=make_store()) as one,
        asyncio.timeout(30),
    ):
        task = await one.send("hi")
        assert (artifact_texts(task), attempts, calls) == ({"result": ["7"]}, [1, 2, 3], [1])
        states = [event.state for event in await one.collect_events(task)]
        assert states == [State.SUBMITTED, State.WORKING, State.WORKING, State.COMPLETED]
        failed = await one.send("never")
        assert (State(failed.status.state), failed.status.message.parts[0].text) == (
            State.FAILED,
            HANDLER_FAILED,
        )
        assert attempts[3:] == [1, 2, 3]


async def test_a_task_that_waits_for_its_retry_can_be_canceled(make_store: MakeStore) -> None:
    """The delay does not delay the cancellation."""

    async def raises(_ctx: TaskContext) -> None:
        raise OSError

    skill = Skill("raises", raises, worker=WorkerOptions(retry=RunRetryPolicy(5, 100.0)))
    async with (
        run_agent(skill, store=make_store(), worker_store=make_store()) as one,
        asyncio.timeout(30),
    ):
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)
        assert (await one.engine.cancel(one.scope, stored.wire_id)).state is State.CANCELED


async def test_the_highest_priority_runs_first(make_store: MakeStore) -> None:
    """In a queue with several skills the task of the highest priority runs first."""
    ran = list[str]()

    async def notes(ctx: TaskContext) -> None:
        ran.append(ctx.text)

    skills = Skill("low", notes), Skill("high", notes, worker=WorkerOptions(priority=5))
    async with serve_web(make_store(), *skills) as one, asyncio.timeout(30):
        tasks = [await one.start(skill, skill=skill) for skill in ("low", "low", "high")]
        async with work(make_store(), *skills, concurrency=1):
            for each in tasks:
                await one.wait_terminal(each)
    assert ran == ["high", "low", "low"]


async def test_a_queue_has_its_own_concurrency(make_store: MakeStore) -> None:
    """Its runs are never more at once, while those of other queues go on."""
    running = 0
    most = 0

    async def counts(_ctx: TaskContext) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1

    skills = (
        Skill("counts", counts, worker=WorkerOptions("narrow", concurrency=2)),
        Skill("echo", echo),
    )
    async with (
        serve_web(make_store(), *skills) as one,
        work(make_store(), *skills),
        asyncio.timeout(30),
    ):
        tasks = [await one.start("hi") for _ in range(8)]
        assert artifact_texts(await one.send("past", skill="echo")) == {"result": ["past"]}
        for each in tasks:
            await one.wait_terminal(each)
    assert most == 2


async def test_a_worker_that_stops_hands_its_tasks_over(make_store: MakeStore) -> None:
    """The next worker runs them again, at once and without an expired lease."""
    attempts = list[int]()

    async def waits(ctx: TaskContext) -> str:
        attempts.append(ctx.attempt)
        await asyncio.sleep(1000 if ctx.attempt == 1 else 0)
        return "done"

    skill = Skill("waits", waits)
    async with serve_web(make_store(), skill) as one, asyncio.timeout(30):
        async with work(make_store(), skill):
            stored = await one.start("hi")
            await one.wait_for_state(stored, State.WORKING)
        async with work(make_store(), skill):
            assert artifact_texts(await one.wait_terminal(stored)) == {"result": ["done"]}
    assert attempts == [1, 2]


async def test_lost_jobs_are_replaced(make_store: MakeStore, postgres_url: str) -> None:
    """An active task without a job gets one, and only one."""
    skill = Skill("echo", echo)
    job = {(SURFACE, "echo"): Deferral("default@")}
    async with serve_web(store := make_store(), skill) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        assert await store.requeue_lost(job) == 0
        await execute(postgres_url, "DELETE FROM procrastinate_jobs")
        assert sorted(await asyncio.gather(*(store.requeue_lost(job) for _ in range(4)))) == [
            0,
            0,
            0,
            1,
        ]
        async with work(make_store(), skill):
            assert artifact_texts(await one.wait_terminal(stored)) == {"result": ["hi"]}
        assert await store.requeue_lost(job) == 0


async def test_jobs_of_dead_workers_come_back(make_store: MakeStore, postgres_url: str) -> None:
    """A job that was fetched by a worker which died before it claimed the task, and one that died
    after it.
    """
    skill = Skill("echo", echo)
    async with serve_web(store := make_store(), skill) as one, asyncio.timeout(30):
        fetched = await one.start("fetched")
        claimed = await one.start("claimed")
        await execute(
            postgres_url,
            (
                "SELECT procrastinate_fetch_job_v2(NULL, procrastinate_register_worker_v1()) "
                "FROM generate_series(1, 2)"
            ),
        )
        await execute(
            postgres_url,
            "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute'",
        )
        assert await store.claim(claimed.key, "dead") is not None
        async with work(make_store(), skill):
            assert artifact_texts(await one.wait_terminal(fetched)) == {"result": ["fetched"]}
            assert artifact_texts(await one.wait_terminal(claimed)) == {"result": ["claimed"]}


async def test_a_forged_job_leaves_the_queue(
    make_store: MakeStore, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One line of the log has its number and what it named, without a traceback; other jobs run."""
    skill = Skill("echo", echo)
    async with serve_web(make_store(), skill) as one, asyncio.timeout(30):
        await one.start("forged")
        await execute(
            postgres_url, """UPDATE procrastinate_jobs SET args = '{"task": "not a task; DROP"}'"""
        )
        stored = await one.start("hi")
        async with work(make_store(), skill):
            assert artifact_texts(await one.wait_terminal(stored)) == {"result": ["hi"]}
            # The condition is in the database.
            while await count_jobs(postgres_url):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    lines = [
        each.getMessage()
        for each in caplog.records
        if each.name == "a2a_runtime.features.workers.worker"
    ]
    removed = [each for each in lines if "'not a task; DROP'" in each]
    assert len(removed) == 1, lines
    assert "names no task" in removed[0]
    assert not [each for each in caplog.records if each.exc_info]


async def test_tasks_follow_their_skill_to_the_workers_and_back(make_store: MakeStore) -> None:
    """A new placement applies to tasks that were accepted under the old one."""
    skill = Skill("echo", echo)
    placed = Skill("echo", echo, runs_on="workers")
    async with serve_web(store := make_store(), skill) as one, asyncio.timeout(30):
        queued = await one.start("back")
        unclaimed = (
            await store.create_task(
                one.scope, NewTask("c", build_user_message("there"), "echo", "v1_0")
            )
        ).stored
        async with run_agent(placed, store=make_store()) as other, work(make_store(), placed):
            assert artifact_texts(await other.wait_terminal(unclaimed)) == {"result": ["there"]}
            assert artifact_texts(await other.wait_terminal(queued)) == {"result": ["back"]}
        queued = await one.start("back")
    registry = Skills()
    registry.add(SURFACE, skill)
    async with (
        Engine(make_store(), registry, EngineOptions(FAST_SETTINGS)) as engine,
        asyncio.timeout(30),
    ):
        one.engine = engine
        assert artifact_texts(await one.wait_terminal(queued)) == {"result": ["back"]}


async def test_other_stores_and_missing_tables_are_refused_at_start(
    postgres_databases: DatabaseFactory,
) -> None:
    """The error names the fix: another store, or the command that creates the tables."""
    skill = Skill("echo", echo, runs_on="workers")
    with pytest.raises(
        UnsupportedStoreError,
        match=r'MemoryStore: no queue for workers.*; set store = "postgresql://…"',
    ):
        async with run_agent(skill, store=MemoryStore()):
            pass
    url = await postgres_databases.create_empty()
    await upgrade(url)
    with pytest.raises(
        UnsupportedStoreError,
        match=(
            r"no tables for workers; "
            r"run `pip install 'a2a-gen\[workers\]'` and `a2a-gen db upgrade`"
        ),
    ):
        async with run_agent(skill, store=PostgresStore(url)):
            pass


async def test_skills_that_decide_in_each_call_stay_in_the_process(make_store: MakeStore) -> None:
    """Also where settings place skills on workers: their caller waits for a message.

    A task of theirs, and its later runs, stay there too.
    """
    agent = Agent("a")

    @agent.skill("file", answers="either")
    async def file(ctx: TaskContext) -> str:
        if ctx.text == "hello":
            return ctx.text
        return (await ctx.ask("Where?")).text

    surface = Surface(agent, "/agent")
    async with AgentRuntime([surface], make_store(), ON_WORKERS) as web, asyncio.timeout(30):
        one = InProcessAgent(web.engine, "file", CALLER.task_scope(surface.storage_key), CALLER)
        new = NewTask("c", build_user_message("hello"), "file", "v1_0")
        assert isinstance(await web.engine.begin(one.scope, new, CALLER), Message)
        assert artifact_texts(await one.answer(await one.send("bill"), "here")) == {
            "result": ["here"]
        }
    with pytest.raises(WorkerConfigError, match="no skill runs on workers"):
        async with run_worker(AgentRuntime([surface], make_store(), ON_WORKERS, is_worker=True)):
            pass


async def test_a_worker_without_a_skill_does_not_start(make_store: MakeStore) -> None:
    """A worker without a skill is refused, because it would silently fetch nothing."""
    agent = Agent("a")
    agent.add("echo", echo)
    runtime = AgentRuntime([Surface(agent)], make_store(), FAST_SETTINGS, is_worker=True)
    with pytest.raises(
        WorkerConfigError, match='no skill runs on workers; set runs_on = "workers"'
    ):
        async with run_worker(runtime):
            pass


def test_skills_of_one_queue_agree_on_its_concurrency() -> None:
    """The plan lists the queues of an agent by their names in the database; a contradiction is an
    error.
    """
    agent = Agent("maths")
    agent.add("add", echo, runs_on="workers")
    agent.add("sum", echo, runs_on="workers", concurrency=2, priority=3)
    skills = Skills()
    skills.add("/ maths", *(each.skill for each in agent.skills.values()))
    plan = WorkerPlan.from_skills(skills, "process")
    assert dict(plan.concurrency) == {"default@maths": None, "sum@maths": 2}
    assert list(plan.split(9)) == [(["default@maths"], 9), (["sum@maths"], 2)]
    assert plan.jobs["/ maths", "sum"] == Deferral("sum@maths", 3)
    assert list(WorkerPlan.from_skills(skills, "process", ["sum"]).jobs) == [("/ maths", "sum")]
    skills.add(
        "/ maths", Skill("all", echo, runs_on="workers", worker=WorkerOptions("sum", concurrency=3))
    )
    with pytest.raises(
        WorkerConfigError,
        match="queue 'sum': its skills have the concurrency 2 and 3; give them one number",
    ):
        WorkerPlan.from_skills(skills, "process")

"""Agent in this process without HTTP: engine, memory store and caller.

async def shout(ctx):
    return ctx.text.upper()

async with run_agent(shout) as shouter:
    task = await shouter.send("hello")
    assert task.artifacts[0].parts[0].text == "HELLO"
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from itertools import count

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import Caller, TaskScope
from a2a_runtime.base.lifecycle import SETTLED, TERMINAL
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.follow_ups import AcceptedMessage
from a2a_runtime.engine.handlers.results import to_parts
from a2a_runtime.engine.handlers.skill import Handler, Skill
from a2a_runtime.engine.placement import Placement
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import LoggedEvent, NewTask, StoredTask

FAST_SETTINGS = Settings(
    shutdown_grace=0,
    cancel_grace=0.2,
    cancel_timeout=2,
    lease_renew_interval=0.05,
    orphan_scan_interval=0.05,
    deadline_check_interval=0.02,
    working_delay=0.005,
    job_poll_interval=0.01,
)
"""Settings for tests with short timeouts and intervals."""

CALLER = Caller("ada", "acme")
SURFACE = "/agent"


def build_user_message(*values: object, message_id: str = "m-1", **members: object) -> Message:
    """Build a message of the user from texts, JSON, bytes or parts."""
    parts: list[Part] = [part for value in values for part in to_parts(value)]
    return Message.model_validate(
        {"message_id": message_id, "role": Role.USER, "parts": parts, **members}
    )


class InProcessAgent:
    """An engine as seen by one caller."""

    def __init__(self, engine: Engine, skill: str, scope: TaskScope, caller: Caller) -> None:
        self.engine = engine
        self.scope = scope
        self._skill = skill
        self._caller = caller
        self._count = count(1)

    async def start(
        self, *values: object, skill: str | None = None, context_id: str = "c-1"
    ) -> StoredTask:
        """Start a task and do not wait for it."""
        message = build_user_message(*values, message_id=f"m-{next(self._count)}")
        new = NewTask(context_id, message, skill or self._skill, CANONICAL.name)
        return (await self.engine.start(self.scope, new, self._caller)).stored

    async def send(
        self, *values: object, skill: str | None = None, context_id: str = "c-1"
    ) -> Task:
        """Start a task, and wait until it has ended or asks for something."""
        return await self.wait_settled(
            await self.start(*values, skill=skill, context_id=context_id)
        )

    async def answer(self, task: Task | StoredTask, *values: object) -> Task:
        """Answer what a task asks, and wait until it has ended or asks for more."""
        accepted = await self.send_to_task(task, *values)
        return await self.wait_settled(accepted.stored, accepted.cursor)

    async def send_to_task(self, task: Task | StoredTask, *values: object) -> AcceptedMessage:
        """Give a task another message, and do not wait for what comes of it."""
        wire_id = task.wire_id if isinstance(task, StoredTask) else task.id
        return await self.engine.send_message(
            self.scope, wire_id, build_user_message(*values, message_id=f"m-{next(self._count)}")
        )

    async def wait_settled(self, stored: StoredTask, cursor: int = 1) -> Task:
        """Wait until a task has ended or asks for something."""
        await self.engine.wait(stored, cursor, SETTLED)
        return (await self.engine.load(self.scope, stored.wire_id)).task.model

    async def wait_terminal(self, stored: StoredTask) -> Task:
        """Wait until a task has ended, also one of an earlier process."""
        current = await self.engine.load(self.scope, stored.wire_id)
        if current.state not in TERMINAL:
            await self.engine.wait(current, current.last_seq, TERMINAL)
        return (await self.engine.load(self.scope, stored.wire_id)).task.model

    async def wait_for_state(self, stored: StoredTask, *states: State) -> LoggedEvent:
        """Wait until a task is in one of these states, or has ended."""
        return await self.engine.wait(stored, 1, frozenset(states) | TERMINAL)

    async def collect_events(self, task: Task | StoredTask, cursor: int = 0) -> list[LoggedEvent]:
        """Collect the events of a task, after a cursor and up to its end."""
        wire_id = task.wire_id if isinstance(task, StoredTask) else task.id
        async with aclosing(await self.engine.follow(self.scope, wire_id, cursor)) as events:
            return [event async for event in events]


@asynccontextmanager
async def run_agent(
    *skills: Skill | Handler,
    store: Store | None = None,
    options: EngineOptions | None = None,
    caller: Caller = CALLER,
    worker_store: Store | None = None,
) -> AsyncGenerator[InProcessAgent, None]:
    """Run an agent with skills, by default calling the first; a bare handler becomes a skill of its
    name.

    With ``worker_store``, a second store on the same Postgres database, a worker beside the engine
    runs all skills.
    """
    if any(isinstance(each, Agent) for each in skills):
        raise TypeError(
            "run_agent: takes handlers and skills; run an agent with "
            "run_app(create_app(agent)) of a2a_runtime.testing.asgi_transport"
        )
    definer = Agent("tested")
    skill_list = [
        each if isinstance(each, Skill) else definer.define(_handler_name(each), each).skill
        for each in skills
    ]
    options = options or EngineOptions(settings=FAST_SETTINGS)
    store = store or MemoryStore()
    async with AsyncExitStack() as stack:
        if worker_store is not None:
            settings = replace(options.settings, runs_on=Placement.WORKERS)
            options = replace(
                options, settings=settings, notifier=options.notifier or store.notifier()
            )
            await stack.enter_async_context(_run_worker(skill_list, worker_store, options))
        engine = await stack.enter_async_context(Engine(store, Skills(*skill_list), options))
        yield InProcessAgent(engine, skill_list[0].id, caller.task_scope(SURFACE), caller)


@asynccontextmanager
async def _run_worker(
    skill_list: Sequence[Skill], store: Store, options: EngineOptions
) -> AsyncGenerator[None, None]:
    from a2a_runtime.features.workers.worker import serve_jobs  # noqa: PLC0415 - an extra

    skills = Skills()
    skills.add(SURFACE, *skill_list)
    engine = Engine(store, skills, replace(options, notifier=store.notifier(), is_worker=True))
    async with serve_jobs(engine, engine, skills):
        yield


def _handler_name(handler: Handler) -> str:
    return str(getattr(handler, "__name__", type(handler).__name__))


def artifact_texts(task: Task) -> dict[str, list[str | None]]:
    """Show the artifacts of a task as texts, by name."""
    return {each.artifact_id: [part.text for part in each.parts] for each in task.artifacts or []}

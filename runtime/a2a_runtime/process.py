"""Composition root of one process: a store, an engine, the service, and the parts that its agents
want.

    async with AgentRuntime(surfaces, "sqlite:///tasks.db"):
        …     enter: orphaned tasks are claimed, new tasks are accepted
              exit: running tasks get their grace time, the others are released, the store closes

All surfaces share one store, one engine and one service; each task belongs to the surface on which
it was created.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from a2a_contract.errors import UnavailableError
from a2a_contract.service import AgentService
from a2a_runtime.agent import Agent
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.injection import ProcessDependencies
from a2a_runtime.engine.handlers.skill import ReplyKind, Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.net.lazy import LazyHttpClient
from a2a_runtime.ports import registry
from a2a_runtime.ports.keys import ProcessKeys
from a2a_runtime.ports.observer import Observation, Observer
from a2a_runtime.ports.registry import find_support
from a2a_runtime.service.authorization import AuthorizingService
from a2a_runtime.service.context import CallContext, ServiceDependencies
from a2a_runtime.service.service import Service
from a2a_runtime.settings import PREFIX, Settings
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.factory import create_store, to_plain_url, validate_store
from a2a_runtime.stores.optional import ProbedStore
from a2a_runtime.surface import Surface

log = logging.getLogger(__name__)

_UNAVAILABLE = "unavailable"
_USE_ANOTHER = "use a store of a2a_runtime.stores: sqlite:///file or postgresql://…"
_PROBE_TIMEOUT = 0.8
"""Probes respond within a second."""


def _to_store_options(settings: Settings, surfaces: Sequence[Surface]) -> StoreOptions:
    retentions: dict[str, float] = {}
    for surface in surfaces:
        for dialect in surface.dialects:
            get_retention = find_support(dialect).get_retention
            seconds = get_retention(settings) if get_retention else 0
            if seconds:
                retentions[dialect] = seconds
    return StoreOptions(
        retention_seconds=settings.task_retention or None,
        dialect_retention_seconds=retentions,
        conversation_retention_seconds=settings.conversation_retention or None,
        max_conversation_messages=settings.max_conversation_messages,
        lease_seconds=settings.lease_duration,
        sqlite_synchronous=settings.sqlite_synchronous,
        direct_address=to_plain_url(settings.store_direct) or None,
        max_tasks=settings.memory_max_tasks,
        max_bytes=settings.memory_max_bytes,
        caller_share=settings.memory_caller_share,
    )


def collect_skills(
    surfaces: Iterable[Surface], dependencies: Mapping[Agent, ProcessDependencies]
) -> Skills:
    """Collect the runnable skills of surfaces for an engine, each with the dependencies of its
    agent.
    """
    skills = Skills()
    for surface in surfaces:
        bind = dependencies[surface.agent].bind
        # Skills of sources are registered when the sources are open.
        offered = surface.agent.skills if surface.agent.sources else surface.skills
        skills.agents[surface.storage_key] = surface.chain_name
        skills.add(
            surface.storage_key,
            *(bind(_adapt_to_dialects(surface, skill.skill)) for skill in offered.values()),
        )
    return skills


def _adapt_to_dialects(surface: Surface, skill: Skill) -> Skill:
    """Adapt a skill to the rules of the dialects of its surface."""
    for dialect in surface.dialects:
        if adapt := find_support(dialect).adapt_skill:
            skill = adapt(surface, skill)
    return skill


class AgentRuntime:
    """Store, engine, services and push sender of one process."""

    def __init__(
        self,
        surfaces: Sequence[Surface],
        store: Store | str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        keys: ProcessKeys | None = None,
        *,
        is_worker: bool = False,
    ) -> None:
        settings = settings or Settings()
        self.clock = clock = clock or SystemClock()
        keys = registry.read_keys(settings, surfaces) if keys is None else keys
        store = settings.store if store is None else store
        self.observation = _build_observation(settings)
        self.store = _build_store(store, settings, surfaces, self.observation)
        for surface in surfaces:
            _check_task_ids(self.store, surface)
        self.http_client = LazyHttpClient(settings)
        self.settings = settings
        self.keys = keys
        self._shared_parts = set[str]()
        self.storage_keys = {surface.storage_key for surface in surfaces}
        self._dependencies = {
            surface.agent: surface.agent.build_dependencies() for surface in surfaces
        }
        self.surfaces, self.skills = surfaces, collect_skills(surfaces, self._dependencies)
        self.on_skills_changed: Callable[[], None] = _ignore
        """Called after a source has changed its skills."""
        notifier = self.store.notifier()
        options = EngineOptions(
            settings, clock, notifier, self.http_client, is_worker, self.observation
        )
        self.engine = Engine(self.store, self.skills, options)
        dependencies = ServiceDependencies(
            self.engine,
            self.store,
            self.http_client.check_url,
            clock,
            keys.secret_cipher,
            settings,
        )
        self._service_dependencies = dependencies
        self.service = Service(dependencies)
        self._dialect_services: dict[str, AgentService[CallContext]] = {}
        self._exit_stack = AsyncExitStack()
        self._store_check: asyncio.Task[str] | None = None
        self._added = dict[Surface, AsyncExitStack]()

    async def _open_parts(
        self, surfaces: Sequence[Surface], stack: AsyncExitStack, *, before_runs: bool
    ) -> None:
        """Open the parts that surfaces want."""
        for row in registry.PROCESS_PARTS:
            if not row.is_wanted(surfaces) or row.name in self._shared_parts:
                continue
            part = registry.load_part(row.name)
            if part.opens_before_runs is not before_runs:
                continue
            if part.serves_all_surfaces:
                self._shared_parts.add(row.name)
            await part.open(self, surfaces, self._exit_stack if part.serves_all_surfaces else stack)

    async def add(self, surface: Surface) -> None:
        """Run the skills of another surface from now on."""
        if surface.agent in self._dependencies:
            raise ValueError(
                f"{surface}: its agent is mounted already; mount all surfaces of an agent "
                "when the app starts"
            )
        _check_task_ids(self.store, surface)
        dependencies = {surface.agent: surface.agent.build_dependencies()}
        async with AsyncExitStack() as stack:
            self._dependencies.update(dependencies)
            stack.callback(self._dependencies.pop, surface.agent)
            stack.callback(self.skills.remove, surface.storage_key)
            skills = collect_skills((surface,), dependencies).of(surface.storage_key)
            self.skills.agents[surface.storage_key] = surface.chain_name
            await dependencies[surface.agent].open(stack)
            await self._open_parts((surface,), stack, before_runs=True)
            self.skills.replace(surface.storage_key, *skills)
            self.storage_keys.add(surface.storage_key)
            stack.callback(self.storage_keys.discard, surface.storage_key)
            await self._open_parts((surface,), stack, before_runs=False)
            self._added[surface] = stack.pop_all()
        self.surfaces = (*self.surfaces, surface)

    async def remove(self, surface: Surface) -> None:
        """Run no more tasks of a surface: running ones get their grace time, the rest is released,
        and what they depend on is closed.
        """
        self.skills.remove(surface.storage_key)
        self.surfaces = tuple(each for each in self.surfaces if each is not surface)
        await self.engine.runner.drain(surface.storage_key, self.settings.shutdown_grace)
        if (stack := self._added.pop(surface, None)) is not None:
            await stack.aclose()

    async def drain(self, grace_seconds: float) -> None:
        """Let running tasks end for some time, then release them, or fail those that cannot be
        released. New ones still begin.
        """
        await asyncio.gather(
            *(self.engine.runner.drain(each.storage_key, grace_seconds) for each in self.surfaces)
        )

    async def _close_added(self) -> None:
        while self._added:
            await self._added.popitem()[1].aclose()

    def build_services(
        self, surface: Surface
    ) -> tuple[AgentService[CallContext], Mapping[str, AgentService[CallContext]]]:
        """Build the service of a surface and those of dialects with rules of their own, with
        authorization where the surface has some.
        """
        services: dict[str, AgentService[CallContext]] = {}
        for dialect in surface.dialects:
            service = self._find_dialect_service(dialect)
            if service is not None:
                services[dialect] = service
        for variant in surface.wire:
            services |= variant.build_services(self._service_dependencies)
        if surface.policy is None and not any(
            skill.security_requirements for skill in surface.agent.skills.values()
        ):
            return self.service, services
        authorizing = {
            name: AuthorizingService(
                each, self.store, has_client_task_ids=find_support(name).chooses_task_ids
            )
            for name, each in services.items()
        }
        return AuthorizingService(self.service, self.store), authorizing

    def _find_dialect_service(self, dialect: str) -> AgentService[CallContext] | None:
        """Find the service of a dialect with rules of its own, built for all surfaces on first
        use.
        """
        build = find_support(dialect).build_service
        if build is not None and dialect not in self._dialect_services:
            self._dialect_services[dialect] = build(self._service_dependencies)
        return self._dialect_services.get(dialect)

    async def find_faults(self) -> Mapping[str, str]:
        """Check the store and the lease of this process; return what does not work, by part, in
        words without names of hosts.
        """
        if self._store_check is None or self._store_check.done():
            self._store_check = asyncio.create_task(self._find_store_fault())
        # A driver may take long to give up.
        finished, _ = await asyncio.wait((self._store_check,), timeout=_PROBE_TIMEOUT)
        store_fault = self._store_check.result() if finished else _UNAVAILABLE
        found = {"store": store_fault, "runner": self.engine.runner.find_fault()}
        return {part: fault for part, fault in found.items() if fault}

    async def _find_store_fault(self) -> str:
        try:
            if isinstance(self.store, ProbedStore):
                await self.store.check()
        except UnavailableError:
            return _UNAVAILABLE
        except UnsupportedStoreError as error:
            log.warning("%s", error)
            return "its schema does not fit this release"
        try:
            await self.engine.check_queue()
        except UnavailableError:
            return _UNAVAILABLE
        except UnsupportedStoreError:  # the store logs its outages
            return "the tables of its queue are missing"
        return ""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.http_client.close)
            for dependencies in (
                self._dependencies.values()
            ):  # open before the first run, and until the last one has ended
                await dependencies.open(stack)
            self._exit_stack = stack
            await self._open_parts(self.surfaces, stack, before_runs=True)
            stack.push_async_callback(self._close_added)
            await stack.enter_async_context(self.engine)
            await self._open_parts(self.surfaces, stack, before_runs=False)
            for observer in self.observation.observers:
                await observer.open(self, stack)
            if not self.store.is_durable:
                log.info(
                    (
                        "store: tasks are kept in memory and are lost when this process ends; "
                        "set %sSTORE, or store in a2a.toml"
                    ),
                    PREFIX,
                )
            self._exit_stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._store_check is not None:
            self._store_check.cancel()
        await self._exit_stack.aclose()


def _build_observation(settings: Settings) -> Observation:
    """Build the observers that the settings want."""
    wanted = (registry.load(row.name) for row in registry.OBSERVERS if row.is_wanted(settings))
    built = (build(settings) for build in wanted if callable(build))
    return Observation(*(each for each in built if isinstance(each, Observer)))


def _build_store(
    store: Store | str, settings: Settings, surfaces: Sequence[Surface], observation: Observation
) -> Store:
    built = (
        create_store(store, _to_store_options(settings, surfaces))
        if isinstance(store, str)
        else validate_store(store)
    )
    if observation.wrap_store_call:
        from a2a_runtime.stores.observed import observe_store  # noqa: PLC0415 - where something observes

        return observe_store(built, observation)
    return built


def _check_task_ids(store: Store, surface: Surface) -> None:
    """Raise ``UnsupportedStoreError`` for a surface whose tasks have ids before they are created,
    on a store that generates all ids.
    """
    if store.accepts_task_ids:
        return
    name = type(store).__name__
    for dialect in surface.dialects:
        if find_support(dialect).chooses_task_ids:
            raise UnsupportedStoreError(
                f"{surface}: clients of the {dialect} dialect choose the ids of tasks, and {name} "
                f"takes none; {_USE_ANOTHER}"
            )
    for skill_id, each in surface.agent.skills.items():
        if each.skill.answers is ReplyKind.EITHER:
            raise UnsupportedStoreError(
                f"{surface}: skill {skill_id!r} has answers='either', whose task has its id "
                f"from the beginning, and {name} takes none; "
                f"use answers='task', or {_USE_ANOTHER}"
            )


def _ignore() -> None:
    """Do nothing."""

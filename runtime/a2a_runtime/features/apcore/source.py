"""The modules of a registry as skills.

    Agent("tools", sources=[ApcoreSource(executor)])

A call passes the whole pipeline of the executor. Before there is a task, the executor validates the
input and asks its rules of access. In the call a module finds its identity, its deadline and its
token for cancellation in its context, and in ``context.data["a2a"]``:

    task_id, context_id   of the task
    history               earlier messages of the conversation, as of A2A 0.3
    message, parts        the message, and its parts besides the input
    metadata              of the request
    answer                the answer to the last question for an approval

Modules may come and go while the agent runs: the registry announces it, from any thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from a2a_contract.json_types import is_json_object
from a2a_contract.lifecycle import State
from a2a_contract.translate.v0_3.message import write_message, write_part
from a2a_contract.v1_0 import Message
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.signals import TaskEnded
from a2a_runtime.features.apcore import errors
from a2a_runtime.features.apcore.approvals import TOKEN, Approvals
from a2a_runtime.features.apcore.calls import ApprovalNeededError, ModuleCall, ModuleCaller
from a2a_runtime.features.apcore.inputs import InputReader
from a2a_runtime.features.apcore.modules import RegisteredModule, describe_module, list_modules
from a2a_runtime.features.apcore.outputs import build_artifact
from a2a_runtime.ports.skill_source import SkillDescriptor, SkillSource
from a2a_runtime.skills.context import SkillContext

DATA_KEY = "a2a"
DEFAULT_TIMEOUT_SECONDS = 300.0
DEFAULT_HISTORY = 100

_EVENTS = ("register", "unregister")
_ANONYMOUS = Caller()

log = logging.getLogger(__name__)


class ApcoreSource(SkillSource):
    """The modules of a registry, or of an executor with its rules, middleware and handler of
    approvals.

    ``protects`` hides modules that require an approval, or that anonymous callers may not call,
    from the public card; for an agent with a gate. ``watch`` reloads modules whose files change.
    ``history`` is the number of earlier messages that modules see.
    """

    def __init__(
        self,
        registry_or_executor: Any,
        *,
        execution_timeout: float = DEFAULT_TIMEOUT_SECONDS,
        protects: bool = False,
        watch: bool = False,
        history: int = DEFAULT_HISTORY,
    ) -> None:
        if execution_timeout <= 0:
            raise ValueError(
                f"ApcoreSource: execution_timeout {execution_timeout} is not positive; use a "
                "number of seconds"
            )
        self._caller = ModuleCaller(registry_or_executor, execution_timeout)
        self._protects = protects
        self._watch = watch
        self._history = history
        self._announce: Callable[[], None] | None = None
        self._skipped: frozenset[str] = frozenset()
        self._is_subscribed = False
        self._watcher: asyncio.Task[None] | None = None

    @property
    def registry(self) -> Any:
        """The registry of the modules."""
        return self._caller.registry

    async def open(self, announce: Callable[[], None]) -> None:
        """Follow the registry, and its files if they are watched."""
        self._announce = announce
        if not self._is_subscribed:
            self._is_subscribed = True
            for event in _EVENTS:
                self.registry.on(event, self._on_change)
        if self._watch:
            # imported only where files are watched
            from a2a_runtime.features.apcore.watch import find_roots, watch_files  # noqa: PLC0415

            self._watcher = asyncio.create_task(
                watch_files(self.registry, find_roots(self.registry))
            )

    async def close(self) -> None:
        """Stop following."""
        self._announce = None
        if (watcher := self._watcher) is not None:
            self._watcher = None
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher
        if callable(off := getattr(self.registry, "off", None)):
            self._is_subscribed = False
            for event in _EVENTS:
                off(event, self._on_change)

    def _on_change(self, _module_id: str, _module: object) -> None:
        """Announce a change; the registry calls this in the thread that changes it."""
        if (announce := self._announce) is not None:
            announce()

    async def describe(self) -> Sequence[SkillDescriptor]:
        """Describe the modules that have a description."""
        found = list(list_modules(self.registry))
        skipped = frozenset(each.id for each in found if not each.has_description)
        for module_id in sorted(skipped - self._skipped):
            log.warning(
                "module skipped: %s has no description; callers could not choose it", module_id
            )
        self._skipped = skipped
        if not self._caller.asks_itself:
            log.debug(
                "approvals: the executor has no handler; callers are asked before modules "
                "that require an approval"
            )
        return [
            describe_module(each, is_protected=self._protects and self._is_protected(each))
            for each in found
            if each.has_description
        ]

    def summarize(self, skills: int) -> str:
        """Describe an agent by the number of its modules."""
        noun = "skill" if skills == 1 else "skills"
        return f"apcore agent with {skills} {noun}"

    def _is_protected(self, found: RegisteredModule) -> bool:
        return found.requires_approval or not self._caller.is_allowed(
            ModuleCall(found.id, {}, _ANONYMOUS)
        )

    async def check(self, skill: SkillDescriptor, value: object, caller: Caller) -> None:
        """Let the executor validate the input and the access, without running anything."""
        # it would run another input than the approved one
        if is_json_object(value) and TOKEN in value:
            raise errors.build_input_error(
                [
                    errors.FieldProblem(
                        TOKEN, "forbidden", "Answer the task that asks for the approval instead"
                    )
                ]
            )
        await self._caller.validate(ModuleCall(skill.id, value, caller))

    async def call(self, skill: SkillDescriptor, value: object, context: SkillContext) -> object:
        """Call a module, and ask for approvals until it has run."""
        async with self._begin_call(skill, value, context) as (first, approvals):
            call = first
            while True:
                try:
                    return build_artifact(await self._caller.call(call))
                except ApprovalNeededError as needed:
                    call = await approvals.answer(call, needed.pending)

    async def stream(
        self, skill: SkillDescriptor, value: object, context: SkillContext
    ) -> AsyncGenerator[object, None]:
        """Call a module, and yield its chunks as they come."""
        async with self._begin_call(skill, value, context) as (first, approvals):
            call = first
            while True:
                try:
                    async with aclosing(self._caller.stream(call)) as chunks:
                        async for chunk in chunks:
                            yield build_artifact(chunk)
                except ApprovalNeededError as needed:
                    call = await approvals.answer(call, needed.pending)
                else:
                    return

    @asynccontextmanager
    async def _begin_call(
        self, skill: SkillDescriptor, value: object, context: SkillContext
    ) -> AsyncGenerator[tuple[ModuleCall, Approvals]]:
        """Prepare a call with the approvals that it has already; an error within ends its task."""
        approvals = Approvals(skill, context, asks_first=self._asks_first(skill))
        call = await self._build_call(skill, value, context)
        try:
            call = await approvals.restore(call)
            await _mark_working(skill, context)
            yield call, approvals
        except Exception as error:
            # this is the edge of other code, which may raise anything
            raise _end_task(error, skill, context) from error

    def _asks_first(self, skill: SkillDescriptor) -> bool:
        return skill.asks and not self._caller.asks_itself

    async def _build_call(
        self, skill: SkillDescriptor, value: object, context: SkillContext
    ) -> ModuleCall:
        message = context.message
        # asserted for the types: made by describe
        assert isinstance(skill.parse, InputReader), "a skill of this source"  # noqa: S101
        selected = skill.parse.select(message.parts)
        history = await self._read_history(message, context)
        data: dict[str, object] = {
            "task_id": context.task_id,
            "context_id": context.context_id,
            "message": write_message(message.to_dict()),
            "parts": [
                write_part(part.to_dict())
                for index, part in enumerate(message.parts)
                if index != selected.position
            ],
            "history": [write_message(each.to_dict()) for each in history],
            "metadata": dict(context.request.metadata),
        }
        return ModuleCall(
            skill.id, value, context.caller, {DATA_KEY: data}, lambda: context.is_cancelled
        )

    async def _read_history(self, message: Message, context: SkillContext) -> Sequence[Message]:
        """Read the messages before the one that has started the task."""
        found = await context.untyped.conversation(self._history + 1)
        earlier = [
            each
            for each in found
            if each.task_id != context.task_id and each.message_id != message.message_id
        ]
        if self._history:
            return earlier[-self._history :]
        return ()


async def _mark_working(skill: SkillDescriptor, context: SkillContext) -> None:
    """Set the task to working before the module runs; a task that is not run again is working
    already.
    """
    if skill.is_restartable:
        await context.progress()


def _end_task(error: Exception, skill: SkillDescriptor, context: SkillContext) -> BaseException:
    """Build what ends a task after an error: its cancellation, or a failure with the error in the
    metadata of its message.
    """
    if getattr(error, "code", None) == errors.CANCELLED and context.is_cancelled:
        return asyncio.CancelledError()
    found = errors.to_protocol_error(error, skill.id, is_running=True)
    message = context.untyped.reply(found.message)
    return TaskEnded(
        State.FAILED,
        message.model_copy(update={"metadata": {"error": errors.to_error_object(found)}}),
    )

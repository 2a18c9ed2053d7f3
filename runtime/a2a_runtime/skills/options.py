"""Options of a skill, as the decorator of an agent and a source of skills take them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypedDict

from a2a_contract.base import JsonObject
from a2a_contract.v1_0 import (
    Message,
)
from a2a_runtime.auth.gate import SchemeRequirement
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.skill import ReplyKind
from a2a_runtime.engine.placement import DEFAULT_QUEUE, Placement, RunRetryPolicy, WorkerOptions
from a2a_runtime.skills.contract import AnyContract

MessageCheck: TypeAlias = Callable[[Message, Caller], Awaitable[None]]
"""Raises an error of the protocol for a message that must not become a task."""


class SkillOptions(TypedDict, total=False):
    """Options of a skill. Defaults come from its id, its handler and its agent."""

    name: str
    description: str
    tags: Sequence[str]
    examples: Sequence[str]
    input_modes: Sequence[str]
    output_modes: Sequence[str]
    require: Sequence[SchemeRequirement]
    only_extended: bool
    input_schema: JsonObject | None
    asks: bool | Sequence[type[object]] | None
    contract: AnyContract | None
    answers: ReplyKind | str
    timeout: float | None
    restartable: bool
    default: bool
    accepts_messages: bool
    runs_on: str
    queue: str
    concurrency: int
    priority: int
    retries: int
    retry_delay: float
    retry_max_delay: float
    can_merge: bool
    check: MessageCheck | None
    card_members: JsonObject


def check_options(subject: str, options: SkillOptions) -> None:
    """Refuse unknown options, and one value in place of a list of them: a text would be a list of
    its letters.
    """
    if unknown := sorted(options.keys() - SkillOptions.__optional_keys__):
        known = ", ".join(sorted(SkillOptions.__optional_keys__))
        raise TypeError(f"{subject}: unknown options {', '.join(unknown)}; known: {known}")
    for name in ("tags", "examples", "input_modes", "output_modes", "asks"):
        value = options.get(name)
        if isinstance(value, str | type):
            raise TypeError(
                f"{subject}: {name}: not a list; write [{getattr(value, '__name__', repr(value))}]"
            )


def build_worker_options(skill_id: str, options: SkillOptions) -> WorkerOptions:
    """Build the options of a skill on workers; a skill with a concurrency of its own has a queue of
    its own, unless it names one.
    """
    defaults = RunRetryPolicy()
    concurrency = options.get("concurrency")
    try:
        retry = RunRetryPolicy(
            options.get("retries", defaults.retries),
            options.get("retry_delay", defaults.delay_seconds),
            options.get("retry_max_delay", defaults.max_delay_seconds),
        )
        queue = options.get("queue", DEFAULT_QUEUE if concurrency is None else skill_id)
        worker = WorkerOptions(queue, concurrency, options.get("priority", 0), retry)
    except ValueError as error:
        raise ValueError(f"skill {skill_id!r}: {error}") from None
    if worker != WorkerOptions() and options.get("runs_on") == Placement.PROCESS:
        raise ValueError(
            f"skill {skill_id!r}: queue, concurrency, priority and retries are for workers; "
            "set runs_on='workers', or remove them"
        )
    return worker

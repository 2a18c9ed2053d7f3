"""Providers of dependencies, as far as they are checked before anything runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated

import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface


async def take_pool(_ctx: TaskContext, pool: Path) -> None:
    """Take a pool."""


async def take_optional_pool(
    _ctx: TaskContext, pool: Path | None, other: Annotated[int, "any"] = 0
) -> None:
    """Take a pool, or none."""


async def make_number() -> int:
    """Make no pool."""
    return 1


async def open_number() -> AsyncIterator[int]:
    """Open no pool."""
    yield 1


def of(
    handler: Callable[..., object],
    per_run: dict[str, Callable[..., object]] | None = None,
    **process: Callable[..., object],
) -> Surface:
    """Mount an agent with a handler and dependencies."""
    agent = Agent("a")
    agent.add("x", handler)
    agent.provide_per_run(**per_run or {})
    agent.provide(**process)
    return Surface(agent, "/a")


@pytest.mark.parametrize(
    ("mount", "problem"),
    [
        (
            lambda: of(take_pool),
            r"parameter 'pool' is not a dependency; declare it with agent.provide\(pool=…\)",
        ),
        (lambda: of(take_pool, pol=Path), r"parameter 'pool' is not a dependency.* Known: pol"),
        (
            lambda: of(take_pool, pool=make_number),
            "parameter 'pool' is annotated as Path, but the dependency is int",
        ),
        (
            lambda: of(take_pool, {"pool": open_number}),
            "parameter 'pool' is annotated as Path, but the dependency is int",
        ),
        (
            lambda: of(take_optional_pool, pool=make_number),
            "parameter 'pool' is annotated as .*Path",
        ),
        (
            lambda: of(lambda pool: pool, pool=make_number),
            r"parameter 'pool' is the context; add the dependency behind it: \(ctx, pool\)",
        ),
        (
            lambda: of(take_pool, pool=lambda ctx: ctx),
            (
                r"dependency 'pool': takes ctx, which exists in runs only; "
                r"use agent.provide_per_run\(pool=…\)"
            ),
        ),
        (
            lambda: of(take_pool, {"user": lambda: 1}, pool=lambda user: user),
            "dependency 'pool': outlives the run of 'user', which it takes",
        ),
        (
            lambda: of(take_pool, {"pool": lambda request: request}),
            "dependency 'pool': its parameter 'request' is neither ctx nor a dependency",
        ),
        (
            lambda: of(take_pool, pool=lambda a: a, a=lambda b: b, b=lambda pool: pool),
            "takes itself .pool → a → b → pool.",
        ),
        (lambda: of(take_pool, ctx=make_number), "dependency 'ctx': the name is taken"),
        (lambda: of(take_pool, pool=Path("x")), "is not a function; pass the function itself"),
    ],
    ids=[
        "unknown",
        "misspelt",
        "other type",
        "other type of a generator",
        "no member of a union",
        "context",
        "context in a process",
        "outlives a run",
        "request",
        "cycle",
        "reserved name",
        "no function",
    ],
)
def test_dependencies_that_do_not_fit_are_refused_when_the_agent_is_mounted(
    mount: Callable[[], Surface], problem: str
) -> None:
    """Each error names the parameter and the cure."""
    with pytest.raises((ValueError, TypeError), match=problem):
        mount()


@pytest.mark.parametrize(
    "per_run",
    [{"pool": lambda: None}, {"pool": Path}, {"pool": lambda ctx: ctx}],
    ids=["lambda", "class", "of a run"],
)
def test_types_are_compared_as_far_as_they_are_known(
    per_run: dict[str, Callable[..., object]],
) -> None:
    """A function without annotations may give anything."""
    per_run = {"log": list, **per_run}
    assert of(take_optional_pool, per_run).skills

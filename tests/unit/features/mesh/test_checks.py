"""Checks of mesh surfaces when the app starts."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable

import pytest

from a2a_contract.dialects import MESH, V1_0
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.mesh.service import calls_ask, check_surface
from a2a_runtime.surface import Surface

ONLY_MESH = frozenset((MESH.name,))


async def quiet(ctx: TaskContext) -> str:
    """Ask nothing."""
    return ctx.text


async def curious(ctx: TaskContext) -> str:
    """Ask something."""
    return (await ctx.ask("What?")).text


async def deep(ctx: TaskContext) -> AsyncGenerator[str, None]:
    """Ask something in a function within."""

    async def inner() -> str:
        return (await ctx.require_auth("Please.")).text

    yield await inner()


class Asking:
    """Asks something when it is called."""

    async def __call__(self, ctx: TaskContext) -> str:
        """Ask."""
        return (await ctx.ask("What?")).text

    async def method(self, ctx: TaskContext) -> str:
        """Ask."""
        return (await ctx.ask("What?")).text


@functools.wraps(curious)
async def wrapped(ctx: TaskContext) -> str:
    """Ask what is asked elsewhere."""
    return await curious(ctx)


ASKING = {
    "function": (curious, True),
    "function within": (deep, True),
    "object": (Asking(), True),
    "method": (Asking().method, True),
    "partial": (functools.partial(curious), True),
    "wrapped": (wrapped, True),
    "quiet": (quiet, False),
    "built in": (print, False),
}


@pytest.mark.parametrize(("handler", "does"), ASKING.values(), ids=ASKING.keys())
def test_calls_of_ask_are_found_in_the_code(
    handler: Callable[..., object],
    does: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """Questions are found behind decorators, partials, methods and inner functions."""
    assert calls_ask(handler) is does


def agent(*handlers: tuple[str, Callable[..., object]], **facts: object) -> Agent:
    """Make an agent of some handlers."""
    made = Agent("strict")
    for skill_id, handler in handlers:
        made.add(skill_id, handler, **facts)  # type: ignore[arg-type]  # whatever a test says
    return made


INVALID = {
    "several skills": (
        Surface(agent(("a", quiet), ("b", quiet)), "/x", ONLY_MESH),
        "a mesh surface has one skill, not 2",
    ),
    "a question": (
        Surface(agent(("a", curious)), "/x", ONLY_MESH),
        "asks questions, and the mesh dialect has no way to answer",
    ),
    "a question that is declared": (
        Surface(agent(("a", quiet), asks=True), "/x", ONLY_MESH),
        "asks questions",
    ),
    "capitals": (Surface(agent(("MySkill", quiet)), "/x", ONLY_MESH), "use lowercase letters"),
    "underscores": (Surface(agent(("my_skill", quiet)), "/x", ONLY_MESH), "use lowercase letters"),
}


@pytest.mark.requirement("mesh", "C6", "D30")
@pytest.mark.parametrize(("surface", "words"), INVALID.values(), ids=INVALID.keys())
def test_an_unusable_surface_raises(surface: Surface, words: str) -> None:
    """The app does not start, and the error contains the cure."""
    with pytest.raises(ValueError, match=words):
        create_app(surface)


VALID = {
    "one skill": Surface(agent(("a-1", quiet)), "/x", ONLY_MESH),
    "one of several": Surface(
        agent(("a", quiet), ("b", quiet)), "/x", ONLY_MESH, only=frozenset("b")
    ),
    "at the root": Surface(agent(("a", quiet)), "", ONLY_MESH),
    "a question that is none": Surface(agent(("a", curious), asks=False), "/x", ONLY_MESH),
    "a question that others answer": Surface(
        agent(("a", curious)), "/x", frozenset((MESH.name, V1_0.name))
    ),
    "another dialect": Surface(
        agent(("My_Skill", curious), ("b", quiet)), "/x", frozenset((V1_0.name,))
    ),
}


@pytest.mark.parametrize("surface", VALID.values(), ids=VALID.keys())
def test_a_usable_surface_passes(surface: Surface) -> None:
    """The check accepts a usable surface."""
    check_surface(surface)

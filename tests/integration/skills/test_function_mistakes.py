"""Mistakes in typed functions and around them: each is refused with its cure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NewType

import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.asgi import with_agents
from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.schema import SchemaMismatchError
from a2a_runtime.testing.agent import run_agent

pytestmark = pytest.mark.anyio
AGENT = Agent("travel")
AGENT.add("echo", lambda ctx: ctx.text)


@dataclass
class Approval:
    """An answer."""

    approved: bool


async def count(words: list[str]) -> int:
    """Count."""
    return len(words)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"tags": "tea"}, r"tags: not a list; write \['tea'\]"),
        ({"asks": Approval}, r"asks: .*\[Approval\]"),
    ],
)
def test_one_value_is_no_list(options: Any, problem: str) -> None:  # noqa: ANN401 - any options
    """A text would be a list of its letters."""
    with pytest.raises(TypeError, match=f"agent 'a': skill 'x': {problem}"):
        Agent("a").add("x", count, **options)


def test_surfaces_are_arguments() -> None:
    """A list of them needs a star, and a host mounts surfaces."""
    with pytest.raises(
        TypeError,
        match=(
            r"A2APlugin: \[Agent.*\] is not of type Agent or Surface; "
            r"pass each .* a list as \*surfaces"
        ),
    ):
        create_app([AGENT])  # type: ignore[arg-type]  # which is the point
    with pytest.raises(TypeError, match=r"with_agents: 5 is not of type Agent or Surface"):
        with_agents(create_app(AGENT), "/agent", 5)  # type: ignore[arg-type]  # which is the point


async def of_a_function(word: str) -> lambda: 1:  # type: ignore[valid-type]  # which is the point
    """Annotate with a function."""
    return word


# The wrong type is the point of the test.
async def from_a_function(word: (lambda: 1)) -> str:  # type: ignore[valid-type]
    """Annotate with a function."""
    return str(word)


MISTAKES: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "no name": (lambda _: Agent(None), TypeError, "Agent: name is None, not a text; write Agent"),  # type: ignore[arg-type]
    "a number for a description": (
        lambda _: Agent("a", 5),
        TypeError,
        "Agent: description is 5, not a text",
    ),  # type: ignore[arg-type]
    "an option without a name": (
        lambda a: a.skill("greet", "Greets people"),
        TypeError,
        "write @agent.skill\\('greet', description='Greets people'\\)",
    ),
    "a number for an id": (lambda a: a.skill(5), TypeError, "agent 'a': 5 is not a skill id"),
    "a function for an output": (
        lambda a: a.add("x", of_a_function),
        TypeError,
        "the annotation of its output is a function",
    ),
    "a function for an input": (
        lambda a: a.add("x", from_a_function),
        TypeError,
        "the annotation of 'word' is a function",
    ),
    "a file for a store": (
        lambda _: create_app(AGENT, store="hello.db"),
        UnsupportedStoreError,
        "store: 'hello.db' is not a store URL; use memory, sqlite:///",
    ),
    "another database": (
        lambda _: create_app(AGENT, store="mysql://x"),
        UnsupportedStoreError,
        "store: 'mysql://x' is not a store URL",
    ),
    "a number for a store": (
        lambda _: create_app(AGENT, store=5),
        UnsupportedStoreError,
        "store: 5 is not a store; use memory, sqlite:///",
    ),  # type: ignore[arg-type]
    "a broken URL": (
        lambda _: create_app(AGENT, store="postgresql://[bad"),
        UnsupportedStoreError,
        "is not a URL",
    ),
}


@pytest.mark.parametrize(("make", "kind", "problem"), MISTAKES.values(), ids=MISTAKES.keys())
def test_arguments_are_refused_where_they_are_written(
    make: Callable[[Any], object], kind: type[Exception], problem: str
) -> None:
    """None of them waits for the start of the app."""
    with pytest.raises(kind, match=problem):
        make(Agent("a"))


@pytest.mark.parametrize(
    ("output_type", "output", "problem"),
    [
        (
            datetime,
            datetime(2026, 1, 2),  # noqa: DTZ001 - which is the point
            'the value is not a "date-time", such as 2026-01-31T10:00:00Z; a time needs an offset',
        ),
        (str, 3, "the value is of type int, not str"),
        (bytes, b"\x89", "JSON has no bytes; use a model with ConfigDict"),
    ],
)
def test_the_log_says_what_an_output_lacks(
    output_type: Any,  # noqa: ANN401 - any type
    output: object,
    problem: str,
) -> None:
    """In words that lead to the cure, and without the value."""

    async def answer(request: str) -> object:
        return request

    answer.__annotations__ = {"request": str, "return": output_type}
    contract = Agent("a").add("x", answer).contract
    assert contract is not None
    with pytest.raises(SchemaMismatchError, match=re.escape(problem)):
        contract.output.serialize(output)


async def test_types_with_a_name_of_their_own_are_inputs() -> None:
    """A ``NewType``, which no class is."""
    numbers = NewType("numbers", list[int])

    async def add(values: object) -> int:
        return len(str(values))

    add.__annotations__ = {"values": numbers, "return": int}
    contract = Agent("a").add("x", add).contract
    assert contract is not None
    assert contract.input.parse([1]) == [1]


async def test_handlers_of_tests_are_typed_too() -> None:
    """``run_agent`` reads annotations as an agent does; an agent is run in another way, and the
    error names it.
    """
    async with run_agent(book_simply) as client:
        assert (await client.send('{"approved": true}')).artifacts is not None
    with pytest.raises(TypeError, match=r"run an agent with run_app\(create_app\(agent\)\)"):
        async with run_agent(AGENT):  # type: ignore[arg-type]  # which is the point
            pass


async def book_simply(request: Approval, ctx: SkillContext) -> bool:
    """Return a member."""
    await ctx.progress(0.5)
    return request.approved

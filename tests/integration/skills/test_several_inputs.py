"""Functions of several values: one object with a member per parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import Field

from a2a_contract.errors import InvalidParamsError
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.client import A2AClient, SendOptions
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio


@dataclass
class Point:
    """A place."""

    x: int
    y: int


class Calculator:
    """A dependency."""

    def add(self, *values: int) -> int:
        """Add."""
        return sum(values)


@dataclass
class Options:
    """A dependency that is data."""

    bonus: int


def build_agent() -> Agent:
    """An agent with functions of several values."""
    agent = Agent("sums")
    agent.provide(options=lambda: Options(100))

    @agent.skill
    async def add(
        a: int,
        b: Annotated[int, Field(ge=0)],
        ctx: SkillContext,
        calculator: Calculator,
        options: Options,
    ) -> int:
        """Add two numbers."""
        assert ctx.task_id
        return calculator.add(a, b, options.bonus)

    @agent.skill("move-by")
    def move_by(
        name: str,
        /,
        dx: int = 1,
        *,
        corner: Point,
        tags: list[str] = [],  # noqa: B006 - as some write it
    ) -> dict[str, int]:
        """Move in a thread."""
        tags.append(name)
        return {"x": corner.x + dx, "tags": len(tags)}

    @agent.skill
    async def shout(name: str, calculator: Calculator) -> str:
        """Take one value and a dependency."""
        return f"{name.upper()}{calculator.add(1)}"

    agent.provide(calculator=Calculator)
    return agent


async def call(agent: Agent, skill: str, value: object) -> Task:
    """Call a skill with a JSON value, or a text."""
    async with (
        run_app(create_app(agent)) as transport,
        A2AClient("http://agent", transport=transport) as client,
    ):
        answer = await client.send(value, options=SendOptions(skill=skill))
    assert isinstance(answer, Task)
    return answer


def test_the_schema_has_a_member_per_parameter() -> None:
    """Dependencies and the context are none; defaults make members optional; a single value stays
    what it is.
    """
    skills = build_agent().skills
    add = skills["add"].input_schema
    move = skills["move-by"].input_schema
    assert add is not None
    assert move is not None
    assert (add["type"], add["required"], add["additionalProperties"]) == (
        "object",
        ["a", "b"],
        False,
    )
    assert add["properties"] == {
        "a": {"title": "A", "type": "integer"},
        "b": {"minimum": 0, "title": "B", "type": "integer"},
    }
    assert add["title"] == "AddInput"
    assert move["required"] == ["name", "corner"]
    assert list(move["properties"]) == ["name", "dx", "corner", "tags"]
    assert skills["shout"].input_schema is None


async def test_functions_of_several_values_are_called() -> None:
    """With each member as its parameter; a mutable default is new for each call."""
    agent = build_agent()
    added = await call(agent, "add", {"a": 1, "b": 2})
    assert (added.artifacts or [])[0].parts[0].data == 103
    for _ in range(2):
        moved = await call(agent, "move-by", {"name": "n", "corner": {"x": 4, "y": 0}})
        assert (moved.artifacts or [])[0].parts[0].data == {"x": 5, "tags": 1}
    shouted = await call(agent, "shout", "ada")
    assert (shouted.artifacts or [])[0].parts[0].text == "ADA1"


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        {"a": 1, "b": -1},
        {"a": 1, "b": 2, "options": {"bonus": 5}},
        {"a": 1, "b": 2, "calculator": 1},
    ],
)
async def test_other_members_are_refused(value: object) -> None:
    """A caller gives each member that it must, and never a dependency."""
    with pytest.raises(InvalidParamsError):
        await call(build_agent(), "add", value)


async def misspelt(a: int, optoins: Options) -> int:
    """Misspell a dependency."""
    return a + optoins.bonus


async def before(a: int, options: Options) -> int:
    """Take a dependency that is declared later."""
    return a + options.bonus


async def no_data(a: int, machine: Calculator) -> int:
    """Take what is neither a dependency nor data."""
    return machine.add(a)


# The wrong type is the point of the test.
async def bare(a: int, b) -> int:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Leave out an annotation."""
    return a + int(b)


async def whole(corner: Point, dx: int) -> int:
    """Take a value beside a model."""
    return corner.x + dx


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (
            misspelt,
            (
                "parameter 'optoins' is a member of its input, and nearly the dependency "
                "'options'; correct it"
            ),
        ),
        (
            before,
            (
                r"parameter 'options' became a member of its input, and is a dependency too; "
                r"call agent.provide\(options=…\) before"
            ),
        ),
        (no_data, "parameter 'machine' is not a dependency; declare it"),
        (bare, "parameter 'b' is not a dependency; declare it"),
        (whole, "parameter 'dx' is not a dependency; declare it .* a model is the whole input"),
    ],
)
def test_parameters_that_are_neither_are_refused(function: object, problem: str) -> None:
    """No dependency becomes a member of the schema by mistake."""
    agent = Agent("sums")
    agent.add("x", function)  # type: ignore[arg-type]  # a table
    agent.provide(options=lambda: Options(1))
    with pytest.raises(ValueError, match=f"skill 'x': {problem}"):
        create_app(agent)

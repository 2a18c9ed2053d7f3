"""Declaring agents and mounting them."""

from __future__ import annotations

import pytest

from a2a_contract.dialects import MESH, V0_3, V0_3_PROTO, V1_0
from a2a_runtime.agent import Agent
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.skill import ReplyKind, Skill
from a2a_runtime.surface import Surface, collect_skills


def two_skills() -> Agent:
    """Make an agent with two skills."""
    agent = Agent("two")

    @agent.skill("first", timeout=1.0, restartable=False)
    async def first(ctx: TaskContext) -> str:
        """Do the first thing."""
        return ctx.text

    agent.add("second", first, name="The second", description="Do more.", tags=["b"], input_modes=["a/b"], answers="message")
    return agent


def test_a_skill_has_its_options_and_the_defaults_of_its_function() -> None:
    """The function is unchanged, and may be registered as several skills."""
    agent = two_skills()
    first, second = agent.skills.values()
    assert (first.id, first.name, first.description) == ("first", "first", "Do the first thing.")
    assert (first.skill.timeout, first.skill.restartable, agent.resolve_input_modes(first)) == (1.0, False, agent.default_input_modes)
    assert (second.name, second.description, second.tags) == ("The second", "Do more.", ("b",))
    assert (second.skill.answers, agent.resolve_input_modes(second), agent.resolve_output_modes(second)) == (
        ReplyKind.MESSAGE,
        ("a/b",),
        agent.default_output_modes,
    )


def test_a_duplicate_skill_id_raises() -> None:
    """The error contains the id and the cure."""
    agent = two_skills()
    with pytest.raises(ValueError, match="two skills are called 'first'; give one of them another id"):
        agent.add("first", len)


def test_unknown_options_of_a_skill_raise() -> None:
    """The error lists all of them, and the known options."""
    with pytest.raises(TypeError, match=r"of restartible, tagz of a skill \('x'\); there are answers, .* restartable, tags, timeout"):
        two_skills().skill("x", restartible=False, tagz=["a"])(len)  # type: ignore[call-arg]  # the mistake that is meant


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"path": "x"}, "begins with a slash"),
        ({"path": "/{x:str}"}, "no parameters"),
        ({"path": "/a//b"}, "begins with a slash"),
        ({"path": "/a%20b"}, "none of"),
        ({"path": "/x/"}, "does not end with one"),
        ({"path": "/"}, "does not end with one"),
        ({"path": "/a b"}, "has no blanks"),
        ({"dialects": frozenset()}, "not none"),
        ({"dialects": frozenset({"v9"})}, "not v9"),
        ({"dialects": frozenset({V1_0.name, V0_3_PROTO.name})}, "the dialects are some of"),
        ({"shared_card": MESH.name}, "the card is 'combined' or one of the dialects"),
        ({"only": frozenset({"first", "third"})}, "the agent has no skill third"),
        ({"only": frozenset()}, "there is no skill"),
        ({"agent": Agent("empty")}, "add its skills before mounting it"),
    ],
    ids=str,
)
def test_an_invalid_surface_raises(facts: dict[str, object], text: str) -> None:
    """Every error contains the agent, the option and the cure."""
    with pytest.raises(ValueError, match=text) as raised:
        Surface(**{"agent": two_skills(), **facts})  # type: ignore[arg-type]  # as the table says
    assert str(raised.value).startswith("the surface of agent ")


def test_a_surface_may_offer_some_of_the_skills() -> None:
    """The registry has the skills of each surface."""
    agent = two_skills()
    some, every = Surface(agent, "/some", only=frozenset({"second"})), Surface(agent, dialects=frozenset({V0_3.name}))
    assert list(some.skills) == ["second"]
    skills = collect_skills([some, every])
    assert isinstance(skills.find(some.storage_key, "second"), Skill)
    assert skills.find(some.storage_key, "first") is None
    assert skills.find(every.storage_key, "first") is agent.skills["first"].skill

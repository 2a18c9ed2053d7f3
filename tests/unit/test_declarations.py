"""Agents, their skills, and surfaces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_contract.dialects import MESH, V0_3, V0_3_PROTO, V1_0
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import SurfaceKey
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import ReplyKind, Skill
from a2a_runtime.process import collect_skills
from a2a_runtime.surface import Surface


def two_skills() -> Agent:
    """Make an agent with two skills."""
    agent = Agent("two")

    @agent.skill("first", timeout=1.0, restartable=False)
    async def first(ctx: TaskContext) -> str:
        """Do the first thing."""
        return ctx.text

    agent.add(
        "second",
        first,
        name="The second",
        description="Do more.",
        tags=["b"],
        input_modes=["a/b"],
        answers="message",
    )
    return agent


def test_defaults_of_a_skill_come_from_its_handler() -> None:
    """The function is unchanged, and may be the handler of several skills."""
    agent = two_skills()
    first, second = agent.skills.values()
    assert (first.id, first.name, first.description) == ("first", "first", "Do the first thing.")
    assert (first.skill.timeout, first.skill.restartable, agent.resolve_input_modes(first)) == (
        1.0,
        False,
        agent.default_input_modes,
    )
    assert (second.name, second.description, second.tags) == ("The second", "Do more.", ("b",))
    assert (
        second.skill.answers,
        agent.resolve_input_modes(second),
        agent.resolve_output_modes(second),
    ) == (
        ReplyKind.MESSAGE,
        ("a/b",),
        agent.default_output_modes,
    )


def test_restricted_skills_follow_a_change_of_the_skills() -> None:
    """A source may put a protected skill in the place of an open one."""
    agent = two_skills()
    surface = Surface(agent)
    assert list(surface.restricted_skills) == []
    surface.replace_skills(
        {**agent.skills, "first": replace(agent.skills["first"], only_extended=True)}
    )
    assert list(surface.restricted_skills) == ["first"]


def test_two_skills_of_one_id_are_refused() -> None:
    """The error names the id and the fix."""
    agent = two_skills()
    with pytest.raises(ValueError, match="two skills are 'first'; give one of them another id"):
        agent.add("first", len)


def test_unknown_options_of_a_skill_are_refused() -> None:
    """The error lists all of them, and the known ones."""
    with pytest.raises(
        TypeError,
        match=(
            r"skill 'x': unknown options restartible, tagz; "
            r"known: accepts_messages, .* restartable, .* tags, timeout"
        ),
    ):
        # The mistake is the point of the test.
        two_skills().skill("x", restartible=False, tagz=["a"])(len)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"path": "x"}, "begins with a slash"),
        ({"path": "/{x:str}"}, "no parameters"),
        ({"path": "/a//b"}, "begins with a slash"),
        ({"path": "/a%20b"}, "none of"),
        ({"path": "/x/"}, "does not end with one"),
        ({"path": "/"}, r"does not end with one \(root: ''\)"),
        ({"path": "/a b"}, "no blanks"),
        (
            {"dialects": frozenset()},
            r"dialects: got none; choose from 1\.0, 1\.1-draft, 0\.3, mesh",
        ),
        (
            {"dialects": frozenset({"v9"})},
            r"dialects: unknown dialect 'v9'; use one of 1\.0, 1\.1-draft, 0\.3, mesh",
        ),
        (
            {"dialects": frozenset({V1_0.name, V0_3_PROTO.name})},
            "dialects: unknown dialect 'v0_3_proto'; use one of",
        ),
        (
            {"shared_card": MESH.name},
            "shared_card: got 'mesh'; choose 'combined' or one of the surface's dialects",
        ),
        ({"only": frozenset({"first", "third"})}, "the agent has no skill third"),
        ({"only": frozenset()}, "no skill; add skills"),
        ({"agent": Agent("empty")}, "add skills before mounting the agent"),
    ],
    ids=lambda value: (
        str([sorted(each) if isinstance(each, frozenset) else each for each in value.values()])
        if isinstance(value, dict)
        else value
    ),
)
def test_an_invalid_surface_is_refused(options: dict[str, object], text: str) -> None:
    """Every error names the agent, the path and the fix."""
    with pytest.raises(ValueError, match=text) as raised:
        Surface(**{"agent": two_skills(), **options})  # type: ignore[arg-type]  # as the table says
    assert str(raised.value).startswith("surface ")


def test_a_surface_may_offer_some_of_the_skills() -> None:
    """An engine finds the skills of each surface under its storage key."""
    agent = two_skills()
    some = Surface(agent, "/some", only=frozenset({"second"}))
    every = Surface(agent, dialects=frozenset({V0_3.name}))
    assert list(some.skills) == ["second"]
    skills = collect_skills([some, every], {agent: agent.build_dependencies()})
    assert isinstance(skills.find(some.storage_key, "second"), Skill)
    assert skills.find(some.storage_key, "first") is None
    assert skills.find(every.storage_key, "first") is agent.skills["first"].skill


@pytest.mark.parametrize(("path", "text"), [("", "/ my agent"), ("/some", "/some my agent")])
def test_a_storage_key_is_path_and_agent(path: str, text: str) -> None:
    """The key is stored with tasks, so its text must not change; it is parsed by the type that
    builds it.
    """
    agent = Agent("my agent")
    agent.add("first", len)
    key = Surface(agent, path).storage_key
    assert key == text
    assert SurfaceKey.from_text(key) == (path or "/", "my agent")


def test_the_decorator_without_an_id_takes_the_name_of_the_function() -> None:
    """It registered nothing before, and said nothing."""
    agent = Agent("a")

    @agent.skill
    async def greet(ctx: TaskContext) -> str:
        """Greet people."""
        return ctx.text

    assert agent.skills["greet"].skill.handler is greet
    assert agent.skills["greet"].description == "Greet people."

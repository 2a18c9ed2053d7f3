"""Registration of skills and detection of their handlers."""

from __future__ import annotations

import functools

import pytest

from a2a_runtime.engine.handlers.skill import HandlerKind, ReplyKind, Skill
from a2a_runtime.engine.skill_registry import Skills


async def plain(_ctx: object) -> str:
    """Answer."""
    return ""


async def stream(_ctx: object):  # noqa: ANN201 - what a user may leave out
    """Stream."""
    yield ""


def thread(_ctx: object) -> str:
    """Answer from a thread."""
    return ""


def sync_stream(_ctx: object):  # noqa: ANN201 - as above
    """Stream without async, from a thread."""
    yield ""


async def bound(_prefix: str, _ctx: object) -> str:
    """Answer with something bound."""
    return ""


class Called:
    """A handler that is an object."""

    async def __call__(self, _ctx: object) -> str:
        """Answer."""
        return ""


@functools.wraps(stream)
def wrapped(ctx: object) -> object:
    """Pass on."""
    return stream(ctx)


@pytest.mark.parametrize(
    ("handler", "style"),
    [
        (plain, HandlerKind.ASYNC),
        (stream, HandlerKind.STREAM),
        (thread, HandlerKind.THREAD),
        (functools.partial(bound, "x"), HandlerKind.ASYNC),
        (Called(), HandlerKind.ASYNC),
        (Called().__call__, HandlerKind.ASYNC),
        (wrapped, HandlerKind.STREAM),
        (sync_stream, HandlerKind.STREAM),
        (lambda ctx: ctx, HandlerKind.THREAD),
    ],
    ids=[
        "async",
        "generator",
        "sync",
        "partial",
        "object",
        "method",
        "wrapped",
        "plain generator",
        "lambda",
    ],
)
def test_the_kind_of_a_handler_is_detected(handler: object, style: HandlerKind) -> None:
    """Functions, generators, partials, methods and callable objects are supported."""
    assert Skill("s", handler).handler_kind is style


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Skill("s", Called), "use a function or a generator of the context"),
        (lambda: Skill("s", 5), "use a function or a generator of the context"),
        (
            lambda: Skill("s", lambda: "x"),
            r"make that its first parameter: async def handler\(ctx\)",
        ),
        (
            lambda: Skills(Skill("s", lambda _one, _two: "x")),
            r"parameter '_two' is not a dependency; declare it with agent\.provide\(_two=…\)",
        ),
        (lambda: Skill("s", lambda *, _ctx: "x"), "make that its first parameter"),
        (lambda: Skill("s", plain, timeout=0), "timeout"),
        (lambda: Skill("s", plain, answers="both"), "both"),
        (lambda: Skill("s", stream, answers="message"), "needs a task"),
        (
            lambda: Skill("s", plain, answers="message", runs_on="workers"),
            "a skill on workers needs a task; use answers='task', or remove runs_on",
        ),
        (
            lambda: Skill("s", plain, answers="either", runs_on="workers"),
            "a skill on workers needs a task; use answers='task', or remove runs_on",
        ),
        (lambda: Skills(Skill("s", plain), Skill("s", thread)), "registered twice"),
    ],
    ids=[
        "class",
        "number",
        "no argument",
        "two arguments",
        "by name only",
        "no time",
        "unknown answer",
        "message from a stream",
        "message on workers",
        "either on workers",
        "two of a name",
    ],
)
def test_an_invalid_skill_raises(make: object, problem: str) -> None:
    """The error is raised at registration and contains the cure."""
    with pytest.raises((TypeError, ValueError), match=problem):
        make()


def test_a_surface_has_its_own_skills_first() -> None:
    """A skill of one surface takes precedence over one of all surfaces, and is invisible on other
    surfaces.
    """
    everywhere = Skill("s", plain)
    here = Skill("s", thread)
    skills = Skills(everywhere)
    skills.add("/here", here, Skill("only", plain))
    assert skills.find("/here", "s") is here
    assert skills.find("/there", "s") is everywhere
    assert skills.find("/there", "only") is None


def test_defaults() -> None:
    """A skill answers with a task, has five minutes for a run, and may run again."""
    skill = Skill("s", plain)
    assert (skill.answers, skill.timeout, skill.restartable) == (ReplyKind.TASK, 300.0, True)

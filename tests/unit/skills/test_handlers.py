"""Skills and handlers that are refused when an agent is built."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import HandlerMismatchError, StreamingHandler, UnaryHandler
from a2a_runtime.skills.schema import TEXT

ECHO = SkillContract(id="echo", input=TEXT, output=TEXT, streams=False, replies=())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Agent(""), "must not be blank"),
        (lambda: Agent("x", version=" "), "must not be blank"),
        (lambda: Agent("x").skill("a b")(len), "'a b' is not a skill id"),
        (lambda: Agent("x").skill("")(len), "'' is not a skill id"),
        (lambda: Agent("x").skill("a/b")(len), "'a/b' is not a skill id"),
        (lambda: Agent("x").skill("a\x00")(len), "is not a skill id"),
    ],
    ids=["name", "version", "blank", "nothing", "slash", "control character"],
)
def test_an_invalid_name_or_id_is_refused(make: Callable[[], object], said: str) -> None:
    """A name is a text, and an id is a part of addresses."""
    with pytest.raises(ValueError, match=said):
        make()


def test_ids_of_other_languages_are_ids() -> None:
    """The protocol asks for no alphabet."""
    agent = Agent("x")
    for skill in ("日本", "a.b", "a_b", "generate-report", "Grüße"):
        agent.add(skill, len)
    assert len(agent.skills) == 5


class Service:
    """Does things in each way."""

    async def once(self, request: str, _ctx: object) -> str:
        """Answer."""
        return request

    async def chunks(self, request: str, _ctx: object) -> AsyncIterator[str]:
        """Answer in chunks."""
        yield request


def test_a_handler_of_the_wrong_kind_is_refused() -> None:
    """A unary handler cannot yield and a streaming handler must; the error has both cures and is
    raised before any call.
    """
    service = Service()
    UnaryHandler(ECHO, service.once)
    StreamingHandler(ECHO, service.chunks)
    with pytest.raises(
        HandlerMismatchError, match=r"skill echo: Service.once returns, but the skill streams"
    ):
        StreamingHandler(ECHO, service.once)  # type: ignore[arg-type]
    with pytest.raises(
        HandlerMismatchError,
        match=(
            r"skill echo: Service.chunks yields, but the skill does not stream; "
            r"return the output, or set"
        ),
    ):
        UnaryHandler(ECHO, service.chunks)  # type: ignore[arg-type]

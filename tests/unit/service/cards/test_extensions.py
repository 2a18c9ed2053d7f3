"""Extensions on cards: each where its capability is on, with parameters that its schema accepts,
and read back by clients.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest

from a2a_contract.extension_table import (
    AUTH_DISCOVERY,
    EXTENSIONS,
    IDEMPOTENCY,
    PUSH_CONFIG,
    RESUMPTION,
    SKILL_SCHEMAS,
    SKILL_SELECTION,
    USAGE,
)
from a2a_contract.extensions import PushSignatures
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentExtension
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.base.card_extensions import find_params
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator, JwtValidation
from a2a_runtime.features.keys.verification import KeySet
from a2a_runtime.service.cards.builder import build_card, build_document
from a2a_runtime.surface import Surface

QUIET = Capabilities(streaming=False)
BUNDLE: dict[str, Any] = json.loads(
    files("a2a_contract").joinpath("schemas/extensions.json").read_text(encoding="utf-8")
)


def agent(
    *skills: str, capabilities: Capabilities = QUIET, default: str = "", answers: str = "task"
) -> Agent:
    """Make an agent with skills of plain text."""
    made = Agent("a", capabilities=capabilities)
    for each in skills or ("one",):
        made.add(each, lambda ctx: ctx.text, answers=answers, default=each == default)  # type: ignore[arg-type]  # a word of two
    return made


# The default is frozen.
def build_streaming_agent(capabilities: Capabilities = Capabilities()) -> Agent:  # noqa: B008
    """Make an agent with a skill of plain text that streams, and one that does not."""
    made = Agent("a", capabilities=capabilities)

    @made.skill
    async def words(ctx: TaskContext) -> AsyncIterator[str]:
        """Repeat the words."""
        yield ctx.text

    made.add("whole", lambda ctx: ctx.text)
    return made


def test_a_skill_of_plain_text_says_that_it_streams() -> None:
    """Without schemas; the card of an agent that does not stream says nothing of it."""
    params = find_params(
        build_card(Surface(build_streaming_agent()), "https://agent.example"), SKILL_SCHEMAS
    )
    assert params is not None
    assert {name: each.to_dict() for name, each in params.skills.items()} == {
        "words": {"streaming": True}
    }
    assert (
        find_params(
            build_card(Surface(build_streaming_agent(QUIET)), "https://agent.example"),
            SKILL_SCHEMAS,
        )
        is None
    )


def build_typed_agent() -> Agent:
    """Make an agent with a skill that has schemas."""
    made = Agent("a", capabilities=QUIET)

    @made.skill
    def double(number: int) -> int:
        """Double it."""
        return 2 * number

    return made


def names(surface: Surface, url: str = "https://agent.example") -> set[str]:
    """List the extensions of a card, checked against their schemas."""
    card = build_card(surface, url)
    for each in card.capabilities.extensions or ():
        row = BUNDLE["x-a2a-extensions"][EXTENSIONS[each.uri or ""].name]
        jsonschema_rs.validator_for({"$defs": BUNDLE["$defs"], "$ref": row["params"]}).validate(
            each.params
        )
        assert not each.required
    return {EXTENSIONS[each.uri or ""].name for each in card.capabilities.extensions or ()}


TOKENS = AuthGate(JwtAuthenticator(KeySet(), JwtValidation("https://id.example", "a")))


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        (Surface(agent(answers="message")), set()),
        (Surface(agent()), {IDEMPOTENCY}),
        (
            Surface(agent(answers="message", capabilities=Capabilities(streaming=True))),
            {RESUMPTION},
        ),
        (
            Surface(
                agent(
                    answers="message",
                    capabilities=Capabilities(streaming=False, push_notifications=True),
                )
            ),
            {PUSH_CONFIG},
        ),
        (Surface(agent("one", "two", answers="message")), {SKILL_SELECTION}),
        (Surface(agent("one", "two", answers="message"), only=frozenset({"one"})), set()),
        (Surface(agent(answers="message"), gate=TOKENS), {AUTH_DISCOVERY}),
        (Surface(build_typed_agent()), {IDEMPOTENCY, SKILL_SCHEMAS}),
        (
            Surface(
                agent(answers="message", capabilities=Capabilities(streaming=False, usage=True))
            ),
            {USAGE},
        ),
    ],
    ids=[
        "nothing",
        "tasks",
        "streams",
        "webhooks",
        "two-skills",
        "one-of-two",
        "tokens",
        "typed",
        "usage",
    ],
)
def test_an_extension_is_declared_where_its_capability_is_on(
    surface: Surface, expected: set[Any]
) -> None:
    """Only such cards declare it, with parameters that are valid by its schema."""
    assert names(surface) == {each.name for each in expected}


def test_parameters_follow_the_surface() -> None:
    """A client reads from the card what it would otherwise have to know."""
    surface = Surface(
        agent(
            "one",
            "two",
            default="two",
            capabilities=Capabilities(streaming=True, push_notifications=True),
        ),
        path="/b",
        gate=TOKENS,
        deduplicate_messages=True,
        push_signatures=PushSignatures(
            issuer="https://agent.example", keys_url="https://agent.example/keys"
        ),
    )
    card = build_card(surface, "https://agent.example/b")
    idempotency, selection, discovery = (
        find_params(card, each) for each in (IDEMPOTENCY, SKILL_SELECTION, AUTH_DISCOVERY)
    )
    push = find_params(card, PUSH_CONFIG)
    resumption = find_params(card, RESUMPTION)
    assert idempotency
    assert idempotency.to_dict() == {"header": "Idempotency-Key", "messageIds": True}
    assert selection
    assert selection.to_dict() == {"member": "skillId", "required": False}
    assert resumption
    assert resumption.to_dict() == {"header": "Last-Event-ID"}
    assert push
    assert push.max_per_task == surface.limits.webhooks
    assert push.signatures
    assert push.signatures.keys_url == "https://agent.example/keys"
    assert discovery
    assert discovery.to_dict() == {
        "authorizationServers": ["https://id.example"],
        "resourceMetadata": "https://agent.example/.well-known/oauth-protected-resource/b",
    }


def test_selection_is_required_without_a_router_and_a_default() -> None:
    """Then a message that names no skill is refused, as the card says."""
    params = find_params(
        build_card(Surface(agent("one", "two")), "https://agent.example"), SKILL_SELECTION
    )
    assert params
    assert params.required


def test_metadata_of_a_resource_is_not_guessed() -> None:
    """Behind a proxy that moves the surface, its address is unknown."""
    moved = Surface(
        agent(answers="message"),
        path="/b",
        gate=TOKENS,
        public_url="https://agent.example/elsewhere",
    )
    assert names(moved) == set()


def test_a_card_of_0_3_declares_the_same() -> None:
    """Extensions have one form in all dialects that have extensions."""
    document: Any = build_document(Surface(agent()), "v0_3", "https://agent.example")
    assert [each["uri"] for each in document["capabilities"]["extensions"]] == [IDEMPOTENCY.uri]


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"maxPerTask": "many"},
        {"maxPerTask": 0},
        {"maxPerTask": 3, "signatures": {"header": "x", "issuer": "y"}},
    ],
)
def test_a_declaration_of_another_form_is_ignored_with_a_warning(
    params: dict[str, object] | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A card is untrusted: what cannot be read is as if it were not declared."""
    extension = AgentExtension(uri=PUSH_CONFIG.uri, params=params)
    card = AgentCard(name="odd", capabilities=AgentCapabilities(extensions=[extension]))
    with caplog.at_level(logging.WARNING):
        assert find_params(card, PUSH_CONFIG) is None
    assert f"card of 'odd': extension {PUSH_CONFIG.uri} is ignored" in caplog.text


def test_later_members_of_an_extension_are_ignored() -> None:
    """A version grows by optional members."""
    extension = AgentExtension(uri=PUSH_CONFIG.uri, params={"maxPerTask": 3, "later": True})
    params = find_params(
        AgentCard(capabilities=AgentCapabilities(extensions=[extension])), PUSH_CONFIG
    )
    assert params
    assert params.max_per_task == 3

"""The agent cards of a surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest

from a2a_contract import v0_3, v1_0
from a2a_contract.dialects import MESH, V0_3, V0_3_PROTO, V1_0
from a2a_contract.translate.v0_3 import read_agent_card
from a2a_contract.v1_0 import (
    AgentExtension,
    AgentProvider,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.service.cards.builder import resolve_url
from a2a_runtime.service.cards.cache import CardCache
from a2a_runtime.surface import COMBINED, Surface
from a2a_runtime.testing.clock import FakeClock

BASE = "https://test/rich"
BOTH = (V1_0.name, V0_3.name)


def rich() -> Agent:
    """Build an agent with every member that a card has."""
    bearer = SecurityScheme(
        http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT")
    )
    key = SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Key")
    )
    extension = AgentExtension(uri="https://x/e", required=True, params={"a": None})
    agent = Agent(
        "rich",
        description="Has everything.",
        version="2.1.0",
        provider=AgentProvider(url="https://acme.example", organization="Acme"),
        capabilities=Capabilities(
            push_notifications=True, extended_agent_card=True, extensions=(extension,)
        ),
        security_schemes={"bearer": bearer, "key": key},
        security_requirements=(
            SecurityRequirement(schemes={"bearer": StringList(list_=["read"])}),
            SecurityRequirement(schemes={"key": StringList()}),
        ),
        documentation_url="https://acme.example/docs",
        icon_url="https://acme.example/icon",
    )
    agent.add(
        "one",
        lambda ctx: ctx.text,
        tags=("a",),
        examples=("Do it",),
        input_modes=("text/plain",),
        require=[{"bearer": ["write"]}],
    )
    agent.add("two", lambda ctx: ctx.text, output_modes=("image/png",))
    agent.add("secret", lambda ctx: ctx.text, only_extended=True)
    return agent


def plain() -> Agent:
    """Build an agent with required members only."""
    agent = Agent("plain")
    agent.add("one", lambda ctx: ctx.text)
    return agent


def body(agent: Agent, dialect: str | None, *dialects: str, **surface: object) -> dict[str, Any]:
    """Parse a card."""
    mounted = Surface(agent, "/rich", frozenset(dialects or BOTH), **surface)  # type: ignore[arg-type]  # whatever a test says
    card: dict[str, Any] = json.loads(CardCache(mounted).get(dialect, BASE).body)
    return card


def schema(dialect: str) -> jsonschema_rs.Validator:
    """Build a validator of the cards of a dialect."""
    bundle: Mapping[str, Any] = json.loads(
        (files("a2a_contract") / "schemas" / f"{dialect}.json").read_bytes()
    )
    return jsonschema_rs.validator_for({**bundle, "$ref": "#/$defs/AgentCard"})


@pytest.mark.parametrize("make", [rich, plain])
@pytest.mark.parametrize(
    ("wanted", "dialect"),
    [(V1_0.name, V1_0.name), (V0_3.name, V0_3.name), (None, V1_0.name), (None, V0_3.name)],
    ids=["1.0", "0.3", "combined as 1.0", "combined as 0.3"],
)
def test_a_card_is_valid_by_the_schema_of_its_dialect(
    make: Callable[[], Agent], wanted: str | None, dialect: str
) -> None:
    """The combined card by both schemas."""
    schema(dialect).validate(body(make(), wanted))


@pytest.mark.parametrize("make", [rich, plain])
def test_the_combined_card_equals_the_cards_that_it_combines(make: Callable[[], Agent]) -> None:
    """Clients of either version read the same from the combined card as from their own."""
    agent = make()
    both = json.dumps(body(agent, None))
    assert v1_0.AgentCard.model_validate_json(both) == v1_0.AgentCard.model_validate(
        body(agent, V1_0.name)
    )
    assert v0_3.AgentCard.model_validate_json(both) == v0_3.AgentCard.model_validate(
        body(agent, V0_3.name)
    )


def test_the_two_cards_differ_in_their_interfaces_only() -> None:
    """1.0 lists all dialects, the canonical one first; 0.3 lists itself, with the patch level of
    its cards.
    """
    newer = v1_0.AgentCard.model_validate(body(rich(), V1_0.name))
    older = v1_0.AgentCard.model_validate(
        read_agent_card(v0_3.AgentCard.model_validate(body(rich(), V0_3.name)))
    )
    spoken = [
        (each.protocol_binding, each.protocol_version, each.url)
        for each in newer.supported_interfaces
    ]
    assert spoken == [
        ("JSONRPC", "1.0", BASE),
        ("HTTP+JSON", "1.0", BASE),
        ("JSONRPC", "0.3", BASE),
        ("HTTP+JSON", "0.3", BASE),
    ]
    assert [
        (each.protocol_binding, each.protocol_version) for each in older.supported_interfaces
    ] == [("JSONRPC", "0.3.0"), ("HTTP+JSON", "0.3.0")]
    empty = {"supported_interfaces": []}
    key = {
        "security_requirements": newer.security_requirements
    }  # an empty list of scopes is absent in one and empty in the other
    assert older.model_copy(update=empty | key) == newer.model_copy(update=empty)


def test_the_extended_skills_are_on_no_public_card() -> None:
    """Skills of the extended card are missing on the public card of every dialect."""
    for wanted in (V1_0.name, V0_3.name, None):
        assert [skill["id"] for skill in body(rich(), wanted)["skills"]] == ["one", "two"]
    assert [
        skill["id"] for skill in body(rich(), None, only=frozenset({"two", "secret"}))["skills"]
    ] == ["two"]


@pytest.mark.parametrize(
    ("dialects", "setting", "newer", "older"),
    [
        (BOTH, COMBINED, True, True),
        (BOTH, V1_0.name, True, False),
        (BOTH, V0_3.name, False, True),
        ((V1_0.name,), COMBINED, True, False),
        ((V0_3.name, MESH.name), COMBINED, False, True),
    ],
    ids=["both", "both, 1.0 wanted", "both, 0.3 wanted", "1.0 alone", "0.3 alone"],
)
def test_a_request_without_a_version_gets_the_shared_card(
    dialects: tuple[str, ...],
    setting: str,
    newer: bool,  # noqa: FBT001 - a table
    older: bool,  # noqa: FBT001 - a table
) -> None:
    """The only card of the surface, or the configured one."""
    card = body(rich(), None, *dialects, shared_card=setting)
    assert ("supportedInterfaces" in card, "preferredTransport" in card) == (newer, older)


def test_a_form_of_a_dialect_has_the_card_of_that_dialect() -> None:
    """ProtoJSON of 0.3 has no card of its own, and 1.0 alone none for 0.3."""
    cards = CardCache(Surface(rich()))
    assert cards.get(V0_3_PROTO.name, BASE) is cards.get(V0_3.name, BASE)
    assert cards.has(V0_3_PROTO.name)
    assert not CardCache(Surface(rich(), dialects=frozenset({V1_0.name}))).has(V0_3.name)


def test_a_card_is_serialized_once_per_base_url() -> None:
    """Its ETag is a digest of its bytes, and its time is the start."""
    cards = CardCache(Surface(rich()), FakeClock(1_700_000_000_000))
    one = cards.get(None, BASE)
    other = cards.get(None, "https://other")
    assert one is cards.get(None, BASE)
    assert one.etag != other.etag
    assert one.etag == CardCache(Surface(rich())).get(None, BASE).etag
    assert (one.modified_seconds, one.last_modified) == (
        1_700_000_000,
        "Tue, 14 Nov 2023 22:13:20 GMT",
    )


def test_invented_host_names_are_not_cached() -> None:
    """A client that sends a new Host with each request fills no memory."""
    cards = CardCache(Surface(rich()))
    for number in range(200):
        cards.get(None, f"https://{number}.test")
    assert len(cards._documents) == 64


@pytest.mark.parametrize(
    ("agent_url", "public_url", "expected"),
    [
        (None, None, "http://seen/x"),
        ("https://agent/", None, "https://agent/x"),
        ("https://agent", "https://public/y/", "https://public/y"),
    ],
    ids=["from the request", "the agent's", "the surface's"],
)
def test_a_configured_url_overrides_the_base_url(
    agent_url: str | None, public_url: str | None, expected: str
) -> None:
    """That of the surface first, then that of the agent with the path of the surface."""
    agent = Agent("hello", url=agent_url)
    agent.add("one", lambda ctx: ctx.text)
    assert resolve_url(Surface(agent, "/x", public_url=public_url), "http://seen/x/") == expected

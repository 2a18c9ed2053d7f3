"""From what is declared in Python to the canonical card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TypeAlias, TypeVar

from a2a_contract.dialects import CANONICAL, DIALECTS, MESH, V0_3, Dialect
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.mesh import SkillMetadata
from a2a_contract.translate.mesh import write_agent_card as write_mesh_card
from a2a_contract.translate.v0_3 import write_agent_card
from a2a_contract.v0_3 import AgentCard as CardOf03
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill
from a2a_runtime import idempotency
from a2a_runtime.agent import Capabilities, SkillDefinition
from a2a_runtime.auth.gate import ANONYMOUS
from a2a_runtime.caller import Caller
from a2a_runtime.execution.skill import ReplyKind
from a2a_runtime.skills.contract import build_schemas_extension
from a2a_runtime.surface import Surface

T = TypeVar("T")

_FULL_VERSION_03: str = CardOf03.model_fields["protocol_version"].default  # cards of 0.3 name the patch level too


def build_card(surface: Surface, base_url: str, dialect: str = CANONICAL.name, reader: Caller = ANONYMOUS) -> AgentCard:
    """Make the card of a surface, with the addresses that clients of a dialect understand: for everybody, or the extended one for a known caller.

    A client of 1.0 is told of all dialects, each with its version; clients of others only of their own. What is configured as the address goes before
    ``base_url``.
    """
    agent, address = surface.agent, resolve_url(surface, base_url)
    skills = [skill for skill in surface.skills.values() if skill.is_visible_to(reader)]
    return AgentCard(
        name=agent.name,
        description=agent.description,
        supported_interfaces=list(_build_interfaces(surface, address, DIALECTS[dialect])),
        provider=agent.provider,
        version=agent.version,
        documentation_url=agent.documentation_url,
        capabilities=_build_capabilities(agent.capabilities, [*agent.capabilities.extensions, *_build_extensions(surface, skills, address)]),
        security_schemes=dict(surface.security_schemes) or None,
        security_requirements=_to_optional_list(surface.security_requirements),
        default_input_modes=list(agent.default_input_modes),
        default_output_modes=list(agent.default_output_modes),
        skills=[_build_skill(skill) for skill in skills],
        icon_url=agent.icon_url,
    )


def resolve_url(surface: Surface, base_url: str) -> str:
    """Say where clients reach a surface."""
    return surface.configured_url or base_url.rstrip("/")


def _build_interfaces(surface: Surface, url: str, reader: Dialect) -> Iterator[AgentInterface]:
    for dialect in DIALECTS.values():  # the canonical one first
        if dialect.name not in surface.dialects or dialect.version is None or reader.name not in {CANONICAL.name, dialect.name}:
            continue
        version = _FULL_VERSION_03 if reader.name == V0_3.name else dialect.version
        if dialect.jsonrpc:
            yield AgentInterface(url=url, protocol_binding=TransportProtocol.JSONRPC.value, protocol_version=version)
        if dialect.http_prefixes and dialect.form_of is None:
            yield AgentInterface(url=url, protocol_binding=TransportProtocol.HTTP_JSON.value, protocol_version=version)


def _build_extensions(surface: Surface, skills: Sequence[SkillDefinition], url: str) -> Iterator[AgentExtension]:
    """Tell what every agent of ours has beyond the protocol; an answer that is no task is kept nowhere, and given anew."""
    if all(skill.skill.answers is not ReplyKind.MESSAGE for skill in surface.skills.values()):
        yield idempotency.idempotency_extension()
    if schemas := build_schemas_extension([skill.contract for skill in skills if skill.contract], url):
        yield schemas


def _build_capabilities(capabilities: Capabilities, extensions: Sequence[AgentExtension]) -> AgentCapabilities:
    return AgentCapabilities(
        streaming=capabilities.streaming,
        push_notifications=capabilities.push_notifications,
        extensions=_to_optional_list(extensions),
        extended_agent_card=capabilities.extended_agent_card,
    )


def _build_skill(skill: SkillDefinition) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=list(skill.tags),
        examples=_to_optional_list(skill.examples),
        input_modes=_to_optional_list(skill.input_modes),
        output_modes=_to_optional_list(skill.output_modes),
        security_requirements=_to_optional_list(skill.security_requirements),
    )


def _to_optional_list(values: Sequence[T]) -> list[T] | None:
    return list(values) or None


# The card of a mesh surface: one skill, an address where one is known, and the words for how to come in.


def build_mesh_card(surface: Surface, base_url: str) -> dict[str, object]:
    """Write the card of a surface as consumers of mcp-mesh read it; what has no value of its own says the next best thing, never nothing."""
    agent, skill = surface.agent, next(iter(surface.skills.values()))
    address = resolve_url(surface, base_url)
    inputs, outputs = list(agent.resolve_input_modes(skill)), list(agent.resolve_output_modes(skill))
    shown = AgentSkill(
        id=skill.id,
        name=skill.name or skill.id,
        description=skill.description or skill.name or skill.id,
        tags=list(skill.tags),
        input_modes=inputs,
        output_modes=outputs,
    )
    card = build_card(surface, base_url, MESH.name).model_copy(
        update={
            "description": agent.description or agent.name,
            "capabilities": AgentCapabilities(streaming=True),  # every mesh surface streams
            "supported_interfaces": [AgentInterface(url=address, protocol_binding=TransportProtocol.JSONRPC.value, protocol_version="")],
            "default_input_modes": inputs,
            "default_output_modes": outputs,
            "skills": [shown],
        }
    )
    document = write_mesh_card(card)
    if skill.input_schema is not None:
        skills = document["skills"]
        if is_json_array(skills) and is_json_object(skills[0]):
            skills[0]["metadata"] = SkillMetadata.model_validate({"input_schema": skill.input_schema}).to_dict()
    return document


# From the canonical card to the documents that clients read.
#
# A dialect's own document has what its schema has. The combined one has the members of all of them: their clients ignore what they do not know, and
# where two dialects use one name (``securitySchemes``, ``skills``, ``capabilities``), the members inside differ in name again.
#

Document: TypeAlias = dict[str, object]

_SIGNATURES = AgentCard.wire_name("signatures")

COMBINABLE_WRITERS: Mapping[str, Callable[[AgentCard], Document]] = {
    CANONICAL.name: lambda card: card.to_dict(),
    V0_3.name: write_agent_card,
}
"""The dialects whose cards can be one, the canonical one first."""

SEPARATE_WRITERS: Mapping[str, Callable[[Surface, str], Document]] = {MESH.name: build_mesh_card}
"""The dialects whose card is no other's."""


def build_document(surface: Surface, dialect: str, base_url: str) -> Document:
    """Write the card of a surface as a dialect has it."""
    apart = SEPARATE_WRITERS.get(dialect)
    return (
        COMBINABLE_WRITERS[dialect](sign_card(build_card(surface, base_url, dialect), surface, dialect))
        if apart is None
        else apart(surface, base_url)
    )


def build_combined_document(surface: Surface, base_url: str) -> Document:
    """Write one card that clients of all dialects of a surface can read, but for those that have one apart.

    Who reads a dialect finds the signatures of that dialect's card among those of all of them.
    """
    cards = [build_document(surface, dialect, base_url) for dialect in COMBINABLE_WRITERS if dialect in surface.dialects]
    signatures = [each for card in cards if is_json_array(listed := card.pop(_SIGNATURES, [])) for each in listed]
    merged: Document = reduce(_merge_documents, cards)
    return {**merged, _SIGNATURES: signatures} if signatures else merged


def sign_card(card: AgentCard, surface: Surface, dialect: str) -> AgentCard:
    """Sign a card as it is in a dialect, where the agent signs."""
    if surface.signer is None:
        return card
    return card.model_copy(update={"signatures": surface.signer.sign(COMBINABLE_WRITERS[dialect](card), dialect)})


def _merge_documents(first: Document, second: Document) -> Document:
    return {**first, **{name: _merge_values(first[name], value) if name in first else value for name, value in second.items()}}


def _merge_values(first: object, second: object) -> object:
    """Unite two values of one member; where they cannot be united, they are the same."""
    if is_json_object(first) and is_json_object(second):
        return _merge_documents(first, second)
    if is_json_array(first) and is_json_array(second) and len(first) == len(second):
        return [_merge_values(one, other) for one, other in zip(first, second, strict=True)]
    return first

"""The canonical card of a surface, and the documents that clients of its dialects read.

    Surface ── build_card ──► AgentCard ── writer of a dialect ──► document, signed
                                                                     └── all of them merged ──► combined document

The document of a dialect has the members of its schema. The combined document has those of several
dialects: clients ignore unknown members, and where dialects share a name (``securitySchemes``,
``skills``, ``capabilities``), the members inside have different names. The mesh has a document of
its own: one skill, a URL if one is known, and no empty texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from a2a_contract.base import JsonMembers
from a2a_contract.dialects import CANONICAL, DIALECTS, MESH, V0_3, Dialect
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.mesh import SkillMetadata
from a2a_contract.translate.mesh import write_agent_card as write_mesh_card
from a2a_contract.translate.v0_3 import write_agent_card as write_v0_3_card
from a2a_contract.translate.v0_3_proto import write_security_scheme as write_proto_security_scheme
from a2a_contract.v0_3 import AgentCapabilities as V03AgentCapabilities
from a2a_contract.v0_3 import AgentCard as V03AgentCard
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a_runtime.agent import DEFAULT_MODES, SkillDefinition
from a2a_runtime.auth.gate import ANONYMOUS
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.grpc.options import has_grpc
from a2a_runtime.service.cards.declarations import build_extensions
from a2a_runtime.surface import Surface

Document: TypeAlias = dict[str, object]

_SIGNATURES = AgentCard.wire_name("signatures")
_SECURITY_SCHEMES = AgentCard.wire_name("security_schemes")
_HISTORY = V03AgentCapabilities.wire_name("state_transition_history")
"""Capability of 0.3 without a meaning there, which the apcore SRS wants on every card."""
_MESH_MODES = ("application/json",)
_FULL_VERSION_03: str = V03AgentCard.model_fields[
    "protocol_version"
].default  # cards of 0.3 have the patch level too


def build_card(
    surface: Surface, base_url: str, dialect: str = CANONICAL.name, reader: Caller = ANONYMOUS
) -> AgentCard:
    """Build the card of a surface for clients of a dialect; for an authenticated reader, the
    extended card.

    For clients of 1.0 it lists the interfaces of all dialects, for others only their own. A
    configured URL overrides ``base_url``. Without either, the card lists the interfaces that are
    not below it.
    """
    agent = surface.agent
    url = resolve_url(surface, base_url)
    skills = [skill for skill in surface.skills.values() if skill.is_visible_to(reader)]
    return AgentCard(
        name=agent.name,
        description=agent.description
        or next(filter(None, (source.summarize(len(skills)) for source in agent.sources)), ""),
        supported_interfaces=list(
            _build_interfaces(surface, url, DIALECTS[DIALECTS[dialect].home])
        ),
        provider=agent.provider,
        version=agent.version,
        documentation_url=agent.documentation_url,
        capabilities=AgentCapabilities(
            streaming=surface.is_streaming,
            push_notifications=agent.capabilities.push_notifications,
            extensions=[*agent.capabilities.extensions, *build_extensions(surface, skills, url)]
            or None,
            extended_agent_card=agent.capabilities.extended_agent_card,
        ),
        security_schemes=dict(surface.security_schemes) or None,
        security_requirements=list(surface.security_requirements) or None,
        default_input_modes=list(agent.default_input_modes),
        default_output_modes=list(agent.default_output_modes),
        skills=[_build_skill(skill) for skill in skills],
        icon_url=agent.icon_url,
    )


def resolve_url(surface: Surface, base_url: str) -> str:
    """Return the URL of a surface: the configured one, or else the base URL."""
    return surface.configured_url or base_url.rstrip("/")


def _build_interfaces(surface: Surface, url: str, reader: Dialect) -> Iterator[AgentInterface]:
    for dialect in DIALECTS.values():  # the canonical one first
        if (
            dialect.name not in surface.dialects
            or dialect.version is None
            or reader.name not in {CANONICAL.name, dialect.name}
        ):
            continue
        version = _FULL_VERSION_03 if reader.name == V0_3.name else dialect.version
        if dialect.jsonrpc and url:
            yield AgentInterface(
                url=url, protocol_binding=TransportProtocol.JSONRPC.value, protocol_version=version
            )
        if dialect.http_prefixes and dialect.form_of is None and url:
            yield AgentInterface(
                url=url,
                protocol_binding=TransportProtocol.HTTP_JSON.value,
                protocol_version=version,
            )
        if surface.grpc is not None and surface.grpc.on_card and has_grpc(dialect.name):
            address = (
                surface.grpc.card_url(url)
                if reader.name == V0_3.name
                else surface.grpc.card_address(url)
            )
            yield AgentInterface(
                url=address, protocol_binding=TransportProtocol.GRPC.value, protocol_version=version
            )
    if reader.version is not None:
        yield from (
            each
            for each in surface.other_interfaces
            if reader is CANONICAL or each.protocol_version.startswith(reader.version)
        )


def _build_skill(skill: SkillDefinition) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=list(skill.tags),
        examples=list(skill.examples) or None,
        input_modes=list(skill.input_modes) or None,
        output_modes=list(skill.output_modes) or None,
        security_requirements=list(skill.security_requirements) or None,
    )


def build_mesh_card(surface: Surface, base_url: str) -> Document:
    """Build the card that consumers of mcp-mesh read; a missing text falls back to the next best
    one.
    """
    agent = surface.agent
    skill = next(iter(surface.skills.values()))
    inputs = _resolve_mesh_modes(skill.input_modes, agent.default_input_modes)
    outputs = _resolve_mesh_modes(skill.output_modes, agent.default_output_modes)
    mesh_skill = AgentSkill(
        id=skill.id,
        name=skill.name or skill.id,
        description=skill.description or skill.name or skill.id,
        tags=list(skill.tags),
        input_modes=inputs,
        output_modes=outputs,
    )
    interface = AgentInterface(
        url=resolve_url(surface, base_url),
        protocol_binding=TransportProtocol.JSONRPC.value,
        protocol_version="",
    )
    card = build_card(surface, base_url, MESH.name).model_copy(
        update={
            "description": agent.description or agent.name,
            "capabilities": AgentCapabilities(streaming=True),  # every mesh surface streams
            "supported_interfaces": [interface],
            "default_input_modes": inputs,
            "default_output_modes": outputs,
            "skills": [mesh_skill],
        }
    )
    document = write_mesh_card(card.to_dict())
    if skill.input_schema is not None:
        skills = document["skills"]
        if is_json_array(skills) and is_json_object(skills[0]):
            skills[0]["metadata"] = SkillMetadata.model_validate(
                {"input_schema": skill.input_schema}
            ).to_dict()
    return document


def _resolve_mesh_modes(modes: Sequence[str], of_agent: Sequence[str]) -> list[str]:
    """Return the media types of a skill, or those that its agent declares; else the default of the
    mesh, as at the registry.
    """
    return list(modes) or (list(_MESH_MODES) if of_agent is DEFAULT_MODES else list(of_agent))


COMBINABLE_WRITERS: Mapping[str, Callable[[AgentCard], Document]] = {
    CANONICAL.name: lambda card: card.to_dict(),
    V0_3.name: lambda card: write_v0_3_card(card.to_dict()),
}
"""The dialects whose documents can be combined, the canonical one first."""

SEPARATE_WRITERS: Mapping[str, Callable[[Surface, str], Document]] = {MESH.name: build_mesh_card}
"""The dialects whose document cannot be combined with another."""


def build_document(surface: Surface, dialect: str, base_url: str) -> Document:
    """Build the card of a surface as a dialect defines it, signed if the agent signs."""
    if write := SEPARATE_WRITERS.get(dialect):
        return write(surface, base_url)
    document = COMBINABLE_WRITERS[dialect](
        sign_card(build_card(surface, base_url, dialect), surface, dialect)
    )
    if (
        dialect == V0_3.name
        and surface.srs_forms
        and surface.signer is None
        and is_json_object(capabilities := document["capabilities"])
    ):
        document["capabilities"] = {_HISTORY: False, **capabilities}
    if (
        dialect == V0_3.name
        and surface.signer is None
        and is_json_array(skills := document["skills"])
    ):
        document["skills"] = [
            {**skill, **(surface.skills[str(skill["id"])].card_members or {})}
            for skill in skills
            if is_json_object(skill)
        ]
    return document


def build_combined_document(surface: Surface, base_url: str) -> Document:
    """Build one card for clients of all combinable dialects of a surface, with the signatures of
    each dialect's document.
    """
    cards = [
        build_document(surface, dialect, base_url)
        for dialect in COMBINABLE_WRITERS
        if dialect in surface.dialects
    ]
    signatures = [
        each
        for card in cards
        if is_json_array(found := card.pop(_SIGNATURES, []))
        for each in found
    ]
    merged: Document = reduce(_merge_documents, cards)
    if signatures:
        return {**merged, _SIGNATURES: signatures}
    return merged


def write_card_in_both_forms(card: JsonMembers) -> Document:
    """Write a card for clients of either form of 0.3, which only differ in the security schemes; a
    signature covers the documented form alone.
    """
    document = write_v0_3_card(card)
    schemes = card.get(_SECURITY_SCHEMES)
    if schemes and _SIGNATURES not in card:
        proto = {name: write_proto_security_scheme(scheme) for name, scheme in schemes.items()}
        document["securitySchemes"] = _merge_values(document["securitySchemes"], proto)
    return document


def sign_card(card: AgentCard, surface: Surface, dialect: str) -> AgentCard:
    """Sign a card as a dialect defines it, if the surface has a signer."""
    if surface.signer is None:
        return card
    return card.model_copy(
        update={"signatures": surface.signer.sign(COMBINABLE_WRITERS[dialect](card), dialect)}
    )


def _merge_documents(first: Document, second: Document) -> Document:
    return {
        **first,
        **{
            name: _merge_values(first[name], value) if name in first else value
            for name, value in second.items()
        },
    }


def _merge_values(first: object, second: object) -> object:
    """Merge two values of one member; those that cannot be merged are equal."""
    if is_json_object(first) and is_json_object(second):
        return _merge_documents(first, second)
    if is_json_array(first) and is_json_array(second) and len(first) == len(second):
        return [_merge_values(one, other) for one, other in zip(first, second, strict=True)]
    return first

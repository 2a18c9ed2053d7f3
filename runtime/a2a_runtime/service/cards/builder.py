"""The canonical card of a surface, and the documents that clients of its dialects read.

    Surface ── build_card ──► AgentCard ── writer of a dialect ──► document, signed
                                                                      │
                                          combined document ◄── all of them merged

The document of a dialect has the members of its schema. The combined document has those of several
dialects: clients ignore unknown members, and where dialects share a name (``securitySchemes``,
``skills``, ``capabilities``), the members inside have different names. The mesh has a document of
its own: one skill, a URL if one is known, and no empty texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import TypeAlias

from a2a_contract.base import JsonMembers
from a2a_contract.dialects import CANONICAL, DIALECTS, V0_3, Dialect
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.translate.v0_3 import write_agent_card as write_v0_3_card
from a2a_contract.translate.v0_3_proto import write_security_scheme as write_proto_security_scheme
from a2a_contract.v0_3 import AgentCard as V03AgentCard
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.auth.gate import ANONYMOUS
from a2a_runtime.base.caller import Caller
from a2a_runtime.ports.registry import find_support
from a2a_runtime.service.cards.declarations import build_extensions
from a2a_runtime.surface import Surface

Document: TypeAlias = dict[str, object]

_SIGNATURES = AgentCard.wire_name("signatures")
_SECURITY_SCHEMES = AgentCard.wire_name("security_schemes")
_FULL_VERSION_03: str = V03AgentCard.model_fields["protocol_version"].default
"""The version on cards of 0.3, which have the patch level too."""


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
        if surface.grpc is not None:
            interface = surface.grpc.build_interface(dialect, version, reader, url)
            if interface is not None:
                yield interface
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


COMBINABLE_WRITERS: Mapping[str, Callable[[AgentCard], Document]] = {
    CANONICAL.name: lambda card: card.to_dict(),
    V0_3.name: lambda card: write_v0_3_card(card.to_dict()),
}
"""The dialects whose documents can be combined, the canonical one first."""


def build_document(surface: Surface, dialect: str, base_url: str) -> Document:
    """Build the card of a surface as a dialect defines it, signed if the agent signs."""
    if write := find_support(dialect).write_card:
        return write(surface, base_url)
    document = COMBINABLE_WRITERS[dialect](
        sign_card(build_card(surface, base_url, dialect), surface, dialect)
    )
    for variant in surface.wire:
        variant.write_card(document, surface, dialect)
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
    signatures: list[object] = []
    for card in cards:
        found = card.pop(_SIGNATURES, [])
        if is_json_array(found):
            signatures += found
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
    merged = {**first}
    for name, value in second.items():
        merged[name] = _merge_values(first[name], value) if name in first else value
    return merged


def _merge_values(first: object, second: object) -> object:
    """Merge two values of one member; those that cannot be merged are equal."""
    if is_json_object(first) and is_json_object(second):
        return _merge_documents(first, second)
    if is_json_array(first) and is_json_array(second) and len(first) == len(second):
        return [_merge_values(one, other) for one, other in zip(first, second, strict=True)]
    return first

"""From what is declared in Python to the canonical card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from a2a_contract.dialects import CANONICAL, DIALECTS, V0_3, Dialect
from a2a_contract.v0_3 import AgentCard as CardOf03
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill
from a2a_runtime import idempotency
from a2a_runtime.agent import Capabilities, DeclaredSkill
from a2a_runtime.auth.gate import ANYONE
from a2a_runtime.caller import Caller
from a2a_runtime.execution.skill import Answers
from a2a_runtime.skills.card import schemas_extension
from a2a_runtime.surface import Surface

T = TypeVar("T")

_WHOLE_VERSION_03: str = CardOf03.model_fields["protocol_version"].default  # cards of 0.3 name the patch level too


def declare(surface: Surface, base_url: str, dialect: str = CANONICAL.name, reader: Caller = ANYONE) -> AgentCard:
    """Make the card of a surface, with the addresses that clients of a dialect understand: for everybody, or the extended one for a known caller.

    A client of 1.0 is told of all dialects, each with its version; clients of others only of their own. What is configured as the address goes before
    ``base_url``.
    """
    agent, address = surface.agent, address_of(surface, base_url)
    skills = [skill for skill in surface.skills.values() if skill.is_there_for(reader)]
    return AgentCard(
        name=agent.name,
        description=agent.description,
        supported_interfaces=list(_interfaces(surface, address, DIALECTS[dialect])),
        provider=agent.provider,
        version=agent.version,
        documentation_url=agent.documentation_url,
        capabilities=_capabilities(agent.capabilities, [*agent.capabilities.extensions, *_extensions(surface, skills, address)]),
        security_schemes=dict(surface.security_schemes) or None,
        security_requirements=_listed(surface.security_requirements),
        default_input_modes=list(agent.default_input_modes),
        default_output_modes=list(agent.default_output_modes),
        skills=[_skill(skill) for skill in skills],
        icon_url=agent.icon_url,
    )


def address_of(surface: Surface, base_url: str) -> str:
    """Say where clients reach a surface."""
    return surface.address or base_url.rstrip("/")


def _interfaces(surface: Surface, url: str, reader: Dialect) -> Iterator[AgentInterface]:
    for dialect in DIALECTS.values():  # the canonical one first
        if dialect.name not in surface.dialects or dialect.version is None or reader.name not in {CANONICAL.name, dialect.name}:
            continue
        version = _WHOLE_VERSION_03 if reader.name == V0_3.name else dialect.version
        if dialect.jsonrpc:
            yield AgentInterface(url=url, protocol_binding=TransportProtocol.JSONRPC.value, protocol_version=version)
        if dialect.http_prefixes and dialect.form_of is None:
            yield AgentInterface(url=url, protocol_binding=TransportProtocol.HTTP_JSON.value, protocol_version=version)


def _extensions(surface: Surface, skills: Sequence[DeclaredSkill], address: str) -> Iterator[AgentExtension]:
    """Tell what every agent of ours has beyond the protocol; an answer that is no task is kept nowhere, and given anew."""
    if all(skill.run.answers is not Answers.MESSAGE for skill in surface.skills.values()):
        yield idempotency.promise()
    if schemas := schemas_extension([skill.contract for skill in skills if skill.contract], address):
        yield schemas


def _capabilities(capabilities: Capabilities, extensions: Sequence[AgentExtension]) -> AgentCapabilities:
    return AgentCapabilities(
        streaming=capabilities.streaming,
        push_notifications=capabilities.push_notifications,
        extensions=_listed(extensions),
        extended_agent_card=capabilities.extended_agent_card,
    )


def _skill(skill: DeclaredSkill) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=list(skill.tags),
        examples=_listed(skill.examples),
        input_modes=_listed(skill.input_modes),
        output_modes=_listed(skill.output_modes),
        security_requirements=_listed(skill.security_requirements),
    )


def _listed(values: Sequence[T]) -> list[T] | None:
    return list(values) or None

"""The card that consumers of mcp-mesh read: one skill, a URL if one is known, and no empty
texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.dialects import MESH
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.mesh import SkillMetadata
from a2a_contract.translate.mesh import write_agent_card as write_mesh_card
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCapabilities, AgentInterface, AgentSkill
from a2a_runtime.agent import DEFAULT_MODES
from a2a_runtime.service.cards.builder import Document, build_card, resolve_url
from a2a_runtime.surface import Surface

_DEFAULT_MODES = ("application/json",)


def build_mesh_card(surface: Surface, base_url: str) -> Document:
    """Build the card that consumers of mcp-mesh read; a missing text falls back to the next best
    one.
    """
    agent = surface.agent
    skill = next(iter(surface.skills.values()))
    inputs = _resolve_modes(skill.input_modes, agent.default_input_modes)
    outputs = _resolve_modes(skill.output_modes, agent.default_output_modes)
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


def _resolve_modes(modes: Sequence[str], of_agent: Sequence[str]) -> list[str]:
    """Return the media types of a skill, or those that its agent declares; else the default of the
    mesh, as at the registry.
    """
    if modes:
        return list(modes)
    if of_agent is DEFAULT_MODES:
        return list(_DEFAULT_MODES)
    return list(of_agent)

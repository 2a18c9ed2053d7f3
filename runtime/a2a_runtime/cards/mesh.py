"""The card of a mesh surface: one skill, an address where one is known, and the words for how to come in."""

from __future__ import annotations

from a2a_contract.dialects import MESH
from a2a_contract.kinds import is_list, is_object
from a2a_contract.mesh import SkillMetadata
from a2a_contract.translate.mesh import write_agent_card
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCapabilities, AgentInterface, AgentSkill
from a2a_runtime.cards.declaration import address_of, declare
from a2a_runtime.surface import Surface


def mesh_card(surface: Surface, base_url: str) -> dict[str, object]:
    """Write the card of a surface as consumers of mcp-mesh read it; what has no value of its own says the next best thing, never nothing."""
    agent, skill = surface.agent, next(iter(surface.skills.values()))
    address = address_of(surface, base_url)
    inputs, outputs = list(agent.inputs(skill)), list(agent.outputs(skill))
    shown = AgentSkill(
        id=skill.id,
        name=skill.name or skill.id,
        description=skill.description or skill.name or skill.id,
        tags=list(skill.tags),
        input_modes=inputs,
        output_modes=outputs,
    )
    card = declare(surface, base_url, MESH.name).model_copy(
        update={
            "description": agent.description or agent.name,
            "capabilities": AgentCapabilities(streaming=True),  # every mesh surface streams
            "supported_interfaces": [AgentInterface(url=address, protocol_binding=TransportProtocol.JSONRPC.value, protocol_version="")],
            "default_input_modes": inputs,
            "default_output_modes": outputs,
            "skills": [shown],
        }
    )
    document = write_agent_card(card)
    if skill.input_schema is not None:
        skills = document["skills"]
        if is_list(skills) and is_object(skills[0]):
            skills[0]["metadata"] = SkillMetadata.model_validate({"input_schema": skill.input_schema}).to_dict()
    return document

"""The same typed skill twice: of the agent itself, and of a source."""

from __future__ import annotations

from typing import Any

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.features.sources import SkillDescriptor
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import UnaryHandler
from a2a_runtime.skills.schema import TypedSchema
from a2a_runtime.testing.skill_source import FunctionSource

INPUT = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
OUTPUT = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


async def add(value: Any, ctx: SkillContext) -> dict[str, int]:  # noqa: ANN401 - any JSON
    """Add one."""
    del ctx
    return {"total": value["number"] + 1}


source = FunctionSource()
source.add(
    SkillDescriptor(
        "bridged", "Adds one.", input_schema=INPUT, output_schema=OUTPUT, is_read_only=True
    ),
    add,
)
agent = Agent("adder", description="Adds.", sources=[source])
contract = SkillContract("plain", TypedSchema[Any](Any, INPUT), TypedSchema[Any](Any, OUTPUT))
agent.add("plain", UnaryHandler(contract, add), description="Adds one.", contract=contract)
app = create_app(agent)

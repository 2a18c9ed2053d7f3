"""The facts of a skill that the generator passes on, beside the two places that define them."""

from __future__ import annotations

import json
from pathlib import Path

from a2a_gen.agent import ir
from a2a_runtime.skills.options import SkillOptions

SCHEMA = Path(__file__).parents[3] / "schema/meta/project.schema.json"

HANDLED_BY_THE_GENERATOR = {"input", "output", "asks", "streaming", "handler"}
"""Settings that become types and methods instead of arguments."""
NOT_IN_A_FILE = {"input_schema", "asks", "contract", "can_merge", "check", "card_members"}
"""Arguments that only Python can give, or that come from the types."""


def test_every_setting_of_a_skill_is_passed_on() -> None:
    """A setting that the project file allows is an argument of `Agent.add`, or becomes a type."""
    table = json.loads(SCHEMA.read_text())["$defs"]["SkillTable"]
    assert set(ir._FACTS) == table["properties"].keys() - HANDLED_BY_THE_GENERATOR


def test_every_fact_is_an_option_of_a_skill() -> None:
    """The runtime takes everything that the generator passes on, and the rest is for Python."""
    assert set(ir._FACTS) == SkillOptions.__annotations__.keys() - NOT_IN_A_FILE

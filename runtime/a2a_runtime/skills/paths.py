"""Paths of skills below a surface, for clients without the protocol."""

from __future__ import annotations

from collections.abc import Mapping

from a2a_runtime.skills.contract import SCHEMAS_PATH

SKILLS = "/skills"
SKILL_CALL = SKILLS + "/{skill:str}"
SKILL_SCHEMA = SCHEMAS_PATH + "/{skill:str}/{file:str}"
SKILL_PATHS: Mapping[str, tuple[str, ...]] = {
    SKILL_CALL: ("POST", "OPTIONS"),
    SKILL_SCHEMA: ("GET", "HEAD", "OPTIONS"),
}
"""The paths, and the methods of each."""

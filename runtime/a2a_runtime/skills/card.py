"""The schemas of skills on a card, as an extension that 1.0 and 0.3 have in the same form.

    {"uri": …, "params": {"skills": {"generate-report": {"streaming": false,
        "input": {"$id": …, "sha256": …, "url": …}, "output": {…}}}}}

The URL serves the schema as the agent applies it; the hash is of its bytes. Text in or out has no schema, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.v1_0 import AgentExtension
from a2a_runtime.skills.contract import AnyContract

URI = "urn:a2a-gen:extension:skill-schemas:v1"
FOLDER = "/schemas"
"""Where the schemas are, below the surface."""


def path_of(skill: str, use: str) -> str:
    """Say where a schema is served, below the surface."""
    return f"{FOLDER}/{skill}/{use}.json"


def schemas_extension(skills: Sequence[AnyContract], address: str) -> AgentExtension | None:
    """Make the extension of a card; none where no skill has a schema."""
    described = {skill.id: _described(skill, address) for skill in skills if skill.schemas}
    if not described:
        return None
    return AgentExtension(uri=URI, description="JSON Schemas of the skills", required=False, params={"skills": described})


def _described(skill: AnyContract, address: str) -> dict[str, object]:
    forms: dict[str, object] = {
        use: {"$id": form.id, "sha256": form.digest, "url": address + path_of(skill.id, use)} for use, form in skill.schemas.items()
    }
    return {"streaming": skill.streams, **forms}

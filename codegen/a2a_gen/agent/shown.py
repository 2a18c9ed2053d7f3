"""An agent as it shows itself to others: its card, its skills, and the schemas that it serves.

1.0, 0.3   the extension that names a URL and a hash for every schema
mesh       the schema itself, in the metadata of the one skill
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.agent import keywords
from a2a_gen.agent.keywords import Schema
from a2a_gen.ir.names import file_word
from a2a_gen.source.json_text import parse

EXTENSION = "urn:a2a-gen:extension:skill-schemas:v1"
USES = ("input", "output")


@dataclass(frozen=True, slots=True)
class Served:
    """A schema as an agent serves it."""

    skill: str
    use: str
    document: bytes

    @property
    def file(self) -> str:
        """Name the file that it is kept in; the name of a skill is somebody else's, and no path."""
        return f"{file_word(self.skill)}.{self.use}.json"

    @property
    def data(self) -> Schema:
        """The schema."""
        data, _ = parse(self.document.decode("utf-8"))
        return data if isinstance(data, dict) else {}


@dataclass(frozen=True, slots=True)
class Remote:
    """An agent somewhere else."""

    card: Schema
    schemas: tuple[Served, ...]

    @property
    def streaming(self) -> frozenset[str]:
        """Name the skills whose output comes in chunks."""
        return frozenset(skill for skill, facts in described(self.card).items() if facts.get("streaming") is True)

    @property
    def skills(self) -> Iterator[tuple[str, Schema]]:
        """List the skills by their ids."""
        for each in keywords.items(self.card, "skills"):
            if isinstance(each, dict) and keywords.text(each, "id"):
                yield keywords.text(each, "id"), each


def described(card: Schema) -> Mapping[str, Schema]:
    """Read what a card says about the schemas of its skills."""
    extensions = keywords.items(keywords.members(card, "capabilities"), "extensions")
    for each in extensions:
        if isinstance(each, dict) and each.get("uri") == EXTENSION:
            skills = keywords.members(keywords.members(each, "params"), "skills")
            return {skill: facts for skill, facts in skills.items() if isinstance(facts, dict)}
    return {}

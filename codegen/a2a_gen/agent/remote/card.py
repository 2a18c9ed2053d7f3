"""Card of a remote agent, with the schemas that it names; needs no HTTP.

``a2a_gen.agent.remote.agent`` fetches it, and ``a2a_gen.agent.remote.client`` keeps it beside the
generated client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from a2a_gen.agent.schemas import files as keywords
from a2a_gen.agent.schemas.files import Schema
from a2a_gen.ir.names import file_word
from a2a_gen.source.json_text import parse

CARD = "card.json"
SCHEMAS = "schemas"
"""Names of the kept card and of the folder with its schemas."""

_EXTENSION = "skill-schemas"
_BUNDLE = "extensions.json"
USES = ("input", "output")


@dataclass(frozen=True, slots=True)
class PublishedSchema:
    """A schema as an agent serves it."""

    skill: str
    use: str
    document: bytes

    @property
    def file(self) -> str:
        """Return the name of its file; the skill's name is untrusted and never used as a path."""
        return f"{file_word(self.skill)}.{self.use}.json"

    @property
    def data(self) -> Schema:
        """Parse the schema."""
        data, _ = parse(self.document.decode("utf-8"))
        if isinstance(data, dict):
            return data
        return {}


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """A remote agent: its card and its schemas."""

    card: Schema
    schemas: tuple[PublishedSchema, ...]

    @property
    def streaming(self) -> frozenset[str]:
        """List the skills that stream their output."""
        return frozenset(
            skill
            for skill, facts in parse_card(self.card).items()
            if facts.get("streaming") is True
        )

    @property
    def skills(self) -> Iterator[tuple[str, Schema]]:
        """List the skills by id."""
        for each in keywords.items(self.card, "skills"):
            if isinstance(each, dict) and keywords.text(each, "id"):
                yield keywords.text(each, "id"), each


def parse_card(card: Schema) -> Mapping[str, Schema]:
    """Parse the parts of a card that concern the schemas of its skills."""
    extensions = keywords.items(keywords.members(card, "capabilities"), "extensions")
    uri = _find_uri()
    for each in extensions:
        if isinstance(each, dict) and uri and each.get("uri") == uri:
            skills = keywords.members(keywords.members(each, "params"), "skills")
            return {skill: facts for skill, facts in skills.items() if isinstance(facts, dict)}
    return {}


@cache
def _find_uri() -> str | None:
    """Find the URI of the extension in the package of the contract, without importing it."""
    spec = find_spec("a2a_contract")
    bundle = Path(spec.origin or "").parent / "schemas" / _BUNDLE if spec else None
    data = parse(bundle.read_text(encoding="utf-8"))[0] if bundle and bundle.is_file() else None
    rows = keywords.members(data, "x-a2a-extensions") if isinstance(data, dict) else None
    if rows:
        return keywords.text(rows.get(_EXTENSION), "uri") or None
    return None

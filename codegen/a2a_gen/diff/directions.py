"""The two directions in which documents go between the base and the revision."""

from __future__ import annotations

from dataclasses import dataclass, replace

from a2a_gen.diff.change import SchemaChange
from a2a_gen.diff.finding import READ_PROFILES, WRITE_PROFILES
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeLevels
from a2a_gen.diff.usage import Usage


@dataclass(frozen=True, slots=True)
class DocumentDirection:
    """Documents of one side that go to the other: requests to the revision, or responses to readers
    of the base.
    """

    usage: Usage
    sender: int
    profiles: frozenset[str]

    def has_effect(self, change: SchemaChange) -> bool:
        """Return true if a change claims to break documents in this direction."""
        if self.sender == 0:
            return change.effect.is_narrowing
        return change.effect.is_widening

    def get_level(self, levels: ChangeLevels) -> ChangeLevel:
        """Return the level of this direction."""
        if self.sender == 0:
            return levels.read
        return levels.write

    def with_level(self, levels: ChangeLevels, level: ChangeLevel) -> ChangeLevels:
        """Return levels with another one for this direction."""
        if self.sender == 0:
            return replace(levels, read=level)
        return replace(levels, write=level)


READING = DocumentDirection(Usage.READ, 0, READ_PROFILES)
WRITING = DocumentDirection(Usage.WRITTEN, 1, WRITE_PROFILES)
DIRECTIONS = (READING, WRITING)

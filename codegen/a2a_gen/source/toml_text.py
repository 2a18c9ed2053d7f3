"""TOML as an agent's project is written in: the line of every setting. ``tomllib`` reads the values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from a2a_gen.source.documents import Document
from a2a_gen.source.positions import escaped
from a2a_gen.support import toml_lines


class TomlDocument(Document):
    """A file in TOML."""

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of every table and setting, by its JSON pointer."""
        return {"".join(f"/{escaped(str(step))}" for step in path): line for path, line in toml_lines.lines_of(self.text).items()}

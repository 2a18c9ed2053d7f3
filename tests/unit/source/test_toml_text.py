"""Places in a TOML file, by JSON pointer."""

from __future__ import annotations

import pytest

from a2a_gen.source.project import TomlDocument

TEXT = """\
[agent]
name = "x"

[skills."²"]
description = "a"

[skills.7]
description = "b"

[[surfaces]]
path = "/"

[[surfaces]]
path = "/b"
skills = ["7"]
"""


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("/agent/name", 2),
        ("/skills/²/description", 5),
        ("/skills/7", 7),
        ("/surfaces/1/path", 14),
        ("/surfaces/1/skills/0", 15),
        ("/surfaces/9", 1),
    ],
)
def test_a_pointer_leads_to_a_line(pointer: str, line: int) -> None:
    """The file decides if a step is a name or an index; a missing value has the line of its
    parent.
    """
    assert TomlDocument("a2a.toml", TEXT, {}).place_at(pointer).line == line

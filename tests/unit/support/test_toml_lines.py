"""Line of a setting in an a2a.toml."""

from __future__ import annotations

import pytest

from a2a_gen.support.project_rules import find_line

TEXT = '''name = "x"
"quoted key" = 1

[agent] # the agent
description = """
name = "inside a text"
[auth]
"""
version = "1"
provider.url = "https://x.example"

[[surfaces]]
path = "/a"

[[surfaces]]
path = "/b"

[surfaces.more]
deep = { path = 1 }

[ auth."my.staff" ]
kind = 'jwt'
'''
PLACES = {
    "at the top": (["name"], 1),
    "quoted": (["quoted key"], 2),
    "a table": (["agent"], 4),
    "after a text of many lines": (["agent", "version"], 9),
    "a dotted key": (["agent", "provider", "url"], 10),
    "the first of a list": (["surfaces", 0, "path"], 13),
    "the second of a list": (["surfaces", 1, "path"], 16),
    "a table within a list": (["surfaces", 1, "more", "deep"], 19),
    "within a value": (["surfaces", 1, "more", "deep", "path"], 19),
    "a quoted table": (["auth", "my.staff", "kind"], 22),
    "what is missing in a table": (["agent", "name"], 4),
    "what is missing in a list": (["surfaces", 0, "auth"], 12),
    "what is nowhere": (["skills"], 1),
}


@pytest.mark.parametrize(("path", "line"), PLACES.values(), ids=PLACES.keys())
def test_a_setting_has_a_line(path: list[str | int], line: int) -> None:
    """Its own, or that of the nearest table around it."""
    assert find_line(TEXT, path) == line

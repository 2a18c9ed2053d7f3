"""Loader of ``.sql`` files.

A file consists of named sections, each with a comment that gives the reason and one statement::

    -- name: load_task
    -- The newest generation only.
    SELECT ...

Python code contains only the names of sections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

_NAME = re.compile(r"^--[ \t]*name:[ \t]*(\w+)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*--.*\n?", re.MULTILINE)


def load(package: str, *names: str) -> Mapping[str, str]:
    """Load the sections of files in a package."""
    sections: dict[str, str] = {}
    for name in names:
        found = parse(files(package).joinpath(name).read_text(encoding="utf-8"), name)
        twice = sorted(sections.keys() & found.keys())
        if twice:
            raise ValueError(
                f"{name}: sections that another file already has: {', '.join(twice)}; rename them"
            )
        sections.update(found)
    return MappingProxyType(sections)


def parse(text: str, source: str) -> dict[str, str]:
    """Split a text into its sections, without comments; ``source`` names it in errors."""
    head, *rest = _NAME.split(text)
    if _COMMENT.sub("", head).strip():
        raise ValueError(f"{source}: statement before the first name; add `-- name:`")
    sections: dict[str, str] = {}
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        statement = _COMMENT.sub("", body).strip().removesuffix(";")
        if not statement:
            raise ValueError(f"{source}: section {name} is empty; add a statement")
        if name in sections:
            raise ValueError(f"{source}: section {name} is defined twice; rename one")
        sections[name] = statement
    return sections

"""SQL lives in ``.sql`` files beside the code that runs it; this reads them.

A file consists of named sections, each a comment that says why and one statement::

    -- name: load_task
    -- The newest generation only.
    SELECT ...

Python names a section and knows nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

_NAME = re.compile(r"^--[ \t]*name:[ \t]*(\w+)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*--.*\n?", re.MULTILINE)


def load(package: str, *names: str) -> Mapping[str, str]:
    """Read the sections of some files of a package."""
    sections: dict[str, str] = {}
    for name in names:
        found = parse(files(package).joinpath(name).read_text(encoding="utf-8"), name)
        twice = sorted(sections.keys() & found.keys())
        if twice:
            raise ValueError(f"{name}: named in another file already: {', '.join(twice)}")
        sections.update(found)
    return MappingProxyType(sections)


def parse(text: str, source: str) -> dict[str, str]:
    """Cut a text into its sections, without comments; ``source`` names it in errors."""
    head, *rest = _NAME.split(text)
    if _COMMENT.sub("", head).strip():
        raise ValueError(f"{source}: a statement stands before the first name")
    sections: dict[str, str] = {}
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        statement = _COMMENT.sub("", body).strip().removesuffix(";")
        if not statement:
            raise ValueError(f"{source}: {name} is empty")
        if name in sections:
            raise ValueError(f"{source}: {name} stands there twice")
        sections[name] = statement
    return sections

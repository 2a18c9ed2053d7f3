"""Which names a generated package can have: one that Python can say, and that stands in the way of no other."""

from __future__ import annotations

import sys
from keyword import iskeyword

_OURS = frozenset({"a2a_contract", "a2a_gen", "a2a_runtime"})


def objection(name: str) -> str | None:
    """Say why nothing can be imported by a name without dots; ``None`` when something can."""
    if not name.isidentifier():
        return f"{name!r} is no name in Python"
    return f"{name!r} is a word of Python itself" if iskeyword(name) else None


def objection_to_package(package: str) -> str | None:
    """Say why a package cannot have its whole name: Python cannot say it, or somebody else has it."""
    first, *others = package.split(".")
    for name in (first, *others):
        if why := objection(name):
            return why
    if first in sys.stdlib_module_names:
        return f"{first!r} is a module of Python itself"
    return f"{first!r} is a package that agents need themselves" if first in _OURS else None

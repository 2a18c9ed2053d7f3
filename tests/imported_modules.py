"""Modules that tests import from packages that they make: the next test may make another package of
that name.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path


def forget_packages(*names: str) -> None:
    """Forget packages and all below them."""
    for name in [each for each in sys.modules if each.partition(".")[0] in names]:
        del sys.modules[name]


def forget_modules_below(folder: Path, kept: Collection[str] = ()) -> None:
    """Forget what was imported from a folder, but for some modules."""
    found = [
        name
        for name, module in sys.modules.items()
        if (getattr(module, "__file__", None) or "").startswith(str(folder))
    ]
    for name in found:
        if name not in kept:
            del sys.modules[name]

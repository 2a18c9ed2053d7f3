"""The hand-written files that generated code needs, copied word for word below a header."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from a2a_gen.emit.render import header

_FOLDER: Final = Path(__file__).parent.parent / "support"


def emit() -> dict[str, bytes]:
    """Copy every file of ``a2a_gen/support``, by path relative to the package."""
    files = sorted(file for file in _FOLDER.glob("*.py") if file.name != "__init__.py")
    return {file.name: f"{header([f'a2a_gen/support/{file.name}'])}\n{file.read_text(encoding='utf-8')}".encode() for file in files}

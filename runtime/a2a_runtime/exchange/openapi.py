"""The paths of surfaces for an OpenAPI 3.1 document, colon paths included."""

from __future__ import annotations

from collections.abc import Sequence

from litestar import Litestar

from a2a_runtime.surface import Surface


def add_paths(app: Litestar, surfaces: Sequence[Surface]) -> None:
    """Add."""

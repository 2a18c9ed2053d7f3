"""Base of the models of ``a2a.toml``.

Its schema has checked the values before; a model holds them under typed names.
"""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict


class ConfigTable(BaseModel):
    """A table of settings; it has no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Number: TypeAlias = float
"""A number."""

Json: TypeAlias = object
"""Any value."""

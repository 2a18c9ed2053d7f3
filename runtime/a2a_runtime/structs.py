"""Frozen dataclasses that are as cheap to construct as mutable ones.

A frozen dataclass sets its fields through ``object.__setattr__``, which makes construction three times as slow: for the dozen small values of a
message that cost more than writing its task. A ``struct`` is frozen for type checkers only, which check this project and those that use it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """Make a dataclass that type checkers treat as frozen."""
    return dataclass(slots=True, unsafe_hash=True)(cls)

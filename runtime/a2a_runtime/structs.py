"""Frozen values that cost no more to make than others.

A frozen dataclass sets each of its fields by a detour, so that nobody else can set one, and takes three times as long to be made: for the dozen small
values of a message that was more than for writing its task. A ``value`` is frozen for type checkers, which see every assignment in this project and
in those that use it, and at run time nobody pays for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """Make a dataclass that is frozen by agreement."""
    return dataclass(slots=True, unsafe_hash=True)(cls)

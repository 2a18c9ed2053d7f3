"""What callers have to prove: by whom it is asked for, and as cards say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from a2a_contract.v1_0 import SecurityRequirement, StringList

Requirement: TypeAlias = Mapping[str, Sequence[str]]
"""Names of schemes, each with the scopes or roles that are needed; all of them at once."""


def described(requirement: Requirement) -> SecurityRequirement:
    """Say a requirement as the card has it."""
    return SecurityRequirement(schemes={name: StringList(list_=list(scopes) or None) for name, scopes in requirement.items()})

"""All rules by id; ``docs/rules.md`` is generated from this table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

from a2a_gen.diff.rules.agents import RULES as AGENTS
from a2a_gen.diff.rules.annotations import RULES as ANNOTATIONS
from a2a_gen.diff.rules.applicators import RULES as APPLICATORS
from a2a_gen.diff.rules.bounds import RULES as BOUNDS
from a2a_gen.diff.rules.closed import RULES as CLOSED
from a2a_gen.diff.rules.containment import RULES as CONTAINMENT
from a2a_gen.diff.rules.definitions import RULES as DEFINITIONS
from a2a_gen.diff.rules.enums import RULES as ENUMS
from a2a_gen.diff.rules.operations import RULES as OPERATIONS
from a2a_gen.diff.rules.presence import RULES as PRESENCE
from a2a_gen.diff.rules.properties import RULES as PROPERTIES
from a2a_gen.diff.rules.python import RULES as PYTHON
from a2a_gen.diff.rules.rule import ChangeRule
from a2a_gen.diff.rules.texts import RULES as TEXTS
from a2a_gen.diff.rules.types import RULES as TYPES
from a2a_gen.diff.rules.unions import RULES as UNIONS

_FAMILIES = (
    AGENTS,
    OPERATIONS,
    DEFINITIONS,
    PROPERTIES,
    TYPES,
    TEXTS,
    ENUMS,
    BOUNDS,
    UNIONS,
    PRESENCE,
    CLOSED,
    APPLICATORS,
    CONTAINMENT,
    ANNOTATIONS,
    PYTHON,
)

_BY_CODE = sorted(chain.from_iterable(_FAMILIES), key=lambda rule: rule.code)

TABLE: Mapping[str, ChangeRule] = MappingProxyType({rule.id: rule for rule in _BY_CODE})

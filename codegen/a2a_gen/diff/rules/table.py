"""Every rule there is, by its id; ``docs/rules.md`` is written from this table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from a2a_gen.diff.rules import (
    agents,
    annotations,
    applicators,
    bounds,
    closed,
    definitions,
    enums,
    operations,
    presence,
    properties,
    python,
    texts,
    types,
    unions,
)
from a2a_gen.diff.rules.rule import Rule

_FAMILIES = (
    agents, operations, definitions, properties, types, texts, enums, bounds, unions, presence, closed, applicators, annotations, python,
)  # fmt: skip

TABLE: Mapping[str, Rule] = MappingProxyType(
    {rule.id: rule for rule in sorted((each for family in _FAMILIES for each in family.RULES), key=lambda each: each.code)}
)

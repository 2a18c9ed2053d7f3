"""Base classes of models generated from the schemas of skills.

    SkillModel       unknown members are kept in ``model_extra`` and serialized again
    └── ClosedModel  unknown members are rejected

The schema decides: an object allows other members unless it forbids them.
"""

from __future__ import annotations

from pydantic import ConfigDict

from a2a_contract.schema_models import (
    BranchSelector,
    DefaultValue,
    Json,
    Number,
    RestItems,
    SchemaModel,
)
from a2a_contract.text_formats import (
    Base16Text,
    Base64Text,
    BinaryText,
    DateText,
    DateTimeText,
    DurationText,
    TimeText,
    UuidText,
)

__all__ = [
    "Base16Text",
    "Base64Text",
    "BinaryText",
    "BranchSelector",
    "ClosedModel",
    "DateText",
    "DateTimeText",
    "DefaultValue",
    "DurationText",
    "Json",
    "Number",
    "RestItems",
    "SkillModel",
    "TimeText",
    "UuidText",
]


class SkillModel(SchemaModel):
    """A JSON object of a skill."""


class ClosedModel(SkillModel):
    """A JSON object without additional members."""

    model_config = ConfigDict(extra="forbid")

"""The names that generated models use, in one module."""

from .json_types import NO_ITEMS, NO_MEMBERS, JsonMembers
from .model import Encoded, Oneof, OpenEnum, OpenModel, WireEnum, WireModel
from .requirements import Requirement, check_requirements, meets_requirements
from .scalars import (
    JSON_NULL,
    Base64,
    Integer,
    JsonAny,
    JsonChoice,
    JsonNull,
    JsonObject,
    Number,
    Timestamp,
    base64_text,
    timestamp_from_text,
    timestamp_text,
)
from .unions import AnyOf, UnionByMember

__all__ = [
    "JSON_NULL",
    "NO_ITEMS",
    "NO_MEMBERS",
    "AnyOf",
    "Base64",
    "Encoded",
    "Integer",
    "JsonAny",
    "JsonChoice",
    "JsonMembers",
    "JsonNull",
    "JsonObject",
    "Number",
    "Oneof",
    "OpenEnum",
    "OpenModel",
    "Requirement",
    "Timestamp",
    "UnionByMember",
    "WireEnum",
    "WireModel",
    "base64_text",
    "check_requirements",
    "meets_requirements",
    "timestamp_from_text",
    "timestamp_text",
]

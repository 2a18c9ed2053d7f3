"""What generated code is made of, under one name."""

from .model import Encoded, Oneof, OpenEnum, OpenModel, WireEnum, WireModel
from .requirements import Demand, demand
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
from .unions import AnyOf, ToldApart

__all__ = [
    "JSON_NULL",
    "AnyOf",
    "Base64",
    "Demand",
    "Encoded",
    "Integer",
    "JsonAny",
    "JsonChoice",
    "JsonNull",
    "JsonObject",
    "Number",
    "Oneof",
    "OpenEnum",
    "OpenModel",
    "Timestamp",
    "ToldApart",
    "WireEnum",
    "WireModel",
    "base64_text",
    "demand",
    "timestamp_from_text",
    "timestamp_text",
]

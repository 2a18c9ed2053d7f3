"""What generated code is made of, under one name."""

from .demands import Demand, demand
from .encoded import Encoded
from .free_json import JSON_NULL, JsonAny, JsonChoice, JsonNull, JsonObject
from .model import Oneof, OpenModel, WireModel
from .scalars import Base64, Integer, Number, Timestamp, base64_text, timestamp_from_text, timestamp_text
from .unions import AnyOf, ToldApart
from .words import OpenEnum, WireEnum

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

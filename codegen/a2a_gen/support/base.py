"""What generated code is made of, under one name."""

from .demands import Demand, demand
from .encoded import Encoded
from .free_json import JSON_NULL, JsonAny, JsonChoice, JsonNull, JsonObject
from .model import Oneof, OpenModel, WireModel
from .scalars import Base64, Timestamp, base64_text, timestamp_from_text, timestamp_text
from .unions import ToldApart
from .words import OpenEnum, WireEnum

__all__ = [
    "JSON_NULL",
    "Base64",
    "Demand",
    "Encoded",
    "JsonAny",
    "JsonChoice",
    "JsonNull",
    "JsonObject",
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

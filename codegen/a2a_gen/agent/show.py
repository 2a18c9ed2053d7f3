"""The intermediate form of an agent as JSON, for people: what the generator made of the schemas."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum

from a2a_gen.agent.contract import AgentIR


def to_json(agent: AgentIR) -> bytes:
    """Write skills and types as readable JSON: the same everywhere."""
    shown = {
        "agent": agent.class_name,
        "skills": agent.skills,
        "types": {name: {"file": file, "module": agent.modules[name], "shape": shape} for name, (file, shape) in sorted(agent.definitions.items())},
    }
    return json.dumps(shown, default=_shown, ensure_ascii=False, indent=2).encode() + b"\n"


def _shown(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is no part of an agent")
    members = {field.name: getattr(value, field.name) for field in fields(value)}
    return {"is": type(value).__name__} | {name: each for name, each in members.items() if each not in (None, "", b"", (), {})}

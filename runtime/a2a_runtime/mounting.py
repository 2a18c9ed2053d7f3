"""What generated agents are mounted with: words of an ``a2a.toml`` as what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from a2a_contract.dialects import DIALECTS
from a2a_runtime.auth.gate import BEARER as _BEARER
from a2a_runtime.auth.gate import Gate, PresenceGate

BEARER: Mapping[str, Gate] = MappingProxyType({_BEARER: PresenceGate()})
"""The gates that need no settings."""


def dialects_of(*versions: str) -> frozenset[str]:
    """Find dialects by their versions, or by their names where they have none."""
    return frozenset(map(_dialect, versions))


def function_of(name: str) -> Callable[..., object]:
    """Import what is named as ``module:name``: a function, or a class."""
    module, _, attributes = name.partition(":")
    found: object = import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    if not callable(found):
        raise TypeError(f"{name} is neither a function nor a class")
    return found


def _dialect(version: str) -> str:
    found = next((each.name for each in DIALECTS.values() if version in {each.version, each.name} and each.form_of is None), None)
    if found is None:
        known = ", ".join(each.version or each.name for each in DIALECTS.values() if not each.form_of)
        raise ValueError(f"dialects: {version!r} is not known; there are {known}")
    return found

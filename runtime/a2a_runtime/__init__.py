"""The runtime of A2A agents: serves the operations that the generated contract describes.

The names that most agents need are here; each is loaded on first use, so that importing one part does not load the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_runtime.agent import Agent
    from a2a_runtime.app import create_app
    from a2a_runtime.auth.authentication import Identity
    from a2a_runtime.auth.gate import AuthGate
    from a2a_runtime.plugin import A2APlugin
    from a2a_runtime.settings import Settings
    from a2a_runtime.surface import Limits, Surface

__all__ = ["A2APlugin", "Agent", "AuthGate", "Identity", "Limits", "Settings", "Surface", "create_app"]

_MODULES = {
    "A2APlugin": "plugin",
    "Agent": "agent",
    "AuthGate": "auth.gate",
    "Identity": "auth.authentication",
    "Limits": "surface",
    "Settings": "settings",
    "Surface": "surface",
    "create_app": "app",
}


if not TYPE_CHECKING:  # type checkers would take any name for an attribute of this module

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

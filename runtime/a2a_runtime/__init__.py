"""The runtime of A2A agents: serves the operations that the generated contract describes.

The names that most agents need are here; each is loaded on first use, so that importing one part does not load the others.
"""

from typing import TYPE_CHECKING

from a2a_runtime.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.agent import Agent
    from a2a_runtime.app import create_app
    from a2a_runtime.auth.authentication import Identity
    from a2a_runtime.auth.gate import AuthGate
    from a2a_runtime.caller import Caller
    from a2a_runtime.interfaces import GrpcOptions
    from a2a_runtime.plugin import A2APlugin
    from a2a_runtime.settings import Settings
    from a2a_runtime.surface import Limits, RouteOptions, Surface

__all__ = ["A2APlugin", "Agent", "AuthGate", "Caller", "GrpcOptions", "Identity", "Limits", "RouteOptions", "Settings", "Surface", "create_app"]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute of this module
    __getattr__ = lazy_names(__name__, __all__, "settings", "caller", "auth", "agent", "interfaces", "surface", "plugin", "app")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

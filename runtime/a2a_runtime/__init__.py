"""The runtime of A2A agents: serves the operations that the generated contract describes.

The names that most agents need are here; each is loaded on first use, from the module that has it,
so that one name does not load the others.
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import names_by_module

if TYPE_CHECKING:
    from a2a_runtime.agent import Agent, Capabilities
    from a2a_runtime.app import create_app
    from a2a_runtime.auth.authentication import Credentials, Identity
    from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
    from a2a_runtime.auth.gate import AuthGate, OpenGate, PresenceGate
    from a2a_runtime.auth.host import host_user
    from a2a_runtime.auth.rate_limit import ANY_OPERATION, RateLimit, RateLimiter
    from a2a_runtime.base.caller import Caller
    from a2a_runtime.base.logs import build_formatter
    from a2a_runtime.client import (
        GRPC,
        A2AClient,
        ClientCredentials,
        ClientOptions,
        OnBehalfOf,
        Pin,
        SendOptions,
        TrustedIssuers,
    )
    from a2a_runtime.client.signatures import CardVerifier
    from a2a_runtime.engine.handlers.context import TaskContext
    from a2a_runtime.engine.handlers.jobs import BackgroundJob
    from a2a_runtime.engine.handlers.results import LastChunk
    from a2a_runtime.engine.handlers.usage import read_usage
    from a2a_runtime.errors import TaskNotAcceptingMessagesError
    from a2a_runtime.features.grpc.options import GrpcOptions
    from a2a_runtime.features.keys.card_signatures import TrustStore
    from a2a_runtime.features.keys.jwks import JwksKeys, OidcKeys
    from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator, JwtValidation
    from a2a_runtime.features.keys.verification import keys_from_pem, keys_from_secret
    from a2a_runtime.features.push.verification import TrustedSender
    from a2a_runtime.features.sources import SkillDescriptor, SkillSource
    from a2a_runtime.http.access_log import AccessLog
    from a2a_runtime.local import connect, release
    from a2a_runtime.plugin import A2APlugin
    from a2a_runtime.settings import Settings
    from a2a_runtime.starlette import mount_agents
    from a2a_runtime.surface import Limits, RouteOptions, Surface

__all__ = [
    "ANY_OPERATION",
    "GRPC",
    "A2AClient",
    "A2APlugin",
    "AccessLog",
    "Agent",
    "ApiKeyAuthenticator",
    "AuthGate",
    "BackgroundJob",
    "Caller",
    "Capabilities",
    "CardVerifier",
    "ClientCredentials",
    "ClientOptions",
    "Credentials",
    "GrpcOptions",
    "Identity",
    "JwksKeys",
    "JwtAuthenticator",
    "JwtValidation",
    "LastChunk",
    "Limits",
    "OidcKeys",
    "OnBehalfOf",
    "OpenGate",
    "Pin",
    "PresenceGate",
    "RateLimit",
    "RateLimiter",
    "RouteOptions",
    "SendOptions",
    "Settings",
    "SkillDescriptor",
    "SkillSource",
    "Surface",
    "TaskContext",
    "TaskNotAcceptingMessagesError",
    "TrustStore",
    "TrustedIssuers",
    "TrustedSender",
    "build_formatter",
    "connect",
    "create_app",
    "digest_key",
    "host_user",
    "keys_from_pem",
    "keys_from_secret",
    "mount_agents",
    "read_usage",
    "release",
]

_MODULES = {
    "agent": ("Agent", "Capabilities"),
    "app": ("create_app",),
    "auth.authentication": ("Credentials", "Identity"),
    "auth.authenticators": ("ApiKeyAuthenticator", "digest_key"),
    "auth.gate": ("AuthGate", "OpenGate", "PresenceGate"),
    "auth.host": ("host_user",),
    "features.keys.jwks": ("JwksKeys", "OidcKeys"),
    "features.keys.jwt_tokens": ("JwtAuthenticator", "JwtValidation"),
    "features.keys.verification": ("keys_from_pem", "keys_from_secret"),
    "auth.rate_limit": ("ANY_OPERATION", "RateLimit", "RateLimiter"),
    "base.caller": ("Caller",),
    "client": (
        "GRPC",
        "A2AClient",
        "ClientCredentials",
        "ClientOptions",
        "OnBehalfOf",
        "Pin",
        "SendOptions",
        "TrustedIssuers",
    ),
    "client.signatures": ("CardVerifier",),
    "features.keys.card_signatures": ("TrustStore",),
    "errors": ("TaskNotAcceptingMessagesError",),
    "engine.handlers.context": ("TaskContext",),
    "engine.handlers.jobs": ("BackgroundJob",),
    "engine.handlers.results": ("LastChunk",),
    "engine.handlers.usage": ("read_usage",),
    "http.access_log": ("AccessLog",),
    "features.grpc.options": ("GrpcOptions",),
    "local": ("connect", "release"),
    "base.logs": ("build_formatter",),
    "plugin": ("A2APlugin",),
    "features.push.verification": ("TrustedSender",),
    "settings": ("Settings",),
    "features.sources": ("SkillDescriptor", "SkillSource"),
    "starlette": ("mount_agents",),
    "surface": ("Limits", "RouteOptions", "Surface"),
}

# type checkers would take any name for an attribute of this module
if not TYPE_CHECKING:
    __getattr__ = names_by_module(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Authentication of callers, and limits on how often they call.

    gate ──────────── Gate.admit: Credentials ──► Caller;
      │               open, by a platform, presence, or by authenticators
      ├─ host ─────── callers that the application authenticates in which the agent is mounted
      ├─ rate_limit ─ requests per caller; failed attempts per address
      └─ authentication ── the Authenticator port, Identity, Credentials
            └─ authenticators ── API keys, HTTP Basic, client certificates
                 └─ tables ───── what their tables in a2a.toml share

The gate of a surface is the only place that protects it: the card and the OpenAPI document are
generated from it. Nothing here knows paths, so no path can be left out.

Names are loaded on first use. Bearer tokens are in ``features.keys``: they need PyJWT and httpx
(extra ``auth``), which other agents do not install.
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.auth.authentication import (
        Authenticator,
        Credentials,
        Identity,
        InvalidCredentialsError,
    )
    from a2a_runtime.auth.authenticators import (
        ApiKeyAuthenticator,
        BasicAuthenticator,
        KeyLocation,
        MtlsAuthenticator,
        User,
        digest_key,
        generate_key,
        hash_password,
    )
    from a2a_runtime.auth.gate import (
        ANONYMOUS,
        AuthGate,
        Gate,
        OpenGate,
        PlatformGate,
        PresenceGate,
    )
    from a2a_runtime.auth.host import HostCaller, host_user
    from a2a_runtime.auth.rate_limit import (
        ANY_OPERATION,
        FailedAttemptLimiter,
        RateLimit,
        RateLimiter,
    )
    from a2a_runtime.features.keys.jwks import JwksKeys, KeyCachePolicy, OidcKeys
    from a2a_runtime.features.keys.jwt_tokens import ClaimNames, JwtAuthenticator, JwtValidation
    from a2a_runtime.features.keys.verification import (
        KeySet,
        keys_from_jwks,
        keys_from_pem,
        keys_from_secret,
    )

__all__ = [
    "ANONYMOUS",
    "ANY_OPERATION",
    "ApiKeyAuthenticator",
    "AuthGate",
    "Authenticator",
    "BasicAuthenticator",
    "ClaimNames",
    "Credentials",
    "FailedAttemptLimiter",
    "Gate",
    "HostCaller",
    "Identity",
    "InvalidCredentialsError",
    "JwksKeys",
    "JwtAuthenticator",
    "JwtValidation",
    "KeyCachePolicy",
    "KeyLocation",
    "KeySet",
    "MtlsAuthenticator",
    "OidcKeys",
    "OpenGate",
    "PlatformGate",
    "PresenceGate",
    "RateLimit",
    "RateLimiter",
    "User",
    "digest_key",
    "generate_key",
    "hash_password",
    "host_user",
    "keys_from_jwks",
    "keys_from_pem",
    "keys_from_secret",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        __all__,
        "authentication",
        "authenticators",
        "gate",
        "host",
        "rate_limit",
        ".features.keys.verification",
        ".features.keys.jwt_tokens",
        ".features.keys.jwks",
    )

"""What ``WWW-Authenticate`` says to a caller who was refused: which schemes there are, and what was wrong with the proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from a2a_contract.v1_0 import SecurityScheme
from a2a_runtime.auth.identity import RefusedError


def challenge_of(schemes: Sequence[SecurityScheme]) -> Callable[[RefusedError | None], str]:
    """Make what writes the challenge; the list of schemes does not change, what is wrong with a proof does."""
    words = list(dict.fromkeys(_word(scheme) for scheme in schemes)) or ["Bearer"]
    plain = ", ".join(words)

    def write(refused: RefusedError | None) -> str:
        if refused is None or words[0] != "Bearer":
            return plain
        said = refused.reason.encode("ascii", "replace").decode().replace("\\", "").replace('"', "'")
        return ", ".join((f'Bearer error="invalid_token", error_description="{said}"', *words[1:]))

    return write


def _word(scheme: SecurityScheme) -> str:
    """Name a scheme as HTTP does; proofs that HTTP has no name for are called by where they stand."""
    if scheme.http_auth_security_scheme is not None:
        name = scheme.http_auth_security_scheme.scheme.capitalize()
        return 'Basic realm="agent", charset="UTF-8"' if name == "Basic" else name
    if scheme.api_key_security_scheme is not None:
        key = scheme.api_key_security_scheme
        return f'ApiKey in="{key.location}", name="{key.name}"'
    return "Mutual" if scheme.mtls_security_scheme is not None else "Bearer"

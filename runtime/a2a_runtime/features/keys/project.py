"""Tokens in an ``a2a.toml``: the authenticator of a table ``[auth.*]`` of the kind ``jwt``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_contract.v1_0 import OAuthFlows
from a2a_runtime.features.keys import jwks, jwt_tokens, verification

if TYPE_CHECKING:
    from a2a_contract.auth_tables import JwtTable


def build_jwt(
    name: str, table: JwtTable, folder: Path, environment: Mapping[str, str]
) -> jwt_tokens.JwtAuthenticator:
    """Build the authenticator of a table of tokens, which fetches nothing yet."""
    default: tuple[str, ...] = jwt_tokens.DEFAULT_ALGORITHMS
    if table.secret_env:
        default = ("HS256",)
    elif table.public_key:
        default = ("RS256",)
    algorithms = tuple(table.algorithms or default)
    resolver: verification.KeyResolver
    if table.secret_env:
        if table.secret_env not in environment:
            raise ValueError(
                f"the environment variable {table.secret_env} is not set; set it to the secret"
            )
        secret = environment[table.secret_env]
        resolver = verification.keys_from_secret(secret, algorithms[0])
    elif table.public_key:
        pem = _read_bytes(folder / table.public_key)
        keys = (verification.keys_from_pem(pem, each) for each in algorithms)
        resolver = sum(keys, verification.KeySet())
    elif table.keys:
        resolver = jwks.JwksKeys(table.keys)
    else:
        resolver = jwks.OidcKeys(table.issuer)
    validation = jwt_tokens.JwtValidation(table.issuer, table.audience, algorithms, table.leeway)
    claim_names = jwt_tokens.ClaimNames(tenant=table.tenant_claim, team=table.team_claim)
    url = jwks.discovery_url(table.issuer) if table.discover else None
    flows = None
    if table.oauth2:
        flows = OAuthFlows.model_validate(table.oauth2.model_dump(exclude_none=True))
    return jwt_tokens.JwtAuthenticator(
        resolver, validation, claim_names, name, url, flows, table.keep_token
    )


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{file}: {error.strerror}; the path starts at the folder of a2a.toml"
        ) from None

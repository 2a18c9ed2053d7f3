"""Gates of an ``a2a.toml``."""

from __future__ import annotations

import time
import tomllib
from inspect import signature
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from unit.auth.conftest import build_bearer, build_credentials
from unit.auth.test_basic import build_basic_header

from a2a_contract.auth_tables import FailedAttemptsTable
from a2a_runtime.auth.authenticators import digest_key, hash_password
from a2a_runtime.auth.gate import (
    ANONYMOUS,
    ChallengeError,
    DescribableGate,
    InsufficientScopeError,
    PlatformGate,
)
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter, RateLimit, TooManyRequestsError
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.project.auth import build_gates
from a2a_runtime.features.project.errors import ConfigError
from a2a_runtime.features.project.file import parse_auth

pytestmark = pytest.mark.anyio

SECRET = "s" * 40
HASH = hash_password("correct horse")
TOML = f"""
[staff]
kind = "jwt"
issuer = "https://id.example"
audience = "reports"
secret_env = "TOKEN_SECRET"
scopes = ["reports"]
tenant_claim = "org"

[pinned]
kind = "jwt"
issuer = "https://id.example"
audience = "reports"
public_key = "issuer.pem"
algorithms = ["ES256"]

[jobs]
kind = "api-keys"
keys = {{ {digest_key("k")} = "nightly" }}
scopes = ["reports"]

[people]
kind = "basic"
users = {{ ada = "{HASH}" }}
scopes = ["reports"]
failed_attempts = {{ per_name = 2, seconds = 60 }}

[machines]
kind = "mutual-tls"
trusted_proxies = ["192.0.2.0/28"]
callers = {{ "CN=box,O=Acme" = "box" }}
scopes = ["reports"]

[all]
any_of = ["staff", "jobs"]
anonymous = true

[both]
any_of = [["machines", "people"], "jobs"]
"""
CLAIMS = {
    "sub": "ada",
    "iss": "https://id.example",
    "aud": "reports",
    "exp": int(time.time()) + 86_400,
    "org": "acme",
}
PRIVATE = generate_private_key(SECP256R1())


@pytest.fixture
def gates(tmp_path: Path) -> dict[str, DescribableGate]:
    """The gates of a project."""
    (tmp_path / "issuer.pem").write_bytes(
        PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    made = build_gates(parse_auth(tomllib.loads(TOML)), tmp_path, {"TOKEN_SECRET": SECRET})
    return {name: gate for name, gate in made.items() if isinstance(gate, DescribableGate)}


def test_a_gate_is_built_from_its_table(gates: dict[str, DescribableGate]) -> None:
    """Tokens by a secret or a public key, API keys by their digests, and several schemes at
    once.
    """
    token = build_bearer(jwt.encode({**CLAIMS, "scope": "reports"}, SECRET, "HS256"))
    caller = gates["staff"].admit(token)
    assert isinstance(caller, Caller)
    assert (caller.subject, caller.tenant) == ("ada", "acme")
    with pytest.raises(InsufficientScopeError):
        gates["staff"].admit(build_bearer(jwt.encode(CLAIMS, SECRET, "HS256")))
    assert isinstance(
        gates["pinned"].admit(build_bearer(jwt.encode(CLAIMS, PRIVATE, "ES256"))), Caller
    )
    key = build_credentials(("x-api-key", "k"))
    assert isinstance(gates["jobs"].admit(key), Caller)
    with pytest.raises(ChallengeError):
        gates["jobs"].admit(token)
    subjects = [
        found.subject
        for each in (token, key, build_credentials())
        if isinstance(found := gates["all"].admit(each), Caller)
    ]
    assert subjects == ["staff:ada", "jobs:nightly", ANONYMOUS.subject]
    assert list(gates["all"].security_schemes()) == ["staff", "jobs"]


BOX = (("x-ssl-client-verify", "SUCCESS"), ("x-ssl-client-s-dn", "CN=box,O=Acme"))


async def test_passwords_and_certificates_are_kinds(gates: dict[str, DescribableGate]) -> None:
    """Callers that the file names have the required scopes; a nested list means all of its
    entries.
    """
    caller = await admit(gates["people"], build_basic_header("ada:correct horse"))
    assert (caller.subject, caller.satisfies({"people": ["reports"]})) == ("ada", True)
    assert (await admit(gates["machines"], *BOX)).subject == "box"
    with pytest.raises(ChallengeError, match="The subject of the certificate is unknown"):
        await admit(gates["machines"], BOX[0], ("x-ssl-client-s-dn", "CN=eve,O=Acme"))
    with pytest.raises(ChallengeError, match="not reported by a trusted proxy"):
        gates["machines"].admit(build_credentials(*BOX, client="198.51.100.1"))
    assert (
        await admit(gates["both"], *BOX, build_basic_header("ada:correct horse"))
    ).subject == "machines:box"
    with pytest.raises(ChallengeError):
        await admit(gates["both"], *BOX)
    schemes = {name: scheme.to_dict() for name, scheme in gates["both"].security_schemes().items()}
    assert schemes["people"] == {"httpAuthSecurityScheme": {"scheme": "Basic"}}
    assert "mtlsSecurityScheme" in schemes["machines"]


async def test_failed_attempts_are_limited_by_the_table(gates: dict[str, DescribableGate]) -> None:
    """After two wrong passwords for a name, a third one is not checked."""
    for number in range(2):
        with pytest.raises(ChallengeError):
            await admit(gates["people"], build_basic_header(f"ada:{number}"))
    with pytest.raises(TooManyRequestsError):
        await admit(gates["people"], build_basic_header("ada:correct horse"))


def test_a_platform_is_a_gate_with_a_name(tmp_path: Path) -> None:
    """The name is that of its table; it admits every client that arrives."""
    gate = build_gates(parse_auth(tomllib.loads('[cloud-run]\nkind = "platform"')), tmp_path, {})[
        "cloud-run"
    ]
    assert isinstance(gate, PlatformGate)
    assert (gate.name, gate.admit(build_credentials())) == ("cloud-run", ANONYMOUS)


def test_failed_attempts_may_be_unlimited() -> None:
    """With ``failed_attempts = false``, guesses are not limited."""
    keys = tomllib.loads(
        f'[k]\nkind = "api-keys"\nkeys = {{ {digest_key("k")} = "job" }}\nfailed_attempts = false'
    )
    gate = build_gates(parse_auth(keys), Path(), {})["k"]
    for number in range(60):
        with pytest.raises(ChallengeError):
            gate.admit(build_credentials(("x-api-key", f"wrong {number}")))
    assert isinstance(gate.admit(build_credentials(("x-api-key", "k"))), Caller)


def test_the_schema_has_the_limit_of_the_authenticators() -> None:
    """An entry without ``failed_attempts`` is limited as one with an empty table."""
    table = FailedAttemptsTable()
    parameters = signature(FailedAttemptLimiter).parameters
    assert parameters["per_name"].default == RateLimit(table.per_name, table.seconds)
    assert parameters["per_address"].default == RateLimit(table.per_address, table.seconds)


async def admit(gate: DescribableGate, *headers: tuple[str, str]) -> Caller:
    """Pass a request through a gate."""
    answer = gate.admit(build_credentials(*headers))
    if isinstance(answer, Caller):
        return answer
    return await answer


JWT = 'kind = "jwt"\nissuer = "i"\naudience = "a"\n'
WRONG: dict[str, tuple[str, str]] = {
    "no keys": (f"[a]\n{JWT}", "one of discover, keys, public_key, secret_env"),
    "two sources": (f'[a]\n{JWT}discover = true\nkeys = "https://x.example"', "one of discover"),
    "no secret": (f'[a]\n{JWT}secret_env = "NOPE"', "the environment variable NOPE is not set"),
    "keys in the open": (f'[a]\n{JWT}keys = "http://x.example"', "keys need https"),
    "setting that is misspelt is not missing too": (
        '[a]\nkind = "jwt"\nissuer = "https://i.example"\ndiscover = true\naudence = "x"',
        r"^auth\.a\.audence: unknown setting; did you mean audience\?$",
    ),
    "setting that is not there": (
        f'[a]\n{JWT}discover = true\nissuer2 = "x"',
        r"auth.a.issuer2: unknown setting; did you mean issuer\?",
    ),
    "setting that is missing": ('[a]\nkind = "jwt"', 'auth.a.issuer: missing; add issuer = "…"'),
    "no kind": ("[a]", "auth.a.kind: missing; use one of jwt, api-keys, basic, mutual-tls"),
    "password in the open": (
        '[a]\nkind = "basic"\nusers = { ada = "hunter2" }',
        "auth.a: BasicAuthenticator: the password of ada is not a scrypt hash",
    ),
    "proxy that is no address": (
        '[a]\nkind = "mutual-tls"\ntrusted_proxies = ["proxy"]',
        "auth.a: 'proxy' does not appear to be",
    ),
    "no proxy": ('[a]\nkind = "mutual-tls"\ntrusted_proxies = []', "auth.a.trusted_proxies: "),
    "scopes of certificates": (
        '[a]\nkind = "mutual-tls"\ntrusted_proxies = ["::1"]\nscopes = ["x"]',
        "auth.a: a certificate has no scopes",
    ),
    "caller without a name": (
        '[a]\nkind = "basic"\nusers = { "team:x" = "y" }',
        "auth.a: 'team:x' is not a valid caller",
    ),
    "no guess at all": (
        '[a]\nkind = "api-keys"\nkeys = {}\nfailed_attempts = { per_name = 0 }',
        "auth.a.failed_attempts",
    ),
    "guesses that are no table": (
        '[a]\nkind = "api-keys"\nkeys = {}\nfailed_attempts = true',
        (
            "^auth.a.failed_attempts: neither a table nor false; write per_name, per_address and "
            "seconds, or false for no limit$"
        ),
    ),
    "setting of guesses that is not there": (
        '[a]\nkind = "api-keys"\nkeys = {}\nfailed_attempts = { often = 1 }',
        (
            "^auth.a.failed_attempts.often: unknown setting; use one of per_name, per_address, "
            "seconds$"
        ),
    ),
    "part that is no name": (
        "[a]\nany_of = [5]",
        (
            r"^auth.a.any_of\[0\]: neither a name nor a list of names; "
            r"name entries of \[auth\] that have a kind$"
        ),
    ),
    "audience that is no text": (
        '[a]\nkind = "jwt"\nissuer = "i"\naudience = 5\ndiscover = true',
        "^auth.a.audience: not a name or a list of names; write",
    ),
    "everything at once": (
        '[a]\nkind = "magic"\n[b]\nany_of = []',
        r"auth.a.kind: .*\nauth.b.any_of: has less than 1 item; list at least 1",
    ),
    "key that is none": ('[a]\nkind = "api-keys"\nkeys = { k = "x" }', "is not a digest"),
    "entry that is no table": ('a = "jwt"', "^auth.a: a text, not a table; write it as a table$"),
    "unknown kind": (
        '[a]\nkind = "magic"',
        "auth.a.kind: unknown kind 'magic'; use one of jwt, api-keys, basic",
    ),
    "no file": (f'[a]\n{JWT}public_key = "nope.pem"', "nope.pem: No such file"),
    "a platform as a part": (
        '[front]\nkind = "platform"\n[a]\nany_of = ["front"]',
        "front is a platform in front, which has no credentials",
    ),
    "unknown part": ('[a]\nany_of = ["b"]', "b is not an entry with a kind"),
    "no part": ("[a]\nany_of = []", "auth.a.any_of: has less than 1 item; list at least 1"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG.keys())
def test_problems_name_their_setting(text: str, said: str, tmp_path: Path) -> None:
    """Each problem of the auth tables names its setting by its path."""
    with pytest.raises(ValueError, match=said):
        build_gates(parse_auth(tomllib.loads(text)), tmp_path, {})


JWT = '[a]\nkind = "jwt"\nissuer = "https://id.example/"\naudience = "reports"\n'
SCHEMES = {
    "discovered": (
        f"{JWT}discover = true",
        {
            "openIdConnectSecurityScheme": {
                "openIdConnectUrl": "https://id.example/.well-known/openid-configuration"
            }
        },
    ),
    "keys only": (
        f'{JWT}keys = "https://id.example/keys"',
        {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
    ),
    "OAuth 2.0": (
        (
            f"{JWT}discover = true\noauth2 = {{ client_credentials = {{ token_url = "
            f'"https://id.example/t", scopes = {{ reports = "Read" }} }} }}'
        ),
        {
            "oauth2SecurityScheme": {
                "flows": {
                    "clientCredentials": {
                        "tokenUrl": "https://id.example/t",
                        "scopes": {"reports": "Read"},
                    }
                }
            }
        },
    ),
}


@pytest.mark.parametrize(("text", "scheme"), SCHEMES.values(), ids=SCHEMES.keys())
def test_the_card_says_how_to_get_a_token(
    text: str, scheme: dict[str, object], tmp_path: Path
) -> None:
    """From a2a.toml alone: OpenID Connect where keys are discovered, or the OAuth 2.0 flow that is
    declared.
    """
    gate = build_gates(parse_auth(tomllib.loads(text)), tmp_path, {})["a"]
    assert isinstance(gate, DescribableGate)
    assert gate.security_schemes()["a"].to_dict() == scheme


@pytest.mark.parametrize(
    "flow",
    [
        "{ client_credentials = { token_ur = 'x' } }",
        "{}",
        "{ clientCredentials = { tokenUrl = 'x' } }",
    ],
)
def test_a_flow_with_unknown_settings_is_refused(flow: str) -> None:
    """A misspelt one would be missing on the card."""
    with pytest.raises(ConfigError, match=r"auth\.a\.oauth2"):
        parse_auth(tomllib.loads(f"{JWT}discover = true\noauth2 = {flow}"))

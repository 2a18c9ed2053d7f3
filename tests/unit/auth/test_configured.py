"""Gates that an ``a2a.toml`` describes."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from unit.auth.conftest import bearer, credentials

from a2a_runtime.auth.api_keys import digest
from a2a_runtime.auth.configured import gates_of
from a2a_runtime.auth.gate import ANYONE, ChallengeError, DescribingGate, ScopeError
from a2a_runtime.caller import Caller

SECRET = "s" * 40
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
keys = {{ {digest("k")} = "nightly" }}
scopes = ["reports"]

[everybody]
any_of = ["staff", "jobs"]
strangers = true
"""
SAID = {"sub": "ada", "iss": "https://id.example", "aud": "reports", "exp": int(time.time()) + 600, "org": "acme"}
PRIVATE = generate_private_key(SECP256R1())


@pytest.fixture
def gates(tmp_path: Path) -> dict[str, DescribingGate]:
    """The gates of a project."""
    (tmp_path / "issuer.pem").write_bytes(PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    made = gates_of(tomllib.loads(TOML), tmp_path, {"TOKEN_SECRET": SECRET})
    return {name: gate for name, gate in made.items() if isinstance(gate, DescribingGate)}


def test_a_gate_does_what_its_entry_says(gates: dict[str, DescribingGate]) -> None:
    """Tokens by a secret or a public key, API keys by their digests, and several of them at once."""
    token = bearer(jwt.encode({**SAID, "scope": "reports"}, SECRET, "HS256"))
    caller = gates["staff"].admit(token)
    assert isinstance(caller, Caller)
    assert (caller.subject, caller.tenant) == ("ada", "acme")
    with pytest.raises(ScopeError):
        gates["staff"].admit(bearer(jwt.encode(SAID, SECRET, "HS256")))
    assert isinstance(gates["pinned"].admit(bearer(jwt.encode(SAID, PRIVATE, "ES256"))), Caller)
    key = credentials(("x-api-key", "k"))
    assert isinstance(gates["jobs"].admit(key), Caller)
    with pytest.raises(ChallengeError):
        gates["jobs"].admit(token)
    subjects = [found.subject for each in (token, key, credentials()) if isinstance(found := gates["everybody"].admit(each), Caller)]
    assert subjects == ["staff:ada", "jobs:nightly", ANYONE.subject]
    assert list(gates["everybody"].security_schemes()) == ["staff", "jobs"]


JWT = 'kind = "jwt"\nissuer = "i"\naudience = "a"\n'
WRONG: dict[str, tuple[str, str]] = {
    "no keys": (f"[a]\n{JWT}", "one of discover, keys, public_key, secret_env"),
    "two sources": (f'[a]\n{JWT}discover = true\nkeys = "https://x.example"', "one of discover"),
    "no secret": (f'[a]\n{JWT}secret_env = "NOPE"', "there is no NOPE in the environment"),
    "keys in the open": (f'[a]\n{JWT}keys = "http://x.example"', "over https"),
    "mixed algorithms": (f'[a]\n{JWT}discover = true\nissuer2 = "x"', "auth.a: issuer2: "),
    "key that is none": ('[a]\nkind = "api-keys"\nkeys = { k = "x" }', "digests"),
    "unknown kind": ('[a]\nkind = "magic"', "auth.a: kind 'magic' is not known; there are jwt, api-keys"),
    "no file": (f'[a]\n{JWT}public_key = "nope.pem"', "nope.pem: No such file"),
    "unknown part": ('[a]\nany_of = ["b"]', "b is no kind of proof"),
    "no part": ("[a]\nany_of = []", "nothing is no kind of proof"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_made_is_said(text: str, said: str, tmp_path: Path) -> None:
    """With the place."""
    with pytest.raises(ValueError, match=said):
        gates_of(tomllib.loads(text), tmp_path, {})

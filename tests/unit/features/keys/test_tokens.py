"""Valid and invalid tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st
from unit.auth.conftest import build_bearer, build_credentials

from a2a_runtime.auth.authentication import Authenticator, Identity, InvalidCredentialsError
from a2a_runtime.features.keys.jwt_tokens import ClaimNames, JwtAuthenticator, JwtValidation
from a2a_runtime.features.keys.verification import (
    KeySet,
    keys_from_jwks,
    keys_from_pem,
    keys_from_secret,
)
from a2a_runtime.testing.token_issuer import AUDIENCE, ISSUER, TokenIssuer

TRUSTED = TokenIssuer()
UNTRUSTED = TokenIssuer()
AUTHENTICATOR = JwtAuthenticator(TRUSTED.keys(), TRUSTED.validation())
# a whole run of the tests fits into a day
NOW = int(time.time())
DAY = 86_400
SECRET = "s" * 32


def encode_segment(value: object) -> str:
    """Encode a segment of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def build_claims(**changes: object) -> dict[str, object]:
    """Build valid claims."""
    return {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + DAY, **changes}


def sign_with_public_key() -> str:
    """Sign with the public key as if it were a secret."""
    key = json.dumps(TRUSTED.public_jwks()[0]).encode()
    header = encode_segment({"alg": "HS256", "kid": TRUSTED.key_id})
    signed = f"{header}.{encode_segment(build_claims())}"
    signature = hmac.digest(key, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def tamper() -> str:
    """Change the claims after signing."""
    head, _, signature = TRUSTED.issue_token().split(".")
    return f"{head}.{encode_segment(build_claims(sub='root'))}.{signature}"


REFUSED: dict[str, tuple[Callable[[], str], str]] = {
    "expired": (lambda: TRUSTED.issue_token(exp=NOW - 1), "The token has expired"),
    "not valid yet": (lambda: TRUSTED.issue_token(nbf=NOW + DAY), "The token is not valid yet"),
    "issued in the future": (
        lambda: TRUSTED.issue_token(iat=NOW + DAY),
        "The token is not valid yet",
    ),
    "another audience": (
        lambda: TRUSTED.issue_token(aud="others"),
        "The token has another audience",
    ),
    "no audience": (lambda: TRUSTED.issue_token(aud=None), "The token has no claim aud"),
    "another issuer": (
        lambda: TRUSTED.issue_token(iss="https://evil.example"),
        "The token has another issuer",
    ),
    "no issuer": (lambda: TRUSTED.issue_token(iss=None), "The token has no claim iss"),
    "no end": (lambda: TRUSTED.issue_token(exp=None), "The token has no claim exp"),
    "no subject": (lambda: TRUSTED.issue_token(sub=None), "The token has no claim sub"),
    "empty subject": (lambda: TRUSTED.issue_token(""), "The token has no claim sub"),
    "subject that is no text": (lambda: TRUSTED.issue_token(sub=["ada"]), "The token is not valid"),
    "subject of a team": (
        lambda: TRUSTED.issue_token("team:all"),
        "The credentials do not name a valid caller",
    ),
    "alg none": (
        lambda: f"{encode_segment({'alg': 'none'})}.{encode_segment(build_claims())}.",
        "The algorithm of the token is not allowed",
    ),
    "alg NONE": (
        lambda: f"{encode_segment({'alg': 'NONE'})}.{encode_segment(build_claims())}.",
        "The algorithm of the token is not allowed",
    ),
    "public key as a secret": (sign_with_public_key, "The algorithm of the token is not allowed"),
    "key of another issuer": (UNTRUSTED.issue_token, "The signing key is unknown"),
    "key of another issuer with our key id": (
        lambda: UNTRUSTED.issue_token(header={"kid": TRUSTED.key_id}),
        "The token is not valid",
    ),
    "a key of its own": (
        lambda: UNTRUSTED.issue_token(
            header={"kid": TRUSTED.key_id, "jwk": UNTRUSTED.public_jwks()[0]}
        ),
        "The token is not valid",
    ),
    "keys elsewhere": (
        lambda: UNTRUSTED.issue_token(header={"jku": "https://evil.example"}),
        "The signing key is unknown",
    ),
    "changed": (tamper, "The token is not valid"),
    "cut": (lambda: TRUSTED.issue_token()[:-2], "The token is not valid"),
    "huge": (lambda: TRUSTED.issue_token(more="x" * 20_000), "The token is not valid"),
    "not ASCII": (lambda: "é.é.é", "The token is not valid"),
    "empty": (str, "The token is not valid"),
    "no token": (lambda: "hunter2", "The token is not valid"),
    "head that is no object": (
        lambda: f"{encode_segment([])}.{encode_segment(build_claims())}.x",
        "The token is not valid",
    ),
    "something critical": (
        lambda: TRUSTED.issue_token(header={"crit": ["b64"], "b64": False}),
        "The token is not valid",
    ),
    "another kind of token": (
        lambda: TRUSTED.issue_token(header={"typ": "dpop+jwt"}),
        "The token is not valid",
    ),
}


@pytest.mark.parametrize(("token", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_token_is_rejected(token: Callable[[], str], reason: str) -> None:
    """The reason does not repeat the token."""
    with pytest.raises(InvalidCredentialsError) as refused:
        AUTHENTICATOR.authenticate(build_bearer(token()))
    assert refused.value.reason == reason


def test_a_valid_token_identifies_the_caller() -> None:
    """Subject, scopes, roles, and all claims."""
    identity = AUTHENTICATOR.authenticate(
        build_bearer(
            TRUSTED.issue_token("ada", scope="read write", roles=["boss"], email="ada@example.org")
        )
    )
    assert isinstance(identity, Identity)
    assert (identity.subject, identity.tenant) == ("ada", "")
    assert (identity.scopes, identity.roles) == ({"read", "write"}, {"boss"})
    assert identity.claims["email"] == "ada@example.org"


@pytest.mark.parametrize(
    "head", [{}, {"typ": "at+jwt"}, {"typ": None}], ids=["JWT", "access token", "none"]
)
def test_common_token_types_are_accepted(head: dict[str, object]) -> None:
    """Those of RFC 9068 and RFC 7519."""
    assert isinstance(
        AUTHENTICATOR.authenticate(build_bearer(TRUSTED.issue_token(header=head))), Identity
    )


def test_other_schemes_are_ignored() -> None:
    """A request without a bearer token is not rejected."""
    assert AUTHENTICATOR.authenticate(build_credentials()) is None
    assert AUTHENTICATOR.authenticate(build_credentials(("Authorization", "Basic YTpi"))) is None


def test_duplicate_headers_are_rejected() -> None:
    """A proxy may have checked the other one."""
    good = TRUSTED.issue_token()
    with pytest.raises(InvalidCredentialsError, match="more than once"):
        AUTHENTICATOR.authenticate(
            build_credentials(
                ("Authorization", f"Bearer {good}"), ("authorization", f"Bearer {good}")
            )
        )


def test_a_plain_mapping_of_headers_is_accepted() -> None:
    """The port needs no class of this runtime."""
    assert isinstance(AUTHENTICATOR, Authenticator)
    assert isinstance(
        AUTHENTICATOR.authenticate({"authorization": f"bearer {TRUSTED.issue_token()}"}), Identity
    )


def test_a_required_tenant_must_be_present() -> None:
    """A token without its tenant would be valid for every tenant."""
    of_tenants = JwtAuthenticator(TRUSTED.keys(), TRUSTED.validation(), ClaimNames(tenant="org"))
    identity = of_tenants.authenticate(build_bearer(TRUSTED.issue_token(org="acme")))
    assert isinstance(identity, Identity)
    assert identity.tenant == "acme"
    with pytest.raises(InvalidCredentialsError, match="has no claim org"):
        of_tenants.authenticate(build_bearer(TRUSTED.issue_token()))


def test_the_leeway_is_applied() -> None:
    """A token that has just expired is accepted within the leeway."""
    patient = JwtAuthenticator(
        TRUSTED.keys(), JwtValidation(ISSUER, AUDIENCE, ("ES256",), leeway=60)
    )
    assert isinstance(
        patient.authenticate(build_bearer(TRUSTED.issue_token(exp=int(time.time()) - 5))), Identity
    )


def test_a_shared_secret_is_a_key() -> None:
    """Issuer and agent can be one party."""
    shared = JwtAuthenticator(keys_from_secret(SECRET), JwtValidation(ISSUER, AUDIENCE, ("HS256",)))
    assert isinstance(
        shared.authenticate(build_bearer(jwt.encode(build_claims(), SECRET, "HS256"))), Identity
    )
    with pytest.raises(InvalidCredentialsError):
        shared.authenticate(build_bearer(jwt.encode(build_claims(), "t" * 32, "HS256")))


def test_the_keys_have_their_algorithms() -> None:
    """A validation that names no algorithm takes those of the keys, and one whose algorithms fit no
    key is refused: it would refuse every token.
    """
    shared = JwtAuthenticator(
        keys_from_secret(SECRET * 2, "HS512"), JwtValidation(ISSUER, AUDIENCE)
    )
    assert isinstance(
        shared.authenticate(build_bearer(jwt.encode(build_claims(), SECRET * 2, "HS512"))), Identity
    )
    with pytest.raises(InvalidCredentialsError, match="algorithm"):
        shared.authenticate(build_bearer(jwt.encode(build_claims(), SECRET * 2, "HS256")))
    assert isinstance(
        JwtAuthenticator(TRUSTED.keys(), JwtValidation(ISSUER, AUDIENCE)).authenticate(
            build_bearer(TRUSTED.issue_token())
        ),
        Identity,
    )
    with pytest.raises(
        ValueError, match=r"algorithms: ES256, RS256 fit none of the keys.*name HS256"
    ):
        JwtAuthenticator(
            keys_from_secret(SECRET), JwtValidation(ISSUER, AUDIENCE, ("RS256", "ES256"))
        )
    with pytest.raises(ValueError, match="some use a secret and some a public key"):
        JwtAuthenticator(keys_from_secret(SECRET) + TRUSTED.keys(), JwtValidation(ISSUER, AUDIENCE))


def test_a_public_key_is_never_a_secret() -> None:
    """An RSA key as PEM, used as the secret of HS256, is rejected although the signature fits."""
    private = generate_private_key(65537, 2048)
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    known = JwtAuthenticator(
        keys_from_pem(pem, "RS256"), JwtValidation(ISSUER, AUDIENCE, ("RS256",))
    )
    assert isinstance(
        known.authenticate(build_bearer(jwt.encode(build_claims(), private, "RS256"))), Identity
    )
    signed = f"{encode_segment({'alg': 'HS256'})}.{encode_segment(build_claims())}"
    forged = (
        base64.urlsafe_b64encode(hmac.digest(pem, signed.encode(), hashlib.sha256))
        .rstrip(b"=")
        .decode()
    )
    with pytest.raises(InvalidCredentialsError, match="algorithm"):
        known.authenticate(build_bearer(f"{signed}.{forged}"))
    with pytest.raises(ValueError, match="private key"):
        keys_from_pem(
            private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "RS256"
        )


WRONG_SETTINGS: dict[str, tuple[Callable[[], object], str]] = {
    "secret and public": (
        lambda: JwtValidation("i", "a", ("HS256", "RS256")),
        "some use a secret and some a public key",
    ),
    "none": (lambda: JwtValidation("i", "a", ("none",)), "none is not supported"),
    "no algorithm": (lambda: JwtValidation("i", "a", ()), "none is not supported"),
    "no issuer": (lambda: JwtValidation("", "a"), "issuer and audience are required"),
    "no audience": (lambda: JwtValidation("i", ""), "issuer and audience are required"),
    "short secret": (lambda: keys_from_secret("hunter2"), "at least 32 bytes"),
    "secret for RSA": (lambda: keys_from_secret(SECRET, "RS256"), "does not use a secret"),
    "public key for HMAC": (lambda: keys_from_pem("x", "HS256"), "has no public keys"),
}


@pytest.mark.parametrize(("make", "said"), WRONG_SETTINGS.values(), ids=WRONG_SETTINGS.keys())
def test_unsafe_settings_are_rejected_at_start(make: Callable[[], object], said: str) -> None:
    """Unsafe settings raise an error in the constructor, before the first request."""
    with pytest.raises(ValueError, match=said):
        make()


def test_unusable_published_keys_are_ignored() -> None:
    """Secrets, private keys, keys for other uses, unknown curves and broken ones."""
    (good,) = TRUSTED.public_jwks()
    useless = [
        {"kty": "oct", "k": "c2VjcmV0"},
        {**good, "d": "AA"},
        {**good, "use": "enc"},
        {**good, "crv": "P-111"},
        {**good, "x": "!"},
        {**good, "alg": "HS256"},
        {},
    ]
    assert len(keys_from_jwks([*useless, good])) == 1


def test_a_token_without_a_key_id_uses_the_only_key() -> None:
    """A token without a key id is accepted with one key, and rejected with two."""
    issuer = TokenIssuer()
    nameless = issuer.issue_token(header={"kid": None})
    assert isinstance(
        JwtAuthenticator(issuer.keys(), issuer.validation()).authenticate(build_bearer(nameless)),
        Identity,
    )
    issuer.rotate()
    with pytest.raises(InvalidCredentialsError, match="signing key is unknown"):
        JwtAuthenticator(issuer.keys(), issuer.validation()).authenticate(build_bearer(nameless))
    assert len(KeySet() + issuer.keys()) == 2


@given(
    st.one_of(st.text(max_size=200), st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
)
def test_arbitrary_text_is_rejected(said: str) -> None:
    """Any text that is not a token is refused as a token, without any other error."""
    with pytest.raises(InvalidCredentialsError):
        AUTHENTICATOR.authenticate({"authorization": f"Bearer {said}"})


@given(st.integers(min_value=0), st.characters(codec="ascii"))
def test_a_token_with_another_letter_is_rejected(place: int, letter: str) -> None:
    """A token is refused if any of its letters is changed."""
    token = TRUSTED.issue_token()
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]
    if changed != token:
        with pytest.raises(InvalidCredentialsError):
            AUTHENTICATOR.authenticate({"authorization": f"Bearer {changed}"})

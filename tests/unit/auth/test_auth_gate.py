"""The gate that checks credentials."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from unit.auth.conftest import build_bearer, build_credentials

from a2a_contract.errors import PermissionDeniedError
from a2a_runtime.auth.authentication import Credentials, Identity, InvalidCredentialsError
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    KeyLocation,
    MtlsAuthenticator,
    digest_key,
)
from a2a_runtime.auth.gate import (
    ANONYMOUS,
    AuthGate,
    ChallengeError,
    InsufficientScopeError,
    PresenceGate,
    SchemeRequirement,
)
from a2a_runtime.base.caller import Caller
from a2a_runtime.features.keys.jwt_tokens import ClaimNames, JwtAuthenticator
from a2a_runtime.testing.token_issuer import TokenIssuer

pytestmark = pytest.mark.anyio

ISSUER = TokenIssuer()
TOKENS = JwtAuthenticator(ISSUER.keys(), ISSUER.validation())
KEYS = ApiKeyAuthenticator(
    {
        digest_key("k-ada"): Identity("ada", "acme", frozenset({"read"})),
        digest_key("k-eve"): Identity("eve"),
    }
)
PROXY = MtlsAuthenticator(["192.0.2.0/28"])
KEY = ("X-API-Key", "k-ada")
CERTIFICATE = (("X-SSL-Client-Verify", "SUCCESS"), ("X-SSL-Client-S-DN", "CN=box"))


def build_token_header(**claims: object) -> tuple[str, str]:
    """Build the header of a valid token."""
    return "Authorization", f"Bearer {ISSUER.issue_token('ada', **claims)}"


async def admit(gate: AuthGate, *headers: tuple[str, str]) -> Caller:
    """Pass a request through a gate."""
    answer = gate.admit(build_credentials(*headers))
    if isinstance(answer, Caller):
        return answer
    return await answer


async def test_any_scheme_is_enough_without_requirements() -> None:
    """Subjects of the same name differ by their scheme."""
    gate = AuthGate(TOKENS, KEYS)
    assert (await admit(gate, build_token_header())).subject == "bearer:ada"
    by_key = await admit(gate, KEY)
    assert (by_key.subject, by_key.tenant, by_key.schemes) == (
        "apiKey:ada",
        "acme",
        {"apiKey": {"read"}},
    )


async def test_subjects_may_be_shared() -> None:
    """Subjects are shared by a setting, or if there is only one scheme."""
    assert (await admit(AuthGate(TOKENS, KEYS, shared_subjects=True), KEY)).subject == "ada"
    assert (await admit(AuthGate(KEYS), KEY)).subject == "ada"


REFUSED: dict[str, tuple[tuple[tuple[str, str], ...], str, str]] = {
    "nothing": ((), "Authentication required", 'Bearer, ApiKey in="header", name="X-API-Key"'),
    "wrong token": (
        (("Authorization", "Bearer x"),),
        "The token is not valid",
        (
            'Bearer error="invalid_token", error_description="The token is not valid", ApiKey '
            'in="header", name="X-API-Key"'
        ),
    ),
    "wrong key": ((("X-API-Key", "nope"),), "The API key is unknown", "Bearer error="),
    "key twice": ((KEY, KEY), "The header X-API-Key occurs more than once", "Bearer error="),
    "key too long": ((("X-API-Key", "k" * 1001),), "The API key is unknown", "Bearer error="),
    "another scheme": ((("Authorization", "Digest x"),), "Authentication required", "Bearer"),
}


@pytest.mark.parametrize(("headers", "message", "challenge"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_challenge_names_the_schemes(
    headers: tuple[tuple[str, str], ...], message: str, challenge: str
) -> None:
    """The challenge has the schemes and the reason, without the rejected credentials."""
    with pytest.raises(ChallengeError) as raised:
        await admit(AuthGate(TOKENS, KEYS), *headers)
    assert raised.value.message == message
    assert raised.value.challenge.startswith(challenge)


async def test_a_missing_scope_is_in_the_error() -> None:
    """An authenticated caller is denied and learns what to request; a role counts like a scope."""
    gate = AuthGate(TOKENS, require=[{"bearer": ["tasks", "boss"]}])
    assert (await admit(gate, build_token_header(scope="tasks", roles=["boss"]))).roles == {"boss"}
    with pytest.raises(InsufficientScopeError, match="boss") as raised:
        await admit(gate, build_token_header(scope="tasks"))
    assert isinstance(raised.value, PermissionDeniedError)
    assert raised.value.details == {"missing_scopes": "boss"}
    assert raised.value.challenge == 'Bearer error="insufficient_scope", scope="boss"'


async def test_all_schemes_of_a_requirement_are_needed() -> None:
    """The first one names the caller, the others add what they know."""
    gate = AuthGate(TOKENS, PROXY, require=[{"bearer": [], "mtls": []}])
    both = await admit(gate, build_token_header(scope="a"), *CERTIFICATE)
    assert (both.subject, both.schemes) == ("ada", {"bearer": {"a"}, "mtls": frozenset()})
    for some in ((build_token_header(),), CERTIFICATE):
        with pytest.raises(ChallengeError):
            await admit(gate, *some)


async def test_credentials_of_two_tenants_are_rejected() -> None:
    """A request with credentials of two tenants is refused, because a caller has one."""
    tenants = JwtAuthenticator(ISSUER.keys(), ISSUER.validation(), ClaimNames(tenant="org"))
    gate = AuthGate(tenants, KEYS, require=[{"bearer": [], "apiKey": []}])
    assert (await admit(gate, build_token_header(org="acme"), KEY)).tenant == "acme"
    with pytest.raises(ChallengeError, match="different tenants"):
        await admit(gate, build_token_header(org="umbrella"), KEY)


async def test_anonymous_callers_may_be_admitted() -> None:
    """Invalid credentials never count as none."""
    gate = AuthGate(TOKENS, require=[{"bearer": ["a"]}, {}])
    assert await admit(gate) is ANONYMOUS
    assert (await admit(gate, build_token_header(scope="a"))).subject == "ada"
    with pytest.raises(ChallengeError):
        await admit(gate, ("Authorization", "Bearer x"))
    with pytest.raises(InsufficientScopeError):
        await admit(gate, build_token_header())


async def test_an_authenticator_may_be_async() -> None:
    """Any object with a method ``authenticate`` is an authenticator."""

    class Slow:
        async def authenticate(self, headers: Mapping[str, str]) -> Identity | None:
            badge = headers.get("X-Badge")
            if badge == "stolen":
                raise InvalidCredentialsError("The badge was stolen")
            if badge:
                return Identity(badge)
            return None

    gate = AuthGate(Slow(), KEYS)
    assert (await admit(gate, ("x-badge", "7"))).subject == "Slow:7"
    with pytest.raises(ChallengeError, match="stolen"):
        await admit(gate, ("x-badge", "stolen"))
    assert [list(each.schemes or {}) for each in gate.security_requirements()] == [["apiKey"]]


WRONG: dict[str, tuple[tuple[object, ...], list[SchemeRequirement] | None, str]] = {
    "nobody": ((), None, "no authenticator given"),
    "no authenticator": ((object(),), None, "it has no method authenticate"),
    "two of one name": ((KEYS, KEYS), None, "two authenticators have the scheme 'apiKey'"),
    "unknown scheme": ((KEYS,), [{"bearer": []}], "no scheme bearer; the schemes are apiKey"),
    "presence beside a real one": ((KEYS, PresenceGate()), None, "it has no method authenticate"),
}


@pytest.mark.parametrize(("authenticators", "require", "said"), WRONG.values(), ids=WRONG.keys())
def test_an_invalid_gate_is_rejected(
    authenticators: tuple[object, ...], require: list[SchemeRequirement] | None, said: str
) -> None:
    """The constructor of a gate refuses invalid arguments."""
    with pytest.raises((TypeError, ValueError), match=said):
        AuthGate(*authenticators, require=require)  # type: ignore[arg-type]  # that is the point


def test_the_card_lists_the_requirements() -> None:
    """Schemes and requirements are derived from the gate."""
    gate = AuthGate(
        TOKENS, KEYS, PROXY, require=[{"bearer": ["a"]}, {"apiKey": [], "mtls": []}, {}]
    )
    assert {name: each.to_dict() for name, each in gate.security_schemes().items()} == {
        "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
        "apiKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
        "mtls": {"mtlsSecurityScheme": {}},
    }
    assert [each.to_dict() for each in gate.security_requirements()] == [
        {"schemes": {"bearer": {"list": ["a"]}}},
        {"schemes": {"apiKey": {}, "mtls": {}}},
        {"schemes": {}},
    ]


@pytest.mark.parametrize(
    ("place", "request_", "is_there"),
    [
        (KeyLocation.QUERY, build_credentials(query="key=k-ada"), True),
        (KeyLocation.COOKIE, build_credentials(("Cookie", 'a=b; key="k-ada"')), True),
        (KeyLocation.QUERY, build_credentials(("key", "k-ada")), False),
        (KeyLocation.COOKIE, build_credentials(query="key=k-ada"), False),
    ],
    ids=["query", "cookie", "header for query", "query for cookie"],
)
def test_a_key_is_read_from_its_location_only(
    place: KeyLocation,
    request_: Credentials,
    is_there: bool,  # noqa: FBT001 - a table
) -> None:
    """The one that the card names."""
    found = ApiKeyAuthenticator({digest_key("k-ada"): Identity("ada")}, "key", place).authenticate(
        request_
    )
    assert (found is not None) is is_there


@pytest.mark.parametrize(
    ("place", "twice"),
    [
        (KeyLocation.QUERY, build_credentials(query="key=a&key=b")),
        (KeyLocation.COOKIE, build_credentials(("Cookie", "key=a"), ("Cookie", "key=b"))),
    ],
    ids=["query", "cookie"],
)
def test_a_duplicate_key_is_rejected(place: KeyLocation, twice: Credentials) -> None:
    """Two keys in a header, in the query or among cookies are rejected."""
    with pytest.raises(InvalidCredentialsError, match="more than once"):
        ApiKeyAuthenticator({digest_key("a"): Identity("ada")}, "key", place).authenticate(twice)


def test_keys_are_stored_as_digests() -> None:
    """A key instead of its digest is rejected, and not repeated."""
    with pytest.raises(ValueError, match="digest") as raised:
        ApiKeyAuthenticator({"k-secret": Identity("ada")})
    assert "k-secret" not in str(raised.value)


CERTIFICATES: dict[str, tuple[tuple[tuple[str, str], ...], str, str | None]] = {
    "from the proxy": (CERTIFICATE, "192.0.2.1", "CN=box"),
    "from anywhere": (CERTIFICATE, "203.0.113.9", None),
    "from nowhere": (CERTIFICATE, "", None),
    "not verified": ((("X-SSL-Client-Verify", "FAILED"), CERTIFICATE[1]), "192.0.2.1", None),
    "no verification header": ((CERTIFICATE[1],), "192.0.2.1", None),
    "no name": ((CERTIFICATE[0],), "192.0.2.1", None),
    "two names": ((*CERTIFICATE, CERTIFICATE[1]), "192.0.2.1", None),
}


@pytest.mark.parametrize(
    ("headers", "client", "subject"), CERTIFICATES.values(), ids=CERTIFICATES.keys()
)
def test_certificates_are_accepted_from_the_proxy_only(
    headers: tuple[tuple[str, str], ...], client: str, subject: str | None
) -> None:
    """Any client could send the same headers."""
    if subject is not None:
        assert PROXY.authenticate(build_credentials(*headers, client=client)) == Identity(subject)
        return
    with pytest.raises(InvalidCredentialsError):
        PROXY.authenticate(build_credentials(*headers, client=client))


@pytest.mark.parametrize("said", ["Bearer", "Bearer  ", "Basic x", "", "bearer"], ids=repr)
def test_a_presence_gate_requires_a_token(said: str) -> None:
    """A presence gate admits any token, and refuses a request without one."""
    assert PresenceGate().admit(build_bearer("anything")).is_authenticated
    with pytest.raises(ChallengeError):
        PresenceGate().admit(build_credentials(("Authorization", said)))


def test_credentials_have_no_content_in_their_repr() -> None:
    """The repr of credentials has no content, because it may be logged."""
    assert "hunter2" not in repr(build_bearer("hunter2"))
    assert "hunter2" not in f"{build_bearer('hunter2')}"

"""Keys of an issuer: fetched rarely, and refreshed in time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

import pytest
from unit.auth.conftest import build_bearer

from a2a_contract.errors import UnavailableError
from a2a_runtime.auth.authentication import Identity, InvalidCredentialsError
from a2a_runtime.features.keys.jwks import DocumentFetchError, JwksKeys, OidcKeys
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.token_issuer import ISSUER, TokenIssuer

pytestmark = pytest.mark.anyio

URL = f"{ISSUER}/keys"


class DocumentSource:
    """Serves documents while it is available, and counts fetches."""

    def __init__(self, documents: dict[str, Callable[[], bytes]]) -> None:
        self.documents = documents
        self.fetched = list[str]()
        self.is_available = True

    async def fetch(self, url: str) -> bytes:
        """Fetch a document."""
        self.fetched.append(url)
        await asyncio.sleep(0)
        if not self.is_available:
            raise DocumentFetchError("closed")
        return self.documents[url]()


class KeySetup:
    """An issuer, its documents, and an authenticator."""

    def __init__(self) -> None:
        self.issuer = TokenIssuer()
        self.clock = FakeClock()
        self.source = DocumentSource({URL: self.issuer.jwks})
        keys = JwksKeys(URL, clock=self.clock, fetch=self.source.fetch)
        self.known = JwtAuthenticator(keys, self.issuer.validation())

    async def check(self, token: str) -> Identity | None:
        """Authenticate a token."""
        answer = self.known.authenticate(build_bearer(token))
        if isinstance(answer, Identity) or answer is None:
            return answer
        return await answer


@pytest.fixture
def issuer_setting() -> KeySetup:
    """A new issuer."""
    return KeySetup()


async def test_keys_are_fetched_once(issuer_setting: KeySetup) -> None:
    """Concurrent requests share one fetch; later ones do not wait."""
    token = issuer_setting.issuer.issue_token()
    assert all(await asyncio.gather(*(issuer_setting.check(token) for _ in range(20))))
    assert isinstance(issuer_setting.known.authenticate(build_bearer(token)), Identity)
    assert issuer_setting.source.fetched == [URL]


async def test_a_new_key_is_found_when_a_token_names_it(issuer_setting: KeySetup) -> None:
    """An issuer can rotate its keys without notice."""
    await issuer_setting.check(issuer_setting.issuer.issue_token())
    issuer_setting.issuer.rotate()
    issuer_setting.clock.advance(11)
    assert await issuer_setting.check(issuer_setting.issuer.issue_token())
    assert len(issuer_setting.source.fetched) == 2


async def test_invented_key_ids_cause_one_fetch(issuer_setting: KeySetup) -> None:
    """Tokens with unknown keys are rejected, and the issuer is queried once in ten seconds."""
    await issuer_setting.check(issuer_setting.issuer.issue_token())
    issuer_setting.clock.advance(11)
    for number in range(50):
        with pytest.raises(InvalidCredentialsError, match="signing key is unknown"):
            await issuer_setting.check(
                TokenIssuer().issue_token(header={"kid": f"made-up-{number}"})
            )
    assert len(issuer_setting.source.fetched) == 2


async def test_a_revoked_key_is_valid_until_the_next_refresh(issuer_setting: KeySetup) -> None:
    """A revoked key is refused after five minutes, when keys are fetched again."""
    old = issuer_setting.issuer.issue_token()
    await issuer_setting.check(old)
    issuer_setting.issuer.rotate(should_forget=True)
    assert await issuer_setting.check(old)
    issuer_setting.clock.advance(301)
    with pytest.raises(InvalidCredentialsError, match="signing key is unknown"):
        await issuer_setting.check(old)


@pytest.mark.requirement("1.0", "13.4c")
async def test_key_changes_are_audited(
    issuer_setting: KeySetup, caplog: pytest.LogCaptureFixture
) -> None:
    """Added and removed keys, and failed refreshes; not unchanged ones."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    first = issuer_setting.issuer.key_id
    await issuer_setting.check(issuer_setting.issuer.issue_token())
    issuer_setting.clock.advance(301)
    await issuer_setting.check(issuer_setting.issuer.issue_token())
    second = issuer_setting.issuer.rotate(should_forget=True)
    issuer_setting.clock.advance(301)
    await issuer_setting.check(issuer_setting.issuer.issue_token())
    issuer_setting.source.is_available = False
    issuer_setting.clock.advance(301)
    await issuer_setting.check(issuer_setting.issuer.issue_token())
    lines = [
        json.loads(each.getMessage()) for each in caplog.records if each.name == "a2a_runtime.audit"
    ]
    assert lines == [
        {"event": "keys-changed", "keys_of": URL, "added": first, "removed": ""},
        {"event": "keys-changed", "keys_of": URL, "added": second, "removed": first},
        {"event": "keys-unreadable", "keys_of": URL, "reason": "closed"},
    ]


async def test_cached_keys_outlast_an_outage_for_an_hour(issuer_setting: KeySetup) -> None:
    """Keys stay valid for an hour of outage, and refreshes are retried rarely."""
    token = issuer_setting.issuer.issue_token()
    await issuer_setting.check(token)
    issuer_setting.source.is_available = False
    issuer_setting.clock.advance(301)
    for _ in range(5):
        assert await issuer_setting.check(token)
    assert len(issuer_setting.source.fetched) == 2
    issuer_setting.clock.advance(3600)
    with pytest.raises(UnavailableError):
        await issuer_setting.check(token)
    issuer_setting.source.is_available = True
    issuer_setting.clock.advance(11)
    assert await issuer_setting.check(token)


async def test_without_keys_the_service_is_unavailable(issuer_setting: KeySetup) -> None:
    """An issuer that never answered is not the fault of the caller: 503, not 401."""
    issuer_setting.source.is_available = False
    for _ in range(2):
        with pytest.raises(UnavailableError):
            await issuer_setting.check(issuer_setting.issuer.issue_token())


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"nonsense", b'{"keys": {}}', b'{"keys": [1, {"kty": 5}]}'], ids=repr
)
async def test_an_invalid_document_has_no_keys(issuer_setting: KeySetup, document: bytes) -> None:
    """An invalid key document verifies no token, and raises no other error."""
    issuer_setting.source.documents[URL] = lambda: document
    with pytest.raises((UnavailableError, InvalidCredentialsError)):
        await issuer_setting.check(issuer_setting.issuer.issue_token())


DISCOVERY = f"{ISSUER}/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("document", "is_taken"),
    [
        ({"issuer": ISSUER, "jwks_uri": URL}, True),
        ({"issuer": "https://evil.example", "jwks_uri": URL}, False),
        ({"issuer": ISSUER}, False),
        ({"issuer": ISSUER, "jwks_uri": "http://id.example/keys"}, False),
    ],
    ids=["good", "of another issuer", "no keys", "keys in the open"],
)
async def test_an_openid_provider_is_discovered(
    issuer_setting: KeySetup,
    document: object,
    is_taken: bool,  # noqa: FBT001 - a table
) -> None:
    """By a document of the same issuer, with keys over https."""
    issuer_setting.source.documents[DISCOVERY] = lambda: json.dumps(document).encode()
    keys = OidcKeys(ISSUER, clock=issuer_setting.clock, fetch=issuer_setting.source.fetch)
    issuer_setting.known = JwtAuthenticator(keys, issuer_setting.issuer.validation())
    if is_taken:
        assert await issuer_setting.check(issuer_setting.issuer.issue_token())
    else:
        with pytest.raises(UnavailableError):
            await issuer_setting.check(issuer_setting.issuer.issue_token())


@pytest.mark.parametrize(
    "url", ["http://id.example/keys", "ftp://id.example", "keys", "http://localhost.evil.example/"]
)
def test_keys_over_http_are_rejected_at_start(url: str) -> None:
    """A third party could replace them."""
    with pytest.raises(ValueError, match=r"keys need https|not a URL"):
        JwksKeys(url)


@pytest.mark.parametrize(
    "document", [b"{}", b'{"keys": null}', b'{"keys": {"a": 1}}', b"[]", b"no JSON"]
)
async def test_a_document_without_keys_removes_none(
    issuer_setting: KeySetup, document: bytes
) -> None:
    """While the URL serves an error page, the cached keys stay valid."""
    token = issuer_setting.issuer.issue_token()
    await issuer_setting.check(token)
    issuer_setting.source.documents[URL] = lambda: document
    issuer_setting.clock.advance(301)
    assert await issuer_setting.check(token)
    issuer_setting.source.documents[URL] = issuer_setting.issuer.jwks
    issuer_setting.clock.advance(11)
    assert await issuer_setting.check(token)


async def test_an_empty_list_removes_all_keys(issuer_setting: KeySetup) -> None:
    """An issuer may revoke all of them."""
    token = issuer_setting.issuer.issue_token()
    await issuer_setting.check(token)
    issuer_setting.source.documents[URL] = lambda: b'{"keys": []}'
    issuer_setting.clock.advance(301)
    with pytest.raises(InvalidCredentialsError, match="signing key is unknown"):
        await issuer_setting.check(token)

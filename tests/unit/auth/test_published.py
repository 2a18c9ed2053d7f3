"""Keys that are read from an issuer: seldom, and again when it is time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

import pytest
from unit.auth.conftest import build_bearer

from a2a_contract.errors import UnavailableError
from a2a_runtime.auth.authentication import Identity, InvalidCredentialsError
from a2a_runtime.auth.jwks import DocumentFetchError, JwksKeys, OidcKeys
from a2a_runtime.auth.jwt_tokens import JwtAuthenticator
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.token_issuer import ISSUER, TokenIssuer

pytestmark = pytest.mark.anyio

URL = f"{ISSUER}/keys"


class DocumentSource:
    """Has documents, as long as it is open, and counts who reads them."""

    def __init__(self, documents: dict[str, Callable[[], bytes]]) -> None:
        self.documents, self.fetched, self.is_available = documents, list[str](), True

    async def fetch(self, url: str) -> bytes:
        """Read."""
        self.fetched.append(url)
        await asyncio.sleep(0)
        if not self.is_available:
            raise DocumentFetchError("closed")
        return self.documents[url]()


class KeySetup:
    """An issuer, its library, and somebody who checks its tokens."""

    def __init__(self) -> None:
        self.issuer, self.clock = TokenIssuer(), FakeClock()
        self.source = DocumentSource({URL: self.issuer.jwks})
        keys = JwksKeys(URL, clock=self.clock, fetch=self.source.fetch)
        self.known = JwtAuthenticator(keys, self.issuer.validation())

    async def check(self, token: str) -> Identity | None:
        """Check a token."""
        answer = self.known.authenticate(build_bearer(token))
        return answer if isinstance(answer, Identity) or answer is None else await answer


@pytest.fixture
def setting() -> KeySetup:
    """A fresh issuer."""
    return KeySetup()


async def test_keys_are_read_once(setting: KeySetup) -> None:
    """However many ask, also at once; then nobody even waits."""
    token = setting.issuer.issue_token()
    assert all(await asyncio.gather(*(setting.check(token) for _ in range(20))))
    assert isinstance(setting.known.authenticate(build_bearer(token)), Identity)
    assert setting.source.fetched == [URL]


async def test_a_new_key_is_found_when_a_token_names_it(setting: KeySetup) -> None:
    """An issuer that rotates its keys need not tell anybody."""
    await setting.check(setting.issuer.issue_token())
    setting.issuer.rotate()
    setting.clock.advance(11)
    assert await setting.check(setting.issuer.issue_token())
    assert len(setting.source.fetched) == 2


async def test_made_up_keys_cost_the_issuer_nothing(setting: KeySetup) -> None:
    """Whoever names keys that are not there is refused, and the issuer is asked once in ten seconds."""
    await setting.check(setting.issuer.issue_token())
    setting.clock.advance(11)
    for number in range(50):
        with pytest.raises(InvalidCredentialsError, match="signing key is unknown"):
            await setting.check(TokenIssuer().issue_token(header={"kid": f"made-up-{number}"}))
    assert len(setting.source.fetched) == 2


async def test_a_key_that_was_taken_back_is_good_no_longer_than_it_is_fresh(setting: KeySetup) -> None:
    """After five minutes the keys are read again."""
    old = setting.issuer.issue_token()
    await setting.check(old)
    setting.issuer.rotate(should_forget=True)
    assert await setting.check(old)
    setting.clock.advance(301)
    with pytest.raises(InvalidCredentialsError, match="signing key is unknown"):
        await setting.check(old)


async def test_what_becomes_of_keys_is_on_record(setting: KeySetup, caplog: pytest.LogCaptureFixture) -> None:
    """Which are there, which are new, which are gone, and that they cannot be read; not that nothing has changed."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    first = setting.issuer.key_id
    await setting.check(setting.issuer.issue_token())
    setting.clock.advance(301)
    await setting.check(setting.issuer.issue_token())
    second = setting.issuer.rotate(should_forget=True)
    setting.clock.advance(301)
    await setting.check(setting.issuer.issue_token())
    setting.source.is_available = False
    setting.clock.advance(301)
    await setting.check(setting.issuer.issue_token())
    lines = [json.loads(each.getMessage()) for each in caplog.records if each.name == "a2a_runtime.audit"]
    assert lines == [
        {"event": "keys-changed", "keys_of": URL, "added": first, "removed": ""},
        {"event": "keys-changed", "keys_of": URL, "added": second, "removed": first},
        {"event": "keys-unreadable", "keys_of": URL, "reason": "closed"},
    ]


async def test_an_issuer_that_is_away_is_missed_only_after_an_hour(setting: KeySetup) -> None:
    """Known keys go on being good, and it is asked again only now and then."""
    token = setting.issuer.issue_token()
    await setting.check(token)
    setting.source.is_available = False
    setting.clock.advance(301)
    for _ in range(5):
        assert await setting.check(token)
    assert len(setting.source.fetched) == 2
    setting.clock.advance(3600)
    with pytest.raises(UnavailableError):
        await setting.check(token)
    setting.source.is_available = True
    setting.clock.advance(11)
    assert await setting.check(token)


async def test_without_keys_nobody_is_called_a_liar(setting: KeySetup) -> None:
    """An issuer that never answered is our trouble, not the caller's: unavailable, not unauthenticated."""
    setting.source.is_available = False
    for _ in range(2):
        with pytest.raises(UnavailableError):
            await setting.check(setting.issuer.issue_token())


@pytest.mark.parametrize("document", [b"", b"[]", b"nonsense", b'{"keys": {}}', b'{"keys": [1, {"kty": 5}]}'], ids=repr)
async def test_a_document_of_another_kind_has_no_keys(setting: KeySetup, document: bytes) -> None:
    """And breaks nothing."""
    setting.source.documents[URL] = lambda: document
    with pytest.raises((UnavailableError, InvalidCredentialsError)):
        await setting.check(setting.issuer.issue_token())


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
async def test_an_openid_provider_says_where_its_keys_are(setting: KeySetup, document: object, is_taken: bool) -> None:  # noqa: FBT001 - a table
    """In a document that must be its own, and over https."""
    setting.source.documents[DISCOVERY] = lambda: json.dumps(document).encode()
    keys = OidcKeys(ISSUER, clock=setting.clock, fetch=setting.source.fetch)
    setting.known = JwtAuthenticator(keys, setting.issuer.validation())
    if is_taken:
        assert await setting.check(setting.issuer.issue_token())
    else:
        with pytest.raises(UnavailableError):
            await setting.check(setting.issuer.issue_token())


@pytest.mark.parametrize("url", ["http://id.example/keys", "ftp://id.example", "keys", "http://localhost.evil.example/"])
def test_keys_in_the_open_are_refused_at_start(url: str) -> None:
    """Somebody in between could put keys of their own."""
    with pytest.raises(ValueError, match=r"keys need https|not a URL"):
        JwksKeys(url)


@pytest.mark.parametrize("document", [b"{}", b'{"keys": null}', b'{"keys": {"a": 1}}', b"[]", b"no JSON"])
async def test_a_document_without_keys_takes_none_away(setting: KeySetup, document: bytes) -> None:
    """Whatever stands at the address for a while instead of the keys, a page of errors say, the known ones go on being good."""
    token = setting.issuer.issue_token()
    await setting.check(token)
    setting.source.documents[URL] = lambda: document
    setting.clock.advance(301)
    assert await setting.check(token)
    setting.source.documents[URL] = setting.issuer.jwks
    setting.clock.advance(11)
    assert await setting.check(token)


async def test_an_empty_list_takes_all_away(setting: KeySetup) -> None:
    """An issuer may take its keys back."""
    token = setting.issuer.issue_token()
    await setting.check(token)
    setting.source.documents[URL] = lambda: b'{"keys": []}'
    setting.clock.advance(301)
    with pytest.raises(InvalidCredentialsError, match="signing key is unknown"):
        await setting.check(token)

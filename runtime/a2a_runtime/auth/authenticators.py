"""API keys. What is kept of a key is its digest: whoever reads the configuration cannot use it.

    ApiKeys({digest_of_key: Identity("ada")}, name="X-API-Key")        the digest comes from ``digest(key)``

Keys are long and random, not chosen by people (``new_key``); a plain digest of them cannot be guessed.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b, scrypt, sha256
from ipaddress import ip_address, ip_network

from a2a_contract.v1_0 import APIKeySecurityScheme, HTTPAuthSecurityScheme, MutualTlsSecurityScheme, SecurityScheme
from a2a_runtime.auth.authentication import Credentials, Identity, RefusedError, authorization
from a2a_runtime.auth.rate_limit import Guesses
from a2a_runtime.clock import Clock, SystemClock

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONGEST = 1000
_NOBODY = ""  # a key names nobody, until it is found


class Place(StrEnum):
    """Where in a request a key stands; the values are those of the card."""

    HEADER = "header"
    QUERY = "query"
    COOKIE = "cookie"


def new_key() -> str:
    """Make a key."""
    return secrets.token_urlsafe(32)


def digest(key: str) -> str:
    """Make what is kept of a key."""
    return sha256(key.encode()).hexdigest()


class ApiKeys:
    """Knows some keys."""

    def __init__(
        self,
        keys: Mapping[str, Identity],
        name: str = "X-API-Key",
        place: Place = Place.HEADER,
        *,
        scheme: str = "apiKey",
        guesses: Guesses | None = None,
    ) -> None:
        wrong = [place for place, each in enumerate(keys, 1) if not _DIGEST.fullmatch(each)]
        if wrong:
            numbers = ", ".join(map(str, wrong))  # never the text itself: it may be a key
            raise ValueError(f"keys are kept as digests, 64 hexadecimal digits, as number {numbers} is not; make one with a2a-gen auth digest")
        self._blind = secrets.token_bytes(32)
        self._keys = {self._blinded(each): identity for each, identity in keys.items()}
        self._name, self._place, self._scheme = name, place, scheme
        self._guesses = guesses or Guesses()

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Look up the key of a request."""
        key = self._key(headers)
        if key is None:
            return None
        mark = self._blinded(digest(key[:_LONGEST]))
        self._guesses.check(headers, _NOBODY, mark)
        identity = self._keys.get(mark) if len(key) <= _LONGEST else None
        if identity is None:
            self._guesses.was_wrong(headers, _NOBODY, mark)
            raise RefusedError("The key is not known")
        self._guesses.was_right(headers, mark)
        return identity

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the key."""
        return {self._scheme: SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location=self._place, name=self._name))}

    def _blinded(self, found: str) -> bytes:
        """Compare in constant time: what is looked up is nothing that a caller could know or choose, so that its time tells them nothing."""
        return blake2b(found.encode(), key=self._blind, digest_size=32).digest()

    def _key(self, headers: Mapping[str, str]) -> str | None:
        if self._place is Place.HEADER:
            return headers.get(self._name)
        if not isinstance(headers, Credentials):
            return None
        return headers.parameter(self._name) if self._place is Place.QUERY else headers.cookie(self._name)


# Names and passwords, as HTTP Basic sends them. What is kept of a password is made by scrypt: slow on purpose.
#
#     Passwords({"ada": User(hash_password("…"), Identity("ada"))})
#
# A check takes a thread and a tenth of a second, of which there are never more than a few at once. A password that was right is known again for some
# minutes by a keyed digest that only this process can make; taking somebody out of the list, or changing their hash, takes effect at once.
#

_COST, _BLOCK, _LANES = 2**15, 8, 1
_MEMORY = 2 * 128 * _COST * _BLOCK
_MAX_PASSWORD = 1000
_KNOWN_SECONDS = 300.0
_AT_ONCE = 4
_BASIC = "basic"
_HASH = re.compile(r"scrypt\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password, or what is kept of it."""

    password_hash: str
    identity: Identity


def hash_password(password: str) -> str:
    """Make what is kept of a password."""
    salt = secrets.token_bytes(16)
    return "$".join(("scrypt", b64encode(salt).decode(), b64encode(_slow(password, salt)).decode()))


class Passwords:
    """Knows some users by their passwords."""

    def __init__(self, users: Mapping[str, User], *, scheme: str = "basic", guesses: Guesses | None = None, clock: Clock | None = None) -> None:
        self._users, self._scheme, self._clock = users, scheme, clock or SystemClock()
        self._guesses = guesses or Guesses(clock=clock)
        wrong = [name for name, user in users.items() if not _HASH.fullmatch(user.password_hash)]
        if wrong:
            raise ValueError(f"the passwords of {', '.join(wrong)} are kept as hashes; make one with a2a-gen auth password")
        self._nobody = hash_password(secrets.token_urlsafe())
        self._secret = secrets.token_bytes(32)
        self._known: dict[str, tuple[bytes, float]] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity] | None:
        """Check the name and password of a request, at once if they were right a moment ago."""
        proof = authorization(headers, _BASIC)
        if proof is None:
            return None
        name, password = _read(proof)
        user = self._users.get(name)
        kept = self._nobody if user is None else user.password_hash  # a name that nobody has takes as long
        mark = self._mark(name, password, kept)
        if user is not None and self._is_known(name, mark):
            return user.identity
        return self._check(headers, name, password, mark)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the header."""
        return {self._scheme: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic"))}

    async def _check(self, headers: Mapping[str, str], name: str, password: str, mark: bytes) -> Identity:
        user = self._users.get(name)
        async with self._room:
            self._guesses.check(headers, name, mark)  # in here, so that those who wait count what those before them have guessed
            right = await asyncio.to_thread(_matches, password, self._nobody if user is None else user.password_hash)
            if user is None or not right:
                self._guesses.was_wrong(headers, name, mark)
                raise RefusedError("The name or the password is wrong")
        self._guesses.was_right(headers, mark)
        self._known[name] = mark, self._clock.monotonic() + _KNOWN_SECONDS
        return user.identity

    def _is_known(self, name: str, mark: bytes) -> bool:
        known, until = self._known.get(name, (b"", 0.0))
        return hmac.compare_digest(known, mark) and self._clock.monotonic() < until

    def _mark(self, name: str, password: str, kept: str) -> bytes:
        return blake2b(f"{name}\0{kept}\0{password}".encode(errors="surrogatepass"), key=self._secret).digest()


def _read(proof: str) -> tuple[str, str]:
    try:
        name, colon, password = b64decode(proof, validate=True).decode().partition(":")
    except ValueError:
        name = colon = password = ""
    if not colon or len(password) > _MAX_PASSWORD:
        raise RefusedError("The name and password cannot be read")
    return name, password


def _matches(password: str, kept: str) -> bool:
    _, salt, wanted = kept.split("$")
    return hmac.compare_digest(_slow(password, b64decode(salt)), b64decode(wanted))


def _slow(password: str, salt: bytes) -> bytes:
    return scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_LANES, maxmem=_MEMORY, dklen=32)


# Client certificates (mutual TLS), checked by a proxy that says in headers what it has found.
#
#     Certificates(trusted=["10.0.0.0/28"])                 nginx: X-SSL-Client-Verify: SUCCESS, X-SSL-Client-S-DN: CN=ada,O=Acme
#
# Anybody can send such headers. They are believed from the proxy's own addresses only, and the proxy must put its own in the place of those that a
# client sends. Who sends them from elsewhere is refused, and not just not believed: something is wrong with the network. The address is the one of
# the
# connection: a server that puts a forwarded one in its place (``--proxy-headers``) would refuse every certificate.
#


class Certificates:
    """Knows callers by the names in their certificates: those in ``callers``, or everybody who has one."""

    def __init__(
        self,
        trusted: Iterable[str],
        *,
        subject_header: str = "x-ssl-client-s-dn",
        verified: tuple[str, str] = ("x-ssl-client-verify", "SUCCESS"),
        scheme: str = "mtls",
        callers: Mapping[str, Identity] | None = None,
    ) -> None:
        self._trusted, self._callers = [ip_network(each) for each in trusted], callers
        if not self._trusted:
            raise ValueError("name the addresses of the proxy that checks certificates: trusted=['10.0.0.0/28']")
        self._subject, (self._verified, self._yes) = subject_header, verified
        self._scheme = scheme

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Take the name that the proxy gives."""
        subject, verified = headers.get(self._subject), headers.get(self._verified)
        if not subject and verified != self._yes:
            return None
        if not isinstance(headers, Credentials) or not self._is_trusted(headers.client):
            raise RefusedError("A certificate was named by somebody who cannot have checked it")
        if not subject or verified != self._yes:
            raise RefusedError("The certificate was not verified")
        if self._callers is None:
            return Identity(subject)
        if subject not in self._callers:
            raise RefusedError("The certificate is that of nobody who is known here")
        return self._callers[subject]

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Say that a certificate is needed."""
        return {self._scheme: SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())}

    def _is_trusted(self, client: str) -> bool:
        try:
            address = ip_address(client)
        except ValueError:
            return False
        return any(address in network for network in self._trusted)
